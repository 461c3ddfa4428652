/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_transfers.c - what is moved between memory nodes, and in which calls.
 *
 * A transfer is a moment, of which it is not known how long it takes. The call that copies around it does it, or begins
 * it where the copy goes on by itself: so bytes by the time of such calls are at least the bandwidth.
 */
#include "analysis/tasks.h"

#include <errno.h>

#include "util/array.h"

#define PAIRS_MOST 256
#define NODES_MOST 0xffff

static bool node_of(const struct task_event *t, int16_t value, int64_t *node)
{
	return task_call_number(t->s->d, t->span, value, node) && *node >= 0 && *node < NODES_MOST;
}

/* NO_INDEX: out of memory, or (*beyond) too many. */
static uint32_t find_pair(struct task_event *t, bool *beyond)
{
	struct task_transfers pair = { .pool = t->pool_number };
	struct tasks *s = t->s;

	if (t->call->nnodes == 2)
		pair.from_known = node_of(t, t->call->nodes[0], &pair.from);
	pair.to_known = node_of(t, t->call->nodes[t->call->nnodes == 2], &pair.to);
	for (uint32_t i = 0; i < s->npairs; i++) {
		const struct task_transfers *is = &s->pairs[i];

		if (is->pool == pair.pool && is->from_known == pair.from_known && is->to_known == pair.to_known &&
		    (!pair.from_known || is->from == pair.from) && (!pair.to_known || is->to == pair.to))
			return i;
	}
	*beyond = s->npairs >= PAIRS_MOST;
	if (*beyond || array_one_more(&s->pairs, &s->pairs_room, s->npairs, sizeof(*s->pairs)))
		return NO_INDEX;
	s->pairs[s->npairs] = pair;
	return s->npairs++;
}

/* The copy that it is in moves this, and nothing between other nodes. */
static void note_in_copy(struct task_copy *copy, uint32_t pair, unsigned nodes, uint64_t bytes)
{
	if (nodes < copy->nodes)
		return; /* a part of what is noted already */
	if (copy->count && nodes == copy->nodes && copy->pair != pair)
		copy->several = true;
	if (nodes > copy->nodes)
		*copy = (struct task_copy){ .depth = copy->depth, .nodes = nodes };
	copy->pair = pair;
	copy->count++;
	copy->bytes += bytes;
}

int tasks_tell_transfer(struct task_event *t)
{
	bool beyond = false, known;
	uint32_t number;
	int64_t bytes = 0;
	int error;

	if (!t->call->nnodes || t->event->type == EVENT_START)
		return 0;
	error = tasks_find_pool(t, true) ?: tasks_find_member(t);
	if (error)
		return error;
	number = find_pair(t, &beyond);
	t->s->beyond += beyond;
	if (number == NO_INDEX)
		return beyond ? 0 : -ENOMEM;
	known = task_call_number(t->s->d, t->span, t->call->bytes, &bytes) && bytes >= 0;
	t->s->pairs[number].count++;
	t->s->pairs[number].bytes += known ? bytes : 0;
	t->s->pairs[number].unknown += !known;
	if (t->member->copy.depth)
		note_in_copy(&t->member->copy, number, t->call->nnodes, known ? bytes : 0);
	return 0;
}

int tasks_tell_copy(struct task_event *t)
{
	struct task_copy *copy;
	int error = t->call->has_transfers ? tasks_find_pool(t, true) ?: tasks_find_member(t) : -ENOENT;

	if (error)
		return error == -ENOENT ? 0 : error;
	copy = &t->member->copy;
	if (t->event->type == EVENT_START && !copy->depth++)
		*copy = (struct task_copy){ .depth = 1 };
	if (t->event->type != EVENT_END || !copy->depth || --copy->depth)
		return 0;
	if (copy->count && !copy->several && t->span->reason == GB_END_RETURN) {
		struct task_transfers *pair = &t->s->pairs[copy->pair];

		pair->timed += copy->count;
		pair->timed_bytes += copy->bytes;
		pair->time += task_time(t->span->start, t->span->end);
	}
	return 0;
}

bool task_pair_is_part(const struct tasks *s, const struct task_transfers *pair)
{
	if (pair->from_known)
		return false;
	for (size_t i = 0; i < s->npairs; i++)
		if (s->pairs[i].pool == pair->pool && s->pairs[i].from_known)
			return true;
	return false;
}
