/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - the profile: how often, how long, how much, per event and per thread.
 * Columns as in PPW's profile table: Total (inclusive), Self (exclusive), Calls, Min, Max, Mean.
 */
#ifndef GASPBPF_PROFILE_H
#define GASPBPF_PROFILE_H

#include <stdio.h>

#include "recording/recording.h"

struct profile;

struct profile *profile_new(void); /* NULL: out of memory */
void profile_free(struct profile *profile);
/*
 * Before it is fed: all durations are to be told without what the probe itself adds to each (def_probe.floor_ns). What
 * the probes of calls inside add stays: it is as much as those calls' cost.
 */
void profile_subtract_floor(struct profile *profile);
/* Feed it from a recording or live. */
struct span_sink profile_sink(struct profile *profile);

/* How the text report looks. */
struct profile_style {
	unsigned width; /* columns of the terminal; 0: no limit (a pipe) */
	bool colour;
	unsigned top;                    /* rows per table; 0: all */
	bool sites;                      /* every event with its call sites, instead of the ten hottest of all */
	bool histogram;                  /* how long the calls of each event took */
	const struct counters *counters; /* of tasks, to be shown too; NULL: none */
};

/*
 * Report for people, tables sorted by self time; and the JSON that the README documents. Where the sites are
 * not yet located in the source, the report says where they are in the file. 0 or -errno (write error).
 */
int profile_print(struct profile *profile, const struct definitions *d, FILE *out, const struct profile_style *style);
int profile_print_json(struct profile *profile, const struct definitions *d, FILE *out,
		       const struct profile_style *style);

#endif
