/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * op.c - an operation: what it gives others when it begins, what it needs of them, and when it ends.
 */
#include "simulate/parts.h"

/* --- what it gives others ------------------------------------------------------- */

static bool instance_is_complete(const struct instance *instance)
{
	return instance->fed >= instance->expected && instance->reached >= instance->expected;
}

static void wake_members(struct sim *sim, const struct instance *instance)
{
	if (!instance_is_complete(instance))
		return;
	for (unsigned i = 0; i < groups_size(instance->group); i++)
		if (instance->members[i].op)
			schedule_wake(sim, instance->members[i].op->thread);
}

static void reach_half(struct sim *sim, struct op *op, struct half *half)
{
	half->new_start = op->new_start;
	half->reached = true;
	if (half->waiting)
		schedule_wake(sim, half->waiting->thread);
	if (half->other && half->other->waiting)
		schedule_wake(sim, half->other->waiting->thread);
	if (half->peek && half->peek->waiting)
		schedule_wake(sim, half->peek->waiting->thread);
}

/* Messages that were described before are begun; or it has come to those that it waits for. */
static int reach_all(struct sim *sim, struct op *op)
{
	int error = 0;

	for (unsigned i = 0; i < op->nhalves && !error; i++) {
		reach_half(sim, op, op->halves[i]);
		if (!op->halves[i]->is_send || op->halves[i]->pairs)
			continue;
		op->send = op->halves[i];
		if (!op->send->sync)
			op->send->sync = ask_synchronous(sim, op->send);
		error = ask_send(sim, op);
		op->send = NULL; /* it is among the halves */
	}
	return error;
}

int op_reach(struct sim *sim, struct op *op)
{
	struct instance *instance = op->kind == KIND_WAIT ? NULL : op->instance;
	int error = op->facts->starts || op->facts->pairs ? reach_all(sim, op) : 0;

	op->reached = true;
	if (op->send) {
		reach_half(sim, op, op->send);
		if (!op->send->sync)
			op->send->sync = ask_synchronous(sim, op->send);
		if (op->send->begins || (!op->send->sync && !relations_delay_sends(sim)))
			error = ask_send(sim, op);
	}
	if (op->recv)
		reach_half(sim, op, op->recv);
	if (instance) {
		struct participant *me = &instance->members[op->member];

		instance_reach(instance, op->member, &op->new_start);
		if (!op->facts->begins && op->kind == KIND_COLLECTIVE)
			me->op = op;
		/* Those who wait were woken when it was complete. */
		if (instance->reached <= instance->expected)
			wake_members(sim, instance);
	}
	if (op->hold && (op->kind == KIND_RELEASE || op->kind == KIND_WAIT)) {
		op->hold->released = true;
		op->hold->new_release = op->new_start;
		if (op->hold->next_op)
			schedule_wake(sim, op->hold->next_op->thread);
	}
	if (op->post)
		posts_reach(sim, op);
	return error;
}

/* --- what it needs of them ---------------------------------------------------------- */

/* Whether the half's partner has come; if not, its coming wakes the operation. */
static bool has_partner(struct op *op, struct half *half)
{
	if (half->alone || (half->reached && half->other && half->other->reached))
		return true;
	half->waiting = op;
	return false;
}

/* Whether the send does not wait for its receive. That may still come where not all of the chunk is fed. */
static bool may_go_on(struct sim *sim, struct op *op, struct half *send)
{
	struct sim_thread *thread = &sim->threads[op->thread];

	if (!sim->in_part || send->other || send->alone)
		return !send->sync && !relations_send_waits(sim, op, send);
	if (!thread->undecided)
		sim->undecided[sim->nundecided++] = op->thread;
	thread->undecided = true;
	return false;
}

static bool wait_is_ready(struct sim *sim, struct op *op)
{
	bool ready = true;

	for (unsigned i = 0; i < op->nhalves; i++) {
		struct half *half = op->halves[i];

		if (half->is_send && half->reached && (half->pairs || may_go_on(sim, op, half)))
			continue;
		ready &= has_partner(op, half);
	}
	for (unsigned i = 0; i < op->ninstances; i++)
		ready &= instance_is_complete(op->instances[i]);
	if (op->instance)
		ready &= instance_is_complete(op->instance);
	return ready;
}

bool op_is_ready(struct sim *sim, struct op *op)
{
	if (op->facts->begins)
		return true;
	if ((op->unsettled || op->nposts) && !posts_are_ready(op))
		return false;
	switch (op->kind) {
	case KIND_SEND:
		return !op->send || may_go_on(sim, op, op->send) || has_partner(op, op->send);
	case KIND_RECV:
		return !op->recv || has_partner(op, op->recv);
	case KIND_EXCHANGE: {
		bool sent = !op->send || may_go_on(sim, op, op->send) || has_partner(op, op->send);

		return (!op->recv || has_partner(op, op->recv)) && sent;
	}
	case KIND_WAIT:
		return wait_is_ready(sim, op);
	case KIND_COLLECTIVE:
		return !op->instance || instance_is_complete(op->instance);
	case KIND_ACQUIRE:
		return lock_is_ready(sim, op);
	default:
		return true;
	}
}

/* --- ends ---------------------------------------------------------------------- */

static void later(struct times *end, const struct times *than)
{
	for (unsigned s = 0; s < SCENARIOS; s++)
		if (than->at[s] > end->at[s])
			end->at[s] = than->at[s];
}

/* The call of a receive, or of a send that waits. */
static int end_point_to_point(struct sim *sim, struct op *op)
{
	struct half *send = op->send, *receive = op->recv;
	int error = 0;

	if ((!send || (send->alone && send->sync)) && (!receive || receive->alone))
		return send || receive ? ask_unmatched(sim, op) : ask_alone(sim, op);
	op->new_end = op->new_start;
	if (receive && receive->alone)
		error = ask_unmatched(sim, op);
	else if (receive && !receive->asked)
		error = ask_message(sim, receive->other, receive,
				    receive->other->sync && !receive->other->begins && !receive->other->asked, true);
	if (send && !send->alone && !send->asked && !error) {
		struct half *other = send->other;
		bool both = !other->begins && !other->asked;

		error = ask_message(sim, send, other, true, both);
	}
	if (send && send->asked)
		later(&op->new_end, &send->new_end);
	if (receive && receive->asked)
		later(&op->new_end, &receive->new_end);
	return error;
}

static int end_wait(struct sim *sim, struct op *op)
{
	struct half **matched = op->halves;
	unsigned count = 0, alone = 0;
	int error = 0;

	op->new_end = op->new_start;
	if (op->facts->split) {
		ask_wait_for(sim, op, NULL, 0);
		return op->instance ? ask_split(sim, op) : ask_unmatched(sim, op);
	}
	/* Those that the wait's end depends on first. */
	for (unsigned i = 0; i < op->nhalves; i++) {
		struct half *half = op->halves[i];

		if (half->is_send && !half->sync &&
		    !(relations_delay_sends(sim) && relations_send_waits(sim, op, half)))
			continue;
		if (half->alone) {
			alone++;
			continue;
		}
		op->halves[i] = matched[count];
		matched[count++] = half;
	}
	ask_wait_for(sim, op, matched, count);
	if (count)
		error = ask_wait(sim, op, matched, count);
	for (unsigned i = 0; i < op->ninstances && !error; i++) {
		struct times end = op->new_end;

		op->instance = op->instances[i];
		op->member = op->members[i];
		error = ask_split(sim, op);
		op->instance = NULL;
		later(&op->new_end, &end);
	}
	if (count || op->ninstances)
		return error;
	if (alone || (!op->nhalves && !op->facts->test))
		return ask_unmatched(sim, op);
	return ask_alone(sim, op);
}

/* Its end was left open when it began: here it is known whether it waited. */
static bool is_delayed(const struct sim *sim, const struct op *op)
{
	return op->send && !op->send->asked && !op->send->sync && !op->send->begins && relations_delay_sends(sim) &&
	       !relations_send_waits(sim, op, op->send);
}

/* It ends with what came last, of whom it receives from and whom it waited for to send to: as a wait for both does. */
static int end_exchange(struct sim *sim, struct op *op)
{
	struct half *halves[2];
	unsigned count = 0;

	if (op->recv && !op->recv->alone)
		halves[count++] = op->recv;
	if (op->send && !op->send->alone && relations_send_waits(sim, op, op->send))
		halves[count++] = op->send;
	ask_wait_for(sim, op, halves, count);
	return count == 2 ? ask_wait(sim, op, halves, count) : end_point_to_point(sim, op);
}

static int end_send(struct sim *sim, struct op *op)
{
	if (op->send && op->send->asked && !op->send->sync) {
		op->new_end = op->send->new_end;
		return 0;
	}
	if (!op->facts->begins)
		return end_point_to_point(sim, op);
	if (!op->send)
		return ask_alone(sim, op);
	op->new_end = op->send->new_end; /* of the call; the wait's comes later */
	return 0;
}

static int end_meeting(struct sim *sim, struct op *op)
{
	struct participant *me = op->instance ? &op->instance->members[op->member] : NULL;
	int error;

	if (op->facts->begins || op->kind == KIND_NOTIFY)
		return ask_alone(sim, op);
	if (!me)
		return ask_unmatched(sim, op);
	error = op->instance->done ? 0 : ask_collective(sim, op->instance);
	op->instance->done = true;
	me->op = NULL;
	if (!error && !me->decided)
		return ask_unmatched(sim, op);
	op->new_end = me->new_end;
	return error;
}

int op_end(struct sim *sim, struct op *op)
{
	int error = is_delayed(sim, op) ? ask_send(sim, op) : 0;

	if (error)
		return error;
	if (op->nposts)
		return ask_posted(sim, op);
	switch (op->kind) {
	case KIND_ALONE:
	case KIND_LOCAL:
		return ask_alone(sim, op);
	case KIND_SEND:
		return end_send(sim, op);
	case KIND_RECV:
	case KIND_EXCHANGE:
		if (op->facts->begins)
			return ask_alone(sim, op);
		return relations_delay_sends(sim) ? end_exchange(sim, op) : end_point_to_point(sim, op);
	case KIND_WAIT:
		return end_wait(sim, op);
	case KIND_COLLECTIVE:
	case KIND_NOTIFY:
		return end_meeting(sim, op);
	case KIND_ONE_SIDED:
		return ask_one_sided(sim, op);
	default:
		return ask_lock(sim, op);
	}
}

/* --- without the others ------------------------------------------------------------- */

static void go_alone(struct sim *sim, struct half *half)
{
	if (half && !half->alone) {
		half->alone = true;
		if (half->waiting)
			schedule_wake(sim, half->waiting->thread);
	}
}

void op_give_up(struct sim *sim, struct op *op)
{
	posts_give_up(sim, op);
	if (op->send && op->send->sync)
		go_alone(sim, op->send);
	go_alone(sim, op->recv);
	for (unsigned i = 0; i < op->nhalves; i++)
		if (!has_partner(op, op->halves[i]))
			go_alone(sim, op->halves[i]);
	for (unsigned i = 0; i <= op->ninstances; i++) {
		struct instance *instance = i < op->ninstances ? op->instances[i] : op->instance;

		if (!instance || instance_is_complete(instance))
			continue;
		/* The others will not have it with them. */
		instance->expected = instance->fed = instance->reached;
		wake_members(sim, instance);
	}
	if (op->kind == KIND_ACQUIRE && op->hold) {
		op->hold->settled = true;
		if (op->hold->previous) {
			op->hold->previous->next_op = NULL;
			hold_leave(op->hold->previous);
		}
		op->hold->previous = NULL;
	}
}
