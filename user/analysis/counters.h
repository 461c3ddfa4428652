/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.h - performance counters of task runtimes, out of the events of their tasks.
 *
 * A task is submitted, waits for what it depends on, is ready, runs, and is over. Counting that gives the counters that
 * StarPU's performance monitoring defines, by process, by worker and by kind of task, for any runtime whose model has
 * the roles submit, ready, task and done with @task, @kind, @worker, @internal and @name. They count from where the
 * observation begins.
 */
#ifndef GASPBPF_COUNTERS_H
#define GASPBPF_COUNTERS_H

#include "timeline/timeline.h"

enum counter_scope { COUNTER_GLOBAL, COUNTER_WORKER, COUNTER_KIND, COUNTER_SCOPES };

/* Those of a scope that the definitions below do not name are 0. */
struct counter_row {
	enum counter_scope scope;
	uint32_t process;  /* index */
	int64_t worker;    /* COUNTER_WORKER */
	uint64_t kind;     /* COUNTER_KIND: address of the description, 0: a task without one */
	const char *model; /* of the probes; belongs to the definitions */
	const char *name;  /* of the worker's thread, or the kind; NULL: unknown. Belongs to the definitions */
	uint64_t submitted, executed; /* tasks; submitted ones are the program's own */
	uint64_t internal;            /* tasks that the runtime submitted to itself: not among `submitted` */
	uint64_t unsorted; /* of `submitted`: this build of the library does not tell whether they are the program's or
			      the runtime's */
	uint64_t peak_submitted; /* most tasks at a time that were submitted and not ready */
	uint64_t peak_ready;     /* most tasks at a time that were ready and not running */
	uint64_t busy;           /* ns; sum of the execution times */
	uint64_t now_submitted, now_ready;
};

struct counters;
struct counters *counters_new(const struct definitions *d); /* NULL: out of memory */
void counters_free(struct counters *c);
/* Takes events in the order of time (timeline_read_merged(), timeline_live_new()). 0 or -ENOMEM. */
int counters_event(void *counters, const struct definitions *d, const struct event *event);
/* What the latest event changed: up to COUNTER_SCOPES rows. */
size_t counters_changed(const struct counters *c, const struct counter_row *rows[COUNTER_SCOPES]);
/* All rows, in the order in which they were met; the array is the counters'. */
const struct counter_row *counters_rows(const struct counters *c, size_t *count);
/* Whether each submitted task is the program's. If not, `submitted` is at most that, and `internal` is not known. */
bool counters_know_internal(const struct counter_row *row);
/* The peaks are known only where READY events are observed, and where it is known which tasks are the program's. */
bool counters_know_peaks(const struct counters *c, const struct counter_row *row);
/* Whether a worker's own number is known, or only its thread. */
bool counters_know_worker(const struct counter_row *row);
/* Calls that are missing on the timeline, so in the counters too. */
uint64_t counters_missing(const struct counters *c);

#endif
