/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - events of several threads on their way into the order of time. Private to user/timeline.
 */
#ifndef GASPBPF_TIMELINE_QUEUE_H
#define GASPBPF_TIMELINE_QUEUE_H

#include "timeline/timeline.h"

struct waiting;

/* Copies of events and gaps. Those of one thread are put in their order. */
struct queue {
	struct waiting *items;
	size_t count, room;
	struct due *order;
	size_t order_room;
};

/* 0 or -ENOMEM. */
int queue_put_event(struct queue *q, const struct event *event);
int queue_put_gap(struct queue *q, const struct gap *gap);
int queue_put_control(struct queue *q, uint32_t thread, const struct def_control *control);
/* Hands on what happened before `time` (ns), in the order of time; the rest stays. 0 or -errno. */
int queue_release(struct queue *q, uint64_t time, const struct definitions *d, const struct timeline_ops *ops);
void queue_free(struct queue *q);

#endif
