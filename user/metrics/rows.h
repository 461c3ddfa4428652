/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.h - which events of which processes have series of their own.
 */
#ifndef GASPBPF_ROWS_H
#define GASPBPF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/monitor.h"

/* What of a row's amounts goes into an overflow series. */
struct brief {
	uint64_t calls, ns, bytes, sized;
};

/* One event of one process, as it is now. */
struct row {
	const struct monitor_process *process;
	const struct monitor_event *event;
	const struct monitor_amounts *amounts;
	char pid[24], rank[24]; /* as labels */
};

struct place;
struct holding;

struct rows {
	size_t limit, used;       /* series of single processes: most, now */
	size_t over;              /* rows that are in an overflow series now */
	struct place *places;     /* of all rows, by process and event */
	struct holding *holdings; /* by user */
	uint64_t generation;
	struct row *shown;
	size_t nshown, room; /* those with series of their own, by process */
	struct brief *gone, *known, *overflow;
	size_t nevents; /* by event: rows with series that have ended, and with those that live; all the rest */
};

/* Looks at all that there is. series(event): how many series a row of this event is at most. 0 or -ENOMEM. */
int rows_update(struct rows *rows, const struct monitor_snapshot *snapshot,
		size_t (*series)(const struct monitor_event *event));
void rows_free(struct rows *rows);

#endif
