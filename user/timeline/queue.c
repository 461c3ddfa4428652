/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.c - events of several threads on their way into the order of time.
 */
#include "timeline/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

struct waiting {
	enum { WAITING_EVENT, WAITING_GAP, WAITING_CONTROL } kind;
	struct event event; /* its span is the one below */
	union {
		struct span span;
		struct gap gap;
		struct {
			struct def_control control;
			uint32_t thread;
		} told;
	};
};

/* Of a large item only this is sorted. */
struct due {
	uint64_t time;
	size_t index;
};

static struct waiting *add(struct queue *q)
{
	return array_one_more(&q->items, &q->room, q->count, sizeof(*q->items)) ? NULL : &q->items[q->count++];
}

int queue_put_event(struct queue *q, const struct event *event)
{
	struct waiting *item = add(q);

	if (!item)
		return -ENOMEM;
	item->kind = WAITING_EVENT;
	item->event = *event;
	memcpy(&item->span, event->span,
	       offsetof(struct span, words) + event->span->nwords * sizeof(event->span->words[0]));
	return 0;
}

int queue_put_gap(struct queue *q, const struct gap *gap)
{
	struct waiting *item = add(q);

	if (!item)
		return -ENOMEM;
	item->kind = WAITING_GAP;
	item->gap = *gap;
	item->event.time = gap->after;
	return 0;
}

int queue_put_control(struct queue *q, uint32_t thread, const struct def_control *control)
{
	struct waiting *item = add(q);

	if (!item)
		return -ENOMEM;
	item->kind = WAITING_CONTROL;
	item->told.control = *control;
	item->told.thread = thread;
	item->event.time = control->time;
	return 0;
}

/* At the same time as they came: so those of one thread keep their order. */
static int by_time(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int hand_on(struct waiting *item, const struct definitions *d, const struct timeline_ops *ops)
{
	if (item->kind == WAITING_CONTROL)
		return ops->control ? ops->control(ops->context, d, item->told.thread, &item->told.control) : 0;
	if (item->kind == WAITING_GAP)
		return ops->gap ? ops->gap(ops->context, d, &item->gap) : 0;
	item->event.span = &item->span;
	return ops->event(ops->context, d, &item->event);
}

int queue_release(struct queue *q, uint64_t time, const struct definitions *d, const struct timeline_ops *ops)
{
	size_t due = 0, kept = 0;
	int error = array_reach(&q->order, &q->order_room, q->count, sizeof(*q->order));

	if (error)
		return error;
	for (size_t i = 0; i < q->count; i++)
		if (q->items[i].event.time < time)
			q->order[due++] = (struct due){ q->items[i].event.time, i };
	if (due)
		qsort(q->order, due, sizeof(*q->order), by_time);
	for (size_t i = 0; i < due && !error; i++)
		error = hand_on(&q->items[q->order[i].index], d, ops);
	for (size_t i = 0; i < q->count; i++)
		if (q->items[i].event.time >= time)
			q->items[kept++] = q->items[i];
	q->count = kept;
	return error;
}

void queue_free(struct queue *q)
{
	free(q->items);
	free(q->order);
	*q = (struct queue){ 0 };
}
