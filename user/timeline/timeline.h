/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h - the door of user/timeline: GASP events out of spans.
 *
 * A span is one finished call. GASP speaks of START, END and ATOMIC. The timeline
 * delivers, for every thread, its events in order of time and properly nested,
 * in memory that grows with threads and with calls in progress, not with events.
 */
#ifndef GASPBPF_TIMELINE_H
#define GASPBPF_TIMELINE_H

#include "recording/recording.h"

#define TIMELINE_LANES 64 /* most lanes of one thread; calls that would need more are left out, with a warning */

struct event {
	enum event_type type;    /* a call whose end was not observed (GB_END_DEPTH, GB_END_ALONE) is ATOMIC too */
	uint64_t time;           /* ns, CLOCK_MONOTONIC */
	const struct span *span; /* the call, end >= start; its values at START are those known at the call */
	unsigned lane;           /* 0; 1.. where calls of one thread overlap without nesting (several stacks) */
	unsigned level;          /* nesting on this lane, from 0 */
};

struct timeline_ops {
	/*
	 * Per thread: times never go back. Per (thread, lane): END closes the latest open START. Threads come in
	 * turns, a piece of each at a time. 0 or -errno to stop.
	 */
	int (*event)(void *context, const struct definitions *d, const struct event *event);
	/* Spans were lost on this thread, after gap->after. May be NULL. */
	int (*gap)(void *context, const struct definitions *d, const struct gap *gap);
	/*
	 * Measurement of the thread's process is off from here on, or on again: what had been started has ended. Told
	 * to each thread of the process that has events, between those before and after. May be NULL.
	 */
	int (*control)(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control);
	/*
	 * Of all threads' calls in this piece of the recording, those that began until `time` have been told. Pieces
	 * are told in several parts only where this is there. 0 or -errno to stop. May be NULL.
	 */
	int (*part)(void *context, uint64_t time);
	/* So much of the recording is done. May be NULL. */
	void (*progress)(void *context, size_t done, size_t all);
	void *context;
	/* Whoever is told takes long: a thread of its own decodes the recording meanwhile. */
	bool ahead;
	/* Bit i: timeline_read_merged() tells event() of calls of role i; 0: of all. It is faster where they are few.
	 */
	uint64_t roles;
};

/* Reads the whole recording. 0 or -errno. */
int timeline_read(struct recording *recording, const struct timeline_ops *ops);
/* The same with the events of all threads in one order of time. It reads the recording twice, the first time; memory
 * grows with a chunk. */
int timeline_read_merged(struct recording *recording, const struct timeline_ops *ops);

/* Events while the calls are being made, out of a running capture: user/timeline/live.c tells in what order. */
struct timeline_live;
/* d stays the caller's, and must outlive it. NULL: out of memory. */
struct timeline_live *timeline_live_new(const struct definitions *d, const struct timeline_ops *ops);
struct span_sink timeline_live_sink(struct timeline_live *live);
/* Delivers what has become complete; to be called after each drain. 0 or -errno. */
int timeline_live_release(struct timeline_live *live);
/* Do spans wait since before `time` (ns)? Then it helps to be told the calls in progress. */
bool timeline_live_waits(const struct timeline_live *live, uint64_t time);
/* A call in progress, as capture_visit_open() shows them; believed when it is told twice. 0 or -errno. */
int timeline_live_open(struct timeline_live *live, const struct span *span, bool silent);
/* No more spans come: delivers the rest. 0 or -errno. */
int timeline_live_end(struct timeline_live *live);
void timeline_live_free(struct timeline_live *live);

#endif
