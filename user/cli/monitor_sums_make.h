/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_sums_make.h - the definitions of a recording that has only sums. Shared by monitor_sums*.c.
 */
#ifndef GASPBPF_MONITOR_SUMS_MAKE_H
#define GASPBPF_MONITOR_SUMS_MAKE_H

#include "cli/monitor_sums.h"
#include "recording/recording.h"

#define IMAGE_NAME "sums of gaspbpf monitor"

/* A process that has ended; its texts and sums are its own. The probe of a sum is an event's index here. */
struct ended_process {
	struct monitor_process was;
	struct def_sum *sums;
	size_t nsums;
};

/* What is to be in it. */
struct summed {
	const struct monitor_sums_options *options;
	const struct monitor_snapshot *now;
	const struct ended_process *ended; /* those of the snapshot that have ended are among them */
	size_t nended;
	struct kernel *kernel;
};

struct def_sum sum_of(const struct monitor_amounts *amounts);
/* definitions_free() after either result. 0 or -ENOMEM. */
int monitor_sums_make(struct definitions *d, const struct summed *summed);

#endif
