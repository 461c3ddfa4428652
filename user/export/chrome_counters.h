/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_counters.h - what changes over time, as counters of a Chrome trace. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CHROME_COUNTERS_H
#define GASPBPF_EXPORT_CHROME_COUNTERS_H

#include "export/chrome_tracks.h"
#include "export/series.h"
#include "recording/recording.h"

/* One value of a process, or of the job. Zero but for the first three at first. */
struct chrome_series {
	uint64_t pid;
	const char *name, *unit;
	struct series values;
};

struct chrome_counters;
/* NULL: out of memory. tracks and json are used from chrome_counters_put() on. */
struct chrome_counters *chrome_counters_new(struct recording *recording, struct chrome_tracks *tracks,
					    struct json *json);
void chrome_counters_free(struct chrome_counters *counters);

/* A call, a hole of the timeline, in any order. 0 or -errno. */
int chrome_counters_call(struct chrome_counters *counters, const struct span *span);
int chrome_counters_gap(struct chrome_counters *counters, const struct gap *gap);
/* A message, by whatever thread; start: ns, of the call that sends it, end: of the one that receives. 0 or -errno. */
int chrome_counters_message(struct chrome_counters *counters, uint32_t sender, uint64_t start, uint64_t end,
			    uint64_t bytes);
/* Puts what comes of all that. 0 or -errno. */
int chrome_counters_put(struct chrome_counters *counters);

/* The series has this value from now on: ns, in the order of time. */
void chrome_series_set(struct chrome_counters *counters, struct chrome_series *series, uint64_t time, uint64_t value);
/* It has no more values. */
void chrome_series_end(struct chrome_counters *counters, struct chrome_series *series);

#endif
