/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looking.h - a job that is looked at while it runs, as 'top' and 'watch' do: the observation is that of record,
 * without a recording; spans come from the rings, and user/live sums them up.
 */
#ifndef GASPBPF_CLI_LOOKING_H
#define GASPBPF_CLI_LOOKING_H

#include "cli/observing.h"
#include "cli/top_earlier.h"
#include "observe/cost.h"
#include "top/top.h"

struct looking {
	struct job job;
	struct live *live;
	struct top top; /* what there is to show; its view is the caller's */
	struct earlier earlier;
	struct cost_meter cost;
	bool brief;       /* for another gaspbpf, which says how many are observed */
	char named[100];  /* what says more of what -p was given */
	uint64_t cpu;     /* ns; own CPU time at the look before */
	int signals;      /* cli_block_signals() */
	bool interrupted; /* ^C: it went to a command, too */
};

/* In this order; each 0 or -errno, said. */

/* Models, rights, the plan; nothing is looked at. */
int looking_prepare(struct looking *looking, struct choice *choice, const struct observing *observing);
/* Puts the probes into the processes that were chosen. In its place job_start(), for a command. */
int looking_join(struct looking *looking, struct choice *choice, enum scope scope, uint64_t ring_bytes);
/* From here on there is something to look at. */
int looking_begin(struct looking *looking, struct choice *choice, const struct observing *observing);

/* Closes an interval: looking->top has what there is to show then. */
void looking_look(struct looking *looking, bool last);
/* Has a signal come that ends it? */
bool looking_is_signalled(struct looking *looking);
/* Of a command that was sent ^C, too, it is waited a moment for the end. */
void looking_wait_for_command(struct looking *looking);
void looking_free(struct looking *looking);

#endif
