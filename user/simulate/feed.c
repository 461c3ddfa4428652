/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feed.c - events become items in the row of their thread, and calls that may depend on others operations.
 *
 * Only the outermost of such calls is one: what is inside of it is part of it. What it depends on is asked for here, in
 * the order of the recording; when it may go on is schedule.c's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/parts.h"
#include "simulate/teams.h"

#define SPAN_HEAD offsetof(struct span, words)
#define KEPT_ROOM 64 /* elements of an operation's arrays */

/* --- rows -------------------------------------------------------------------- */

/* Makes room for so many bytes at its end. 0 or -ENOMEM. */
static int row_grow(struct row *row, size_t size)
{
	size_t room = row->room ? 2 * row->room : 4096;
	uint8_t *larger;

	if (row->head >= row->room / 2 && row->room - (row->tail - row->head) >= size) {
		memmove(row->data, row->data + row->head, row->tail - row->head);
		row->tail -= row->head;
		row->head = 0;
		return 0;
	}
	larger = realloc(row->data, room);
	if (!larger)
		return -ENOMEM;
	row->data = larger;
	row->room = room;
	return 0;
}

/*
 * A new item at its end, with so much room behind it. It is written where it will be, field by field: a copy of what
 * was just written in smaller pieces waits until all of them have left for the cache. NULL: out of memory.
 */
static inline struct item *row_put(struct sim *sim, struct row *row, enum item_type type, uint64_t time, unsigned lane,
				   size_t extra)
{
	size_t size = sizeof(struct item) + extra;
	struct item *item;

	if (row->head == row->tail)
		row->head = row->tail = 0;
	if (row->room - row->tail < size && row_grow(row, size))
		return NULL;
	item = (struct item *)(row->data + row->tail);
	item->time = time;
	item->op = NULL;
	item->type = type;
	item->lane = lane;
	item->extra = extra;
	row->tail += size;
	sim->queued_bytes += size;
	return item;
}

/* The same, followed by a copy of something. 0 or -ENOMEM. */
static int row_put_with(struct sim *sim, struct row *row, enum item_type type, uint64_t time, unsigned lane,
			const void *what, size_t size)
{
	struct item *item = row_put(sim, row, type, time, lane, size);

	if (!item)
		return -ENOMEM;
	memcpy(item + 1, what, size);
	return 0;
}

void row_pop(struct sim *sim, struct row *row)
{
	const struct item *item = (const struct item *)(row->data + row->head);
	size_t size = sizeof(*item) + item->extra;

	row->head += size;
	sim->queued_bytes -= size;
}

/* --- feeding ------------------------------------------------------------------ */

static struct op *new_op(struct sim *sim)
{
	struct op *op = sim->free_ops;

	if (!op)
		return calloc(1, sizeof(*op));
	sim->free_ops = op->free;
	op_fetch(sim->free_ops);
	*op = (struct op){
		.halves = op->halves,
		.halves_room = op->halves_room,
		.instances = op->instances,
		.instances_room = op->instances_room,
		.members = op->members,
		.members_room = op->members_room,
	};
	return op;
}

static void forget_waiting(struct half *half, const struct op *op)
{
	if (half && half->waiting == op)
		half->waiting = NULL;
}

/* Nobody is to wake it any more. */
static void disconnect(struct op *op)
{
	forget_waiting(op->send, op);
	forget_waiting(op->recv, op);
	for (unsigned i = 0; i < op->nhalves; i++)
		forget_waiting(op->halves[i], op);
	for (unsigned i = 0; i < op->ninstances; i++)
		op->instances[i]->members[op->members[i]].op = NULL;
	if (op->instance && op->instance->members[op->member].op == op)
		op->instance->members[op->member].op = NULL;
}

/* Only those of usual waits are kept for the next ones. */
static void free_arrays(struct op *op)
{
	free(op->halves);
	free(op->instances);
	free(op->members);
	op->halves = NULL;
	op->instances = NULL;
	op->members = NULL;
	op->halves_room = op->instances_room = op->members_room = 0;
}

void op_free(struct sim *sim, struct op *op)
{
	disconnect(op);
	posts_leave(op);
	if (op->send)
		half_leave(sim, op->send);
	if (op->recv)
		half_leave(sim, op->recv);
	for (unsigned i = 0; i < op->nhalves; i++)
		half_leave(sim, op->halves[i]);
	if (op->instance)
		instance_leave(sim, op->instance);
	for (unsigned i = 0; i < op->ninstances; i++)
		instance_leave(sim, op->instances[i]);
	if (op->hold && op->hold->previous && (op->kind == KIND_ACQUIRE || op->kind == KIND_TRY)) {
		hold_leave(op->hold->previous);
		op->hold->previous = NULL;
	}
	if (op->hold)
		hold_leave(op->hold);
	if (op->nhalves > KEPT_ROOM || op->ninstances > KEPT_ROOM)
		free_arrays(op);
	op->free = sim->free_ops;
	sim->free_ops = op;
}

static void measure_payload(struct op *op, const struct span *span)
{
	struct sent_words sent = span_words(span);
	struct payload payload = payload_read(op->facts->payload, &sent);

	op->sent = payload.sent;
	op->received = payload.received;
	if (op->sent < 0 && op->received < 0)
		op->sent = op->received = payload.bytes;
}

/* What the operation depends on, and what depends on it. */
static int connect(struct sim *sim, struct op *op, const struct span *span)
{
	struct sim_thread *thread = &sim->threads[op->thread];
	int64_t peer;
	int error = 0;

	switch (op->kind) {
	case KIND_COLLECTIVE:
		error = groups_join(sim, op, span);
		return error || !op->facts->begins ? error : match_feed(sim, op, span);
	case KIND_NOTIFY:
		error = groups_join(sim, op, span);
		if (!error && op->instance) {
			if (thread->notified)
				instance_leave(sim, thread->notified);
			thread->notified = op->instance;
			thread->notified_member = op->member;
			op->instance->users++;
		}
		return error;
	case KIND_SEND:
	case KIND_RECV:
	case KIND_EXCHANGE:
	case KIND_LOCAL:
		return match_feed(sim, op, span);
	case KIND_WAIT:
		if (op->facts->split && call_found(op->facts, span)) {
			op->instance = thread->notified;
			op->member = thread->notified_member;
			thread->notified = NULL;
			if (op->instance)
				op->instance->members[op->member].op = op;
			return 0;
		}
		error = match_feed(sim, op, span);
		return error || !op->facts->answers.count[WANT_LOCK] ? error : locks_feed(sim, op, span);
	case KIND_ACQUIRE:
	case KIND_TRY:
	case KIND_RELEASE:
		return locks_feed(sim, op, span);
	case KIND_ONE_SIDED:
		if (fact_number(op->facts, WANT_PEER_OUT, span, &peer)) {
			const struct told_comm comm = groups_comm(sim, op->facts, span);
			uint32_t target = groups_process(sim, sim->d->threads[op->thread].process, &comm, peer);

			op->target = target == NO_INDEX ? -1 : (int64_t)target;
		}
		return 0;
	default:
		return 0;
	}
}

static void set_call(struct op *op, const struct facts *facts, const struct span *span)
{
	op->kind = facts->kind;
	op->facts = facts;
	op->probe = span->probe;
	op->site = span->site;
	op->func = facts->func;
	op->end = span->end;
}

/* NULL: out of memory. */
static struct op *op_of(struct sim *sim, const struct span *span)
{
	struct op *op = new_op(sim);

	if (!op)
		return NULL;
	set_call(op, &sim->facts[span->probe], span);
	op->thread = span->thread;
	op->start = span->start;
	op->target = -1;
	op->sent = op->received = -1;
	return op;
}

static int begin_op(struct sim *sim, struct op *op, const struct span *span)
{
	int error;

	if ((!sim->teller || sim->measures) && op->kind != KIND_ALONE && op->kind != KIND_LOCAL)
		measure_payload(op, span);
	sim->counts.ops++;
	error = connect(sim, op, span);
	if (!error && sim->teller && posts_want(sim, op))
		error = posts_feed(sim, op, span);
	return error;
}

/* What of a span has to wait in the row: where nothing is written, only what is asked for when it begins. */
static uint16_t span_size(const struct sim *sim, const struct span *span)
{
	const struct facts *facts = &sim->facts[span->probe];
	bool whole = sim->writer || facts->answers.count[WANT_TASK] || facts->answers.count[WANT_WORKER];

	return SPAN_HEAD + (whole ? span->nwords * sizeof(uint64_t) : 0);
}

/* Nobody has to do with it: all that is known of it can be told at once. */
static bool is_alone(const struct sim *sim, const struct facts *facts)
{
	return !sim->writer && facts->kind == KIND_ALONE && !(sim->teller && facts->signal);
}

/* What lets others of a team go on, or is let go on. */
static int feed_team(struct sim *sim, struct sim_thread *thread, const struct event *event)
{
	const struct span *span = event->span;
	size_t size = span_size(sim, span);
	bool is_team = sim->facts[span->probe].team;
	struct team *team;
	struct share *share;
	struct item *item;
	int error = is_team ? teams_feed_team(sim, span, &team) : teams_feed_share(sim, span, &share);

	if (error)
		return error;
	item = row_put(sim, &thread->row, is_team ? ITEM_TEAM : ITEM_SHARE, event->time, event->lane, size);
	if (!item)
		return -ENOMEM;
	if (is_team)
		item->team = team;
	else
		item->share = share;
	memcpy(item + 1, span, size);
	return 0;
}

/* A function of the user's, a task, or what is inside of an operation: that is only written. */
static int feed_inner(struct sim *sim, struct sim_thread *thread, const struct event *event)
{
	if (thread->feeding && !sim->writer)
		return 0;
	if (teams_want(sim, event))
		return feed_team(sim, thread, event);
	return row_put_with(sim, &thread->row, ITEM_START, event->time, event->lane, event->span,
			    span_size(sim, event->span));
}

static int feed_alone(struct sim *sim, struct sim_thread *thread, const struct event *event)
{
	struct item *item = row_put(sim, &thread->row, ITEM_ALONE, event->time, event->lane, sizeof(struct alone));
	struct alone *alone = (struct alone *)(item + 1);

	if (!item)
		return -ENOMEM;
	alone->end = event->span->end;
	alone->probe = event->span->probe;
	alone->site = event->span->site;
	thread->feeding = &sim->alone;
	sim->counts.ops++;
	return 0;
}

/* op: NULL: out of memory. */
static int feed_operation(struct sim *sim, struct sim_thread *thread, const struct event *event, struct op *op)
{
	size_t extra = sim->writer ? span_size(sim, event->span) : 0;
	struct item *item;
	int error = op ? begin_op(sim, op, event->span) : -ENOMEM;

	thread->feeding = op;
	if (error)
		return error;
	item = row_put(sim, &thread->row, ITEM_BEGIN, op->start, event->lane, extra);
	if (!item)
		return -ENOMEM;
	item->op = op;
	memcpy(item + 1, event->span, extra);
	return 0;
}

/* --- asking again and again ---------------------------------------------------- */

/* To who wants to know what belongs together such calls are one (polls.c): the last, which begins with the first. A
 * plug-in is told of each. */
static bool asks(const struct sim *sim, const struct event *event)
{
	return sim->teller && event->type == EVENT_START && sim->facts[event->span->probe].test;
}

/* It has asked in vain, and does something else. */
static int feed_vain(struct sim *sim, struct sim_thread *thread)
{
	struct poll *poll = &thread->poll;
	struct item *begins, *ends;

	if (!poll->asks)
		return 0;
	poll->asks = false;
	poll->op->asks = poll_was_call(poll);
	begins = row_put(sim, &thread->row, ITEM_BEGIN, poll->op->start, 0, 0);
	if (!begins)
		return -ENOMEM;
	begins->op = poll->op;
	ends = row_put(sim, &thread->row, ITEM_DONE, poll->end, 0, 0);
	if (!ends)
		return -ENOMEM;
	ends->op = poll->op;
	poll->op = NULL;
	return 0;
}

static int ask_again(struct sim *sim, struct poll *poll, const struct span *span)
{
	if (!poll->asks)
		poll->op = op_of(sim, span);
	if (!poll->op)
		return -ENOMEM;
	poll_add(poll, span);
	poll->op->end = span->end;
	sim->counts.ops++;
	return posts_enter(sim, poll->op);
}

static int feed_test(struct sim *sim, struct sim_thread *thread, const struct event *event)
{
	const struct span *span = event->span;
	struct poll *poll = &thread->poll;
	bool found = call_found(&sim->facts[span->probe], span),
	     goes_on = poll_goes_on(sim, poll, span) && (!found || poll_was_wait(poll));
	int error = goes_on ? 0 : feed_vain(sim, thread);
	struct op *op;

	if (error)
		return error;
	if (!found) {
		thread->feeding = &sim->alone;
		return ask_again(sim, poll, span);
	}
	op = poll->asks ? poll->op : op_of(sim, span);
	if (op && poll->asks) {
		op->asked = (struct called){ op->probe, op->site };
		op->asks = poll_was_call(poll);
		set_call(op, &sim->facts[span->probe], span);
		op->last_start = span->start;
	}
	poll->asks = false;
	poll->op = NULL;
	return feed_operation(sim, thread, event, op);
}

int feed_rest(struct sim *sim)
{
	int error = 0;

	for (size_t i = 0; i < sim->d->nthreads && !error; i++)
		error = feed_vain(sim, &sim->threads[i]);
	return error;
}

static int feed_start(struct sim *sim, struct sim_thread *thread, const struct event *event)
{
	const struct facts *facts = &sim->facts[event->span->probe];

	if (thread->feeding || facts->kind == KIND_NEST)
		return feed_inner(sim, thread, event);
	thread->feeding_lane = event->lane;
	thread->feeding_level = event->level;
	if (asks(sim, event))
		return feed_test(sim, thread, event);
	return is_alone(sim, facts) ? feed_alone(sim, thread, event)
				    : feed_operation(sim, thread, event, op_of(sim, event->span));
}

static int feed_end(struct sim *sim, struct sim_thread *thread, const struct event *event)
{
	bool ends = thread->feeding && thread->feeding_lane == event->lane && thread->feeding_level == event->level;
	struct item *item;

	if (ends && thread->feeding == &sim->alone) {
		thread->feeding = NULL;
		return 0;
	}
	if (thread->feeding && !ends && !sim->writer)
		return 0;
	item = row_put(sim, &thread->row, ends ? ITEM_DONE : ITEM_END, event->time, event->lane, 0);
	if (!item)
		return -ENOMEM;
	if (ends) {
		item->op = thread->feeding;
		thread->feeding = NULL;
	}
	return 0;
}

static int feed_moment(struct sim *sim, struct sim_thread *thread, const struct event *event)
{
	int error = thread->feeding ? 0 : groups_pass(sim, event->span);

	if (error || (thread->feeding && !sim->writer))
		return error;
	return row_put_with(sim, &thread->row, ITEM_MOMENT, event->time, event->lane, event->span,
			    sim->writer ? span_size(sim, event->span) : 0);
}

static void note_time(struct sim *sim, struct sim_thread *thread, uint64_t time)
{
	if (!thread->fed_any) {
		thread->fed_any = true;
		if (thread->begin == UINT64_MAX || thread->begin > time)
			thread->begin = time;
	}
	if (time > thread->fed)
		thread->fed = time;
	if (time > sim->latest)
		sim->latest = time;
}

int feed_event(void *context, const struct definitions *d, const struct event *event)
{
	struct sim *sim = context;
	struct sim_thread *thread = &sim->threads[event->span->thread];
	int error;

	note_time(sim, thread, event->time);
	error = thread->feeding || asks(sim, event) ? 0 : feed_vain(sim, thread);
	if (error)
		return error;
	error = event->type == EVENT_START ? feed_start(sim, thread, event)
		: event->type == EVENT_END ? feed_end(sim, thread, event)
					   : feed_moment(sim, thread, event);
	if (!error)
		schedule_wake(sim, event->span->thread);
	return error ? error : sim->error;
}

int feed_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct sim *sim = context;
	struct sim_thread *thread = &sim->threads[gap->thread];
	int error = thread->feeding ? 0 : feed_vain(sim, thread);

	if (error || (!sim->writer && thread->feeding))
		return error;
	return row_put_with(sim, &thread->row, ITEM_GAP, gap->after, 0, gap, sizeof(*gap));
}

/* What comes next is not traced, until a call says otherwise. */
int feed_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	struct sim *sim = context;
	int error = sim->threads[thread].feeding ? 0 : feed_vain(sim, &sim->threads[thread]);

	if (error || control->value || (!sim->writer && sim->threads[thread].feeding))
		return error;
	return row_put(sim, &sim->threads[thread].row, ITEM_OFF, control->time, 0, 0) ? 0 : -ENOMEM;
}
