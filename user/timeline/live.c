/*
 * live.c - events while the calls are being made.
 *
 * A call is told when it has ended, so the calls inside it come first, and their STARTs must wait for its own. Each span says how many probed calls
 * were in progress below it: a thread's spans wait until one comes with none, and are then all there is of the thread up to its
 * end. So a tree of calls is delivered when its outermost call returns, and never in parts. A call that lasts too long for the
 * room there is (WAITING_MOST) is told when it ends, as beginning where its thread is by then; that is said once.
 *
 * Events of different threads that become complete together (one drain of the rings) are in the order of time. In a recording they all are.
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
	struct span *spans;      /* in the order in which they ended */
	size_t count, room;
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
	live->own = (struct timeline_ops){ .event = take_event, .gap = take_gap, .control = take_control, .context = live };
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

/* All that waits of a thread, and nothing else of it can come that began before the last of them ended. */
static int deliver(struct timeline_live *live, uint32_t index)
{
	struct waiting_thread *w = &live->waiting[index];
	struct timeline *t = &live->timeline;
	uint64_t horizon = 0;
	int error = array_reach(&t->keys, &t->keys_room, w->count, sizeof(*t->keys));

	for (size_t i = 0; i < w->count && !error; i++) {
		t->keys[i] = timeline_key(&w->spans[i], i);
		if (w->spans[i].end > horizon)
			horizon = w->spans[i].end;
	}
	if (!error)
		timeline_sort(t->keys, w->count);
	for (size_t i = 0; i < w->count && !error; i++)
		error = timeline_begin(t, &t->threads[index], &w->spans[t->keys[i].index]);
	w->count = 0;
	return error ? error : timeline_end_until(t, &t->threads[index], horizon, NULL);
}

static int take_span(void *context, const struct definitions *d, const struct span *span)
{
	struct timeline_live *live = context;
	struct waiting_thread *w;
	int error = reach(live, d->nthreads);

	if (error)
		return error;
	w = &live->waiting[span->thread];
	error = array_one_more(&w->spans, &w->room, w->count, sizeof(*w->spans));
	if (error)
		return error;
	memcpy(&w->spans[w->count++], span, offsetof(struct span, words) + span->nwords * sizeof(span->words[0]));
	if (span->depth && w->count < WAITING_MOST)
		return 0;
	if (span->depth && !live->forced) {
		log_warn("a call has been in progress for %d others inside it: a tool is told of it when it ends; gaspbpf replay tells all in order",
			 WAITING_MOST);
		live->forced = true;
	}
	return deliver(live, span->thread);
}

static int pass_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct timeline_live *live = context;
	int error = reach(live, d->nthreads);

	if (!error)
		error = deliver(live, gap->thread); /* what they wait for may be among the lost */
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
		error = deliver(live, i);
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
