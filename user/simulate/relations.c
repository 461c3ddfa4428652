/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * relations.c - tells what the engine has put together, in the order in which its schedule comes by.
 *
 * The schedule lets an operation end when all that it depends on is reached, and that is before the one that is waited
 * for has done anything more. A send that waits for its receive is no dependency of a simulation, which asks its
 * plug-in whether it is; here it counts as one where the receive began while the send was going on.
 */
#include "simulate/relations.h"

#include <errno.h>
#include <stdlib.h>

#include "simulate/parts.h"

struct teller {
	const struct relations_ops *ops;
	struct related_call *calls; /* of one meeting */
	size_t room;
};

/* --- who waited for whom ------------------------------------------------------- */

static struct related_call call_of(const struct op *op)
{
	return (struct related_call){ op->thread, op->probe, op->site, op->start, op->end };
}

static struct related_call call_of_half(const struct half *half)
{
	return (struct related_call){ half->thread, half->probe, half->site, half->start, half->end };
}

static struct related_call call_of_member(const struct participant *member)
{
	return (struct related_call){ member->thread, member->probe, member->site, member->start, member->end };
}

/* The wait goes on until the last of all that was waited for. */
static void longer_wait(struct waited *waited, bool *any, const struct op *op, enum wait_state state,
			const struct related_call *of)
{
	if (of->thread == op->thread || of->start <= op->start || of->start > op->end)
		return; /* it was there already; or the clocks differ */
	if (*any && of->start <= waited->until)
		return;
	*any = true;
	*waited = (struct waited){ .state = state, .until = of->start, .of = *of };
}

static void wait_for_half(struct waited *waited, bool *any, const struct op *op, const struct half *mine)
{
	struct related_call of;

	if (!mine || mine->alone || !mine->other)
		return;
	of = call_of_half(mine->other);
	longer_wait(waited, any, op, mine->is_send ? WAIT_LATE_RECEIVER : WAIT_LATE_SENDER, &of);
}

static enum wait_state state_of(const struct sim *sim, const struct instance *instance)
{
	uint32_t classes = sim->functions[instance->func].classes;

	return classes & CPF_IS_ALL_TO_ONE   ? WAIT_EARLY_REDUCE
	       : classes & CPF_IS_ONE_TO_ALL ? WAIT_LATE_BROADCAST
	       : classes & CPF_IS_ALL        ? WAIT_AT_BARRIER
					     : WAIT_AT_NXN;
}

/* Who came last of those that have come; NO_INDEX: nobody has. */
static unsigned last_member(const struct instance *instance)
{
	unsigned last = NO_INDEX;

	for (unsigned i = 0; i < groups_size(instance->group); i++)
		if (instance->members[i].reached &&
		    (last == NO_INDEX || instance->members[i].start > instance->members[last].start))
			last = i;
	return last;
}

static void wait_for_meeting(const struct sim *sim, struct waited *waited, bool *any, const struct op *op,
			     const struct instance *instance, unsigned member)
{
	unsigned whom = instance_waits_for(sim, instance, member);
	struct related_call of;

	if (whom == NO_INDEX)
		return;
	of = call_of_member(&instance->members[whom]);
	longer_wait(waited, any, op, state_of(sim, instance), &of);
}

static void wait_for_lock(struct waited *waited, bool *any, const struct op *op)
{
	const struct hold *before = op->hold ? op->hold->previous : NULL;
	struct related_call of;

	if (!before || !before->released_fed)
		return;
	of = before->gives;
	longer_wait(waited, any, op, WAIT_FOR_LOCK, &of);
	waited->taken = before->takes;
}

static bool find_wait(const struct sim *sim, const struct op *op, struct waited *waited)
{
	bool any = false;

	if (op->facts->begins || op->kind == KIND_NOTIFY)
		return false;
	if (op->kind == KIND_ACQUIRE) {
		wait_for_lock(waited, &any, op);
		return any;
	}
	wait_for_half(waited, &any, op, op->send);
	wait_for_half(waited, &any, op, op->recv);
	for (unsigned i = 0; i < op->nhalves; i++)
		wait_for_half(waited, &any, op, op->halves[i]);
	for (unsigned i = 0; i < op->ninstances; i++)
		wait_for_meeting(sim, waited, &any, op, op->instances[i], op->members[i]);
	if (op->instance)
		wait_for_meeting(sim, waited, &any, op, op->instance, op->member);
	return any;
}

/* --- telling ------------------------------------------------------------------- */

static int tell_meeting(struct teller *teller, const struct sim *sim, struct instance *instance)
{
	struct meeting meeting = { .state = state_of(sim, instance), .root = -1, .in_halves = instance->begun };
	size_t size = groups_size(instance->group);
	unsigned last = last_member(instance);

	if (instance->told || size < 2 || last == NO_INDEX)
		return 0;
	instance->told = true;
	if (!teller->ops->meeting || instance_is_none(sim, instance))
		return 0;
	if (array_reach(&teller->calls, &teller->room, size, sizeof(*teller->calls)))
		return -ENOMEM;
	for (unsigned i = 0; i < size; i++) {
		if (!instance->members[i].reached)
			continue;
		if (i == last)
			meeting.last = meeting.ncalls;
		if (i == instance->root)
			meeting.root = meeting.ncalls;
		teller->calls[meeting.ncalls++] = call_of_member(&instance->members[i]);
	}
	meeting.calls = teller->calls;
	meeting.probe = teller->calls[0].probe;
	meeting.group = groups_number(instance->group);
	return teller->ops->meeting(teller->ops->context, &meeting);
}

int relations_op(struct sim *sim, const struct op *op)
{
	struct teller *teller = sim->teller;
	struct related_call call = call_of(op);
	struct waited waited;
	int error = 0;

	for (unsigned i = 0; i < op->ninstances && !error; i++)
		error = tell_meeting(teller, sim, op->instances[i]);
	if (op->instance && !error && !op->facts->begins && op->kind != KIND_NOTIFY)
		error = tell_meeting(teller, sim, op->instance);
	if (error || !teller->ops->call)
		return error;
	return teller->ops->call(teller->ops->context, &call, find_wait(sim, op, &waited) ? &waited : NULL);
}

int relations_work(struct sim *sim, uint32_t thread, uint64_t start, uint64_t end, uint32_t inside, bool known)
{
	const struct relations_ops *ops = sim->teller->ops;

	return ops->work ? ops->work(ops->context, thread, start, end, inside, known) : 0;
}

bool relations_send_waits(const struct sim *sim, const struct op *op, const struct half *send)
{
	const struct half *other = send->other;

	return sim->teller && other && other->start > op->start && other->start < op->end;
}

/* --- a whole recording ------------------------------------------------------------ */

int relations_read(struct recording *recording, const struct relations_ops *ops, struct relations_counts *counts,
		   struct efficiencies *efficiencies)
{
	static const struct simulation options = { .path = "", .input = -1, .output = -1, .plugin = "same" };
	struct teller teller = { .ops = ops };
	struct progress progress = { 0 };
	struct sim sim = { .options = &options, .progress = &progress, .recording = recording, .teller = &teller };
	int error = simulation_run(&sim);

	if (counts)
		*counts = (struct relations_counts){
			.messages = sim.counts.messages,
			.meetings = sim.counts.collectives,
			.hand_overs = sim.counts.locks,
			.alone = sim.counts.unmatched_sends + sim.counts.unmatched_recvs,
			.incomplete = sim.counts.incomplete + sim.counts.apart,
			.lossy = sim.counts.lossy,
		};
	if (efficiencies && !error)
		efficiency_before(&sim, efficiencies);
	output_finish(&sim);
	simulation_close(&sim);
	free(teller.calls);
	return error;
}

bool relations_possible(const struct definitions *d)
{
	for (size_t i = 0; i < d->nprobes; i++)
		switch (d->probes[i].role) {
		case ROLE_BARRIER:
		case ROLE_COLLECTIVE:
		case ROLE_NOTIFY:
		case ROLE_SEND:
		case ROLE_RECV:
		case ROLE_EXCHANGE:
		case ROLE_ACQUIRE:
			return true;
		default:
			break;
		}
	return false;
}
