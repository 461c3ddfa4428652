/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline_private.h - what the files of user/timeline share: the threads' calls in progress, and the order of starts.
 */
#ifndef GASPBPF_TIMELINE_PRIVATE_H
#define GASPBPF_TIMELINE_PRIVATE_H

#include "timeline/timeline.h"

/* A call in progress. Most end before the chunk does that they are in: only of the others there is a copy. */
struct open_call {
	const struct span *in_chunk; /* NULL: it is `copy` */
	struct span copy;
};

static inline const struct span *open_call_span(const struct open_call *call)
{
	return call->in_chunk ? call->in_chunk : &call->copy;
}

struct lane {
	struct open_call *open; /* a stack, each inside the one before */
	size_t nopen, room;
};

struct thread {
	uint64_t horizon; /* ns: largest end seen */
	uint64_t now;     /* ns: of the latest event delivered */
	struct lane *lanes;
	unsigned nlanes;
	size_t control;        /* of the definitions' controls: next to look at */
	size_t late, late_end; /* of recording_late(): next to deliver, and the first of another thread */
	size_t spans, gaps;    /* where this chunk's keys and gaps of the thread begin */
	size_t nspans, ngaps;  /* how many; both 0: not met in this chunk */
	size_t span, gap;      /* of those: the next to deliver */
};

/* What the order of starts is made from. */
struct key {
	uint64_t start;
	uint32_t sequence;
	uint16_t depth;
	uint32_t index; /* in the chunk */
};

struct timeline {
	struct recording *recording;
	struct read_ahead *ahead; /* NULL: nobody decodes it ahead */
	const struct definitions *d;
	const struct timeline_ops *ops;
	struct thread *threads; /* as many as definitions */
	const struct late_start *lates;
	size_t nlates;
	struct key *keys;
	size_t keys_room; /* by thread, then in order */
	uint32_t *gaps;
	size_t gaps_room; /* by thread: indices of the chunk's gaps */
	uint32_t *met;
	size_t nmet;         /* threads of this chunk, in order of appearance */
	uint64_t crowded;    /* calls left out: too many lanes */
	uint64_t disordered; /* calls that came too late to be delivered where they began */
	/* A chunk has been delivered. NULL: nobody asks. 0 or -errno to stop. */
	int (*chunk_done)(struct timeline *t, size_t index, void *context);
	void *chunk_context;
};

struct key timeline_key(const struct span *span, uint32_t index);
/* Into the order of starts. They should come in the order in which the calls ended. */
void timeline_sort(struct key *keys, size_t count);
/* Delivers the START of a call, and before it the ENDs that are due. stays: the span is there until the chunk ends. 0
 * or -errno. */
int timeline_begin(struct timeline *t, struct thread *thread, const struct span *span, bool stays);
/* Delivers the ENDs up to `time` (ns); calls that end right then stay where they enclose `next` (NULL: none does). */
int timeline_end_until(struct timeline *t, struct thread *thread, uint64_t time, const struct span *next);
/* Delivers all that happens on any thread before `time` (ns), for which no other start before it may be still to come.
 */
int timeline_advance(struct timeline *t, uint64_t time);
int timeline_pass_gap(struct timeline *t, struct thread *thread, const struct gap *gap);
/* Delivers what was said of the thread's measurement up to `time` (ns), or before it. 0 or -errno. */
int timeline_tell_controls(struct timeline *t, uint32_t thread, uint64_t time, bool until);
/* Reads the whole recording into t->ops. */
int timeline_run(struct timeline *t, struct recording *recording);

#endif
