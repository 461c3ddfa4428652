/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.c - events while the calls are being made.
 *
 * A call is told when it has ended, so the calls inside it come first, and their STARTs must wait for its own. Each
 * span says how many probed calls were in progress below it: a thread's spans wait until one comes with none, and are
 * then all there is of the thread up to its end. So a tree of calls is delivered when its outermost call returns.
 *
 * A call may last for minutes. Where spans have waited for a while, whoever runs the capture asks the kernel for the
 * calls in progress. Those are opened: their START is delivered with what was known at the call, and from then on a
 * tree is complete when the outermost call above them returns. `base` is how many are opened, the outermost first. The
 * END of an opened call is its own span, which comes as always.
 *
 * Where nobody asks, or more waits than WAITING_MOST, what lasts too long is told when it ends, as beginning where its
 * thread is by then.
 *
 * Events of different threads that become complete together (one drain of the rings) are in the order of time. In a
 * recording they all are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/queue.h"
#include "timeline/timeline_private.h"
#include "util/array.h"
#include "util/log.h"

#define WAITING_MOST 65536 /* spans of one thread */

struct waiting_thread {
	struct span *spans; /* in the order in which they ended */
	size_t count, room;
	uint64_t since;                /* ns; end of the first one */
	unsigned base;                 /* calls opened */
	uint64_t opened[GB_DEPTH + 1]; /* ns; their starts, by depth */
	uint64_t seen; /* ns; start of a call that was in progress one level up, when it was looked last; 0: none */
	uint32_t seen_probe;
};

struct timeline_live {
	struct timeline timeline;
	struct timeline_ops own;
	struct timeline_ops ops; /* of whom it is for */
	struct queue queue;
	struct waiting_thread *waiting; /* by thread, like timeline.threads */
	size_t nthreads;
	size_t room, waiting_room;
	bool forced;
};

static int take_event(void *context, const struct definitions *d, const struct event *event)
{
	return queue_put_event(&((struct timeline_live *)context)->queue, event);
}

static int take_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	return queue_put_control(&((struct timeline_live *)context)->queue, thread, control);
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	return queue_put_gap(&((struct timeline_live *)context)->queue, gap);
}

struct timeline_live *timeline_live_new(const struct definitions *d, const struct timeline_ops *ops)
{
	struct timeline_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->ops = *ops;
	live->own = (struct timeline_ops){
		.event = take_event, .gap = take_gap, .control = take_control, .context = live
	};
	live->timeline = (struct timeline){ .d = d, .ops = &live->own };
	return live;
}

/* Room for all threads that are defined by now. */
static int reach(struct timeline_live *live, size_t count)
{
	int error;

	if (count <= live->nthreads)
		return 0;
	error = array_reach(&live->waiting, &live->waiting_room, count, sizeof(*live->waiting));
	if (!error)
		error = array_reach(&live->timeline.threads, &live->room, count, sizeof(*live->timeline.threads));
	if (!error)
		live->nthreads = count;
	return error;
}

/* The first `count` that wait of a thread: complete trees, of which nothing more can come. */
static int deliver(struct timeline_live *live, uint32_t index, size_t count)
{
	struct waiting_thread *w = &live->waiting[index];
	struct timeline *t = &live->timeline;
	uint64_t horizon = 0;
	int error = array_reach(&t->keys, &t->keys_room, count, sizeof(*t->keys));

	for (size_t i = 0; i < count && !error; i++) {
		t->keys[i] = timeline_key(&w->spans[i], i);
		if (w->spans[i].end > horizon)
			horizon = w->spans[i].end;
	}
	if (!error)
		timeline_sort(t->keys, count);
	for (size_t i = 0; i < count && !error; i++)
		error = timeline_begin(t, &t->threads[index], &w->spans[t->keys[i].index], false);
	w->count -= count;
	if (w->count) {
		memmove(w->spans, w->spans + count, w->count * sizeof(*w->spans));
		w->since = w->spans[0].end;
	}
	return error ? error : timeline_end_until(t, &t->threads[index], horizon, NULL);
}

/* What is complete, now that more calls are opened. */
static int deliver_complete(struct timeline_live *live, uint32_t index)
{
	const struct waiting_thread *w = &live->waiting[index];
	size_t count = w->count;

	while (count && w->spans[count - 1].depth > w->base)
		count--;
	return deliver(live, index, count);
}

/* Opened calls from this depth on end now: by `last`, their own span, or since they must have ended unseen. */
static int close_opened(struct timeline_live *live, uint32_t index, unsigned depth, const struct span *last)
{
	struct thread *thread = &live->timeline.threads[index];
	uint64_t end = last && last->end > thread->now ? last->end : thread->now;

	for (unsigned l = 0; l < thread->nlanes; l++) {
		for (size_t i = 0; i < thread->lanes[l].nopen; i++) {
			struct span *span = &thread->lanes[l].open[i].copy;

			if (span->end != UINT64_MAX || span->depth < depth)
				continue;
			if (last && span->depth == depth) {
				uint64_t start = span->start;

				memcpy(span, last,
				       offsetof(struct span, words) + last->nwords * sizeof(last->words[0]));
				span->start = start;
			}
			span->end = end;
		}
	}
	live->waiting[index].base = depth;
	return timeline_end_until(&live->timeline, thread, end, NULL);
}

/* One that is in no call that was opened, or was opened itself. *done: that was its END. */
static int take_outer(struct timeline_live *live, const struct span *span, bool *done)
{
	struct waiting_thread *w = &live->waiting[span->thread];
	int error = deliver(live, span->thread, w->count);

	*done = w->opened[span->depth] == span->start;
	return error ? error : close_opened(live, span->thread, span->depth, *done ? span : NULL);
}

static int take_span(void *context, const struct definitions *d, const struct span *span)
{
	struct timeline_live *live = context;
	struct waiting_thread *w;
	int error = reach(live, d->nthreads);
	bool done = false;

	if (error)
		return error;
	w = &live->waiting[span->thread];
	if (span->depth < w->base)
		error = take_outer(live, span, &done);
	if (error || done)
		return error;
	error = array_one_more(&w->spans, &w->room, w->count, sizeof(*w->spans));
	if (error)
		return error;
	if (!w->count)
		w->since = span->end;
	memcpy(&w->spans[w->count++], span, offsetof(struct span, words) + span->nwords * sizeof(span->words[0]));
	if (span->depth > w->base && w->count < WAITING_MOST)
		return 0;
	if (span->depth > w->base && !live->forced) {
		log_warn("a call has been in progress for %d others inside it: a tool is told of it when it ends; "
			 "gaspbpf replay tells all in order",
			 WAITING_MOST);
		live->forced = true;
	}
	return deliver(live, span->thread, w->count);
}

bool timeline_live_waits(const struct timeline_live *live, uint64_t time)
{
	for (size_t i = 0; i < live->nthreads; i++)
		if (live->waiting[i].count && live->waiting[i].since < time)
			return true;
	return false;
}

int timeline_live_open(struct timeline_live *live, const struct span *span, bool silent)
{
	struct waiting_thread *w = span->thread < live->nthreads ? &live->waiting[span->thread] : NULL;
	size_t before = 0;
	int error;

	if (!w || !w->count || span->depth != w->base || span->depth > GB_DEPTH)
		return 0;
	if (w->seen != span->start || w->seen_probe != span->probe) {
		w->seen = span->start;
		w->seen_probe = span->probe;
		return 0;
	}
	w->seen = 0;
	while (before < w->count && w->spans[before].end <= span->start)
		before++; /* what it was in has become no span */
	error = deliver(live, span->thread, before);
	if (!error && !silent)
		error = timeline_begin(&live->timeline, &live->timeline.threads[span->thread], span, false);
	w->opened[w->base++] = span->start;
	return error ? error : deliver_complete(live, span->thread);
}

static int pass_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct timeline_live *live = context;
	int error = reach(live, d->nthreads);

	if (!error)
		error = deliver(live, gap->thread,
				live->waiting[gap->thread].count); /* what they wait for may be among the lost */
	return error ? error : timeline_pass_gap(&live->timeline, &live->timeline.threads[gap->thread], gap);
}

struct span_sink timeline_live_sink(struct timeline_live *live)
{
	return (struct span_sink){ .span = take_span, .gap = pass_gap, .context = live };
}

int timeline_live_release(struct timeline_live *live)
{
	return live->queue.count ? queue_release(&live->queue, UINT64_MAX, live->timeline.d, &live->ops) : 0;
}

int timeline_live_end(struct timeline_live *live)
{
	int error = 0;

	for (size_t i = 0; i < live->nthreads && !error; i++) {
		error = deliver(live, i, live->waiting[i].count);
		if (!error)
			error = close_opened(live, i, 0, NULL);
		if (!error)
			error = timeline_end_until(&live->timeline, &live->timeline.threads[i], UINT64_MAX, NULL);
		if (!error)
			error = timeline_tell_controls(&live->timeline, i, UINT64_MAX, true);
	}
	return error ? error : timeline_live_release(live);
}

void timeline_live_free(struct timeline_live *live)
{
	if (!live)
		return;
	for (size_t i = 0; i < live->nthreads; i++) {
		free(live->waiting[i].spans);
		for (unsigned lane = 0; lane < live->timeline.threads[i].nlanes; lane++)
			free(live->timeline.threads[i].lanes[lane].open);
		free(live->timeline.threads[i].lanes);
	}
	free(live->waiting);
	free(live->timeline.threads);
	free(live->timeline.keys);
	queue_free(&live->queue);
	free(live);
}
