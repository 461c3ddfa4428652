/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor_print.h - what gaspbpf monitor prints at each interval.
 */
#ifndef GASPBPF_MONITOR_PRINT_H
#define GASPBPF_MONITOR_PRINT_H

#include <stdio.h>

#include "monitor/monitor.h"

/* What was printed last, so that rates can be. */
struct monitor_before {
	uint64_t time_ns, cost_ns, own_cpu_ns;
	struct monitor_event *events;
	size_t nevents;
	struct process_before *processes;
	size_t nprocesses;
};

/* Tables tell what happens from now on. 0 or -ENOMEM. */
int monitor_print_begin(const struct monitor_snapshot *now, struct monitor_before *before);
/* What happened since then. 0 or -errno. */
int monitor_print_table(const struct monitor_snapshot *now, struct monitor_before *before, FILE *out);
/* One line, everything since the monitor began; processes that have ended since the line before are in it once more. 0
 * or -errno. */
int monitor_print_json(const struct monitor_snapshot *now, struct monitor_before *before, FILE *out);
void monitor_print_free(struct monitor_before *before);

#endif
