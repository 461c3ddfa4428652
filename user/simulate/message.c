/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.c - halves of messages, and the queues that they wait in.
 *
 * Most live for a moment only, and there are as many as messages: those that nobody needs any more are kept for the
 * next ones.
 */
#include "simulate/message.h"

#include <errno.h>
#include <stdlib.h>

struct half *half_new(struct sim *sim, const struct op *op, bool is_send)
{
	struct half *half = sim->free_halves;

	if (half)
		sim->free_halves = half->next;
	else
		half = malloc(sizeof(*half));
	if (!half)
		return NULL;
	if (sim->free_halves)
		__builtin_prefetch(sim->free_halves, 1);
	*half = (struct half){
		.is_send = is_send,
		.thread = op->thread,
		.func = op->func,
		.probe = op->probe,
		.site = op->site,
		.start = op->start,
		.end = op->end,
		.holds = 1,
		.begins = op->facts->begins,
		.sync = is_send && op->facts->sync,
		.completed = !op->facts->begins,
		.bytes = (is_send ? op->sent : op->received) > 0 ? (uint64_t)(is_send ? op->sent : op->received) : 0,
	};
	return half;
}

static void recycle(struct sim *sim, struct half *half)
{
	half->next = sim->free_halves;
	sim->free_halves = half;
}

void half_leave(struct sim *sim, struct half *half)
{
	struct half *other;

	if (half->holds)
		half->holds--;
	if (half->holds || half->queued)
		return;
	other = half->other;
	if (half->peeks) {
		recycle(sim, half);
		if (other) {
			other->peek = NULL;
			half_leave(sim, other);
		}
		return;
	}
	if (other && other->holds)
		return;
	if (other)
		recycle(sim, other);
	recycle(sim, half);
}

int half_await(struct op *op, struct half *half)
{
	if (array_reach(&op->halves, &op->halves_room, op->nhalves + 1, sizeof(*op->halves)))
		return -ENOMEM;
	op->halves[op->nhalves++] = half;
	return 0;
}

void halves_insert(struct halves *queue, struct half *half)
{
	struct half *before = queue->last;

	while (before && before->start > half->start)
		before = before->before;
	half->before = before;
	half->next = before ? before->next : queue->first;
	half->queued = true;
	if (half->next)
		half->next->before = half;
	else
		queue->last = half;
	if (before)
		before->next = half;
	else
		queue->first = half;
}

void halves_append(struct halves *queue, struct half *half)
{
	half->before = queue->last;
	half->next = NULL;
	half->queued = true;
	if (queue->last)
		queue->last->next = half;
	else
		queue->first = half;
	queue->last = half;
}

void halves_take_out(struct halves *queue, struct half *half)
{
	if (half->before)
		half->before->next = half->next;
	else
		queue->first = half->next;
	if (half->next)
		half->next->before = half->before;
	else
		queue->last = half->before;
	half->next = half->before = NULL;
	half->queued = false;
}

void halves_pop(struct halves *queue)
{
	halves_take_out(queue, queue->first);
}

void halves_free(struct halves *queue)
{
	while (queue->first) {
		struct half *half = queue->first;

		queue->first = half->next;
		free(half);
	}
}

void halves_forget(struct sim *sim)
{
	while (sim->free_halves) {
		struct half *half = sim->free_halves;

		sim->free_halves = half->next;
		free(half);
	}
}
