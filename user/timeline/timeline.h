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

enum event_type { EVENT_START, EVENT_END, EVENT_ATOMIC }; /* GASP 1.4 section 3.2 */

struct event {
	enum event_type type;
	uint64_t time;             /* ns, CLOCK_MONOTONIC */
	const struct span *span;   /* the call; its values at START are those known at the call */
	unsigned lane;             /* 0; 1.. where calls of one thread overlap without nesting (several stacks) */
	unsigned level;            /* nesting on this lane, from 0 */
};

struct timeline_ops {
	/* Per (thread, lane): times never go back, END closes the latest open START. 0 or -errno to stop. */
	int (*event)(void *context, const struct definitions *d, const struct event *event);
	/* Spans were lost on this thread here. May be NULL. */
	int (*gap)(void *context, const struct definitions *d, const struct gap *gap);
	void *context;
};

/* Reads the whole recording. 0 or -errno. */
int timeline_read(struct recording *recording, const struct timeline_ops *ops);

#endif
