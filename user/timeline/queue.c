/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.c - events of several threads on their way into the order of time.
 */
#include "timeline/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define AHEAD 4 /* items that are asked for before they are needed */

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

/* Where the times no longer rise. */
static size_t end_of_run(const struct due *order, size_t from, size_t count)
{
	while (++from < count && order[from - 1].time <= order[from].time)
		;
	return from < count ? from : count;
}

/* Two runs that follow each other become one. At the same time as they came: so those of one thread keep their order.
 */
static void merge(struct due *to, const struct due *from, size_t left, size_t middle, size_t end)
{
	size_t right = middle;

	for (size_t at = left; at < end; at++)
		to[at] = right == end || (left < middle && from[left].time <= from[right].time) ? from[left++]
												: from[right++];
}

/* Threads were put in one after the other, each in its order: so the runs are long, and few. The sorted one of the two.
 */
static struct due *sort(struct due *order, struct due *spare, size_t count)
{
	while (count && end_of_run(order, 0, count) < count) {
		struct due *sorted = spare;

		for (size_t left = 0, middle, end; left < count; left = end) {
			middle = end_of_run(order, left, count);
			end = middle < count ? end_of_run(order, middle, count) : count;
			merge(spare, order, left, middle, end);
		}
		spare = order;
		order = sorted;
	}
	return order;
}

/* Asks for the memory: the next one is of another thread, and somewhere else. */
static void fetch(const struct waiting *item)
{
	for (size_t at = 0; at < offsetof(struct waiting, span.words) + 64; at += 64)
		__builtin_prefetch((const char *)item + at);
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
	int error = q->count ? array_reach(&q->order, &q->order_room, 2 * q->count, sizeof(*q->order)) : 0;
	const struct due *sorted;

	if (error || !q->count)
		return error;
	for (size_t i = 0; i < q->count; i++)
		if (q->items[i].event.time < time)
			q->order[due++] = (struct due){ q->items[i].event.time, i };
	sorted = sort(q->order, q->order + due, due);
	for (size_t i = 0; i < due && !error; i++) {
		if (i + AHEAD < due)
			fetch(&q->items[sorted[i + AHEAD].index]);
		error = hand_on(&q->items[sorted[i].index], d, ops);
	}
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
