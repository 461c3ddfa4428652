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
#include "simulate/reliefs.h"

#define ADRIFT_SHARE 100 /* one in so many of a thread's time: a wait for something unknown that counts */

struct teller {
	const struct relations_ops *ops;
	struct reliefs reliefs;
	struct related_call *calls; /* of one meeting */
	size_t room;
	struct related_work *work;       /* by thread: what it is at, as far as it is not told yet; end 0: nothing */
	uint64_t ended, ends[SCENARIOS]; /* of the last call of all: recorded, and in each scenario */
};

struct relations {
	struct recording *recording;
	struct kept_groups kept;
	bool doubts_clocks;
	uint64_t doubt; /* ns */
};

static const struct called nothing = { NO_INDEX, NO_INDEX };

/* --- who waited for whom ------------------------------------------------------- */

static struct related_call call_of_half(const struct half *half)
{
	return (struct related_call){ half->thread, half->probe, half->site, half->start, half->end, 0 };
}

static struct related_call call_of_member(const struct participant *member)
{
	return (struct related_call){ member->thread, member->probe, member->site, member->start, member->end, 0 };
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
	longer_wait(waited, any, op,
		    mine->pairs     ? WAIT_AT_BARRIER
		    : mine->is_send ? WAIT_LATE_RECEIVER
				    : WAIT_LATE_SENDER,
		    &of);
}

static bool is_fence(const struct sim *sim, const struct instance *instance)
{
	for (unsigned i = 0; i < groups_size(instance->group); i++)
		if (instance->members[i].fed)
			return sim->facts[instance->members[i].probe].fences;
	return false;
}

static enum wait_state state_of(const struct sim *sim, const struct instance *instance)
{
	uint32_t classes = sim->functions[instance->func].classes;

	return classes & CPF_IS_SPLIT_PHASE  ? WAIT_LATE_NOTIFY
	       : is_fence(sim, instance)     ? WAIT_AT_FENCE
	       : classes & CPF_IS_ALL_TO_ONE ? instance->root < 0 ? WAIT_AT_NXN : WAIT_EARLY_REDUCE
	       : classes & CPF_IS_ONE_TO_ALL ? WAIT_LATE_BROADCAST
	       : classes & CPF_IS_ALL        ? WAIT_AT_BARRIER
					     : WAIT_AT_NXN;
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

static void wait_for_post(struct waited *waited, bool *any, const struct op *op, const struct awaited_post *awaited)
{
	uint64_t before = *any ? waited->until : 0;

	longer_wait(waited, any, op, awaited->state, &awaited->post->call);
	if (!*any || waited->until == before)
		return;
	waited->taken = awaited->post->taken;
	waited->accessed = awaited->post->accessed;
}

static bool find_wait(const struct sim *sim, const struct op *op, struct waited *waited)
{
	bool any = false;

	if (op->facts->begins || op->facts->starts || op->kind == KIND_NOTIFY)
		return false;
	if (op->kind == KIND_ACQUIRE) {
		wait_for_lock(waited, &any, op);
		return any;
	}
	for (unsigned i = 0; i < op->nposts; i++)
		wait_for_post(waited, &any, op, &op->posts[i]);
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
	unsigned last = instance->last;

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

static int tell_message(const struct teller *teller, const struct related_call *receives, const struct half *mine)
{
	struct related_call sends;

	if (!mine || mine->is_send || mine->peeks || mine->alone || !mine->other)
		return 0;
	sends = call_of_half(mine->other);
	return teller->ops->message(teller->ops->context, &sends, receives, mine->other->bytes ?: mine->bytes);
}

static int tell_messages(const struct teller *teller, const struct op *op)
{
	const struct related_call call = op_call(op);
	int error;

	if (!teller->ops->message || op->facts->begins || op->facts->starts)
		return 0;
	error = tell_message(teller, &call, op->recv);
	for (unsigned i = 0; i < op->nhalves && !error; i++)
		error = tell_message(teller, &call, op->halves[i]);
	return error;
}

/* --- work ---------------------------------------------------------------------- */

/* What it did took less, and so the thread is there earlier. */
static void relieve(struct sim *sim, uint32_t thread, struct saved saved)
{
	for (size_t s = 0; s < reliefs_scenarios(&sim->teller->reliefs); s++)
		sim->threads[thread].now.at[s] -= saved.ns[s];
}

/* Of such a wait nobody knows what it was for, and so not whether it would have ended earlier. */
static bool waits_for_unknown(const struct op *op)
{
	return op->kind == KIND_WAIT && !op->nhalves && !op->ninstances && !op->instance && !op->nposts;
}

/* Where it waited long for something unknown, what it does next is not moved either, until it is let go on again by
 * somebody who is known: as of a program's first thread, which waits for the ends of all others and goes on then. */
static bool is_adrift(struct sim *sim, const struct op *op)
{
	struct sim_thread *thread = &sim->threads[op->thread];

	if (waits_for_unknown(op))
		thread->adrift |= op->end - op->start >= (op->end - thread->begin) / ADRIFT_SHARE;
	else if (op->recv || op->nhalves || op->ninstances || op->instance || op->nposts)
		thread->adrift = false;
	return thread->adrift;
}

static void note_end_at(struct sim *sim, uint32_t thread, uint64_t end)
{
	struct teller *teller = sim->teller;

	for (size_t s = 0; s < reliefs_scenarios(&teller->reliefs); s++)
		if (sim->threads[thread].now.at[s] > teller->ends[s])
			teller->ends[s] = sim->threads[thread].now.at[s];
	if (end > teller->ended)
		teller->ended = end;
}

static void note_end(struct sim *sim, const struct op *op)
{
	if (!is_adrift(sim, op) && !waits_for_unknown(op))
		note_end_at(sim, op->thread, op->end);
}

static void relieve_memory(struct sim *sim, const struct op *op)
{
	enum role role = sim->d->probes[op->probe].role;

	if (role == ROLE_ALLOC || role == ROLE_FREE)
		relieve(sim, op->thread, reliefs_of_memory(&sim->teller->reliefs, op->thread, op->end - op->start));
	note_end(sim, op);
}

/* from: when it did not wait for others any more. */
static void relieve_call(struct sim *sim, const struct op *op, const struct related_call *call, uint64_t from)
{
	relieve(sim, op->thread, reliefs_of_call(&sim->teller->reliefs, call, from, !waits_for_unknown(op)));
	note_end(sim, op);
}

bool relations_free_of_lock(const struct sim *sim, const struct op *op, enum scenario s)
{
	return sim->teller && reliefs_of_lock(&sim->teller->reliefs, op->site, s);
}

/* The thread goes on to this call, or to something else that is no part of the same work. */
static int finish_work(struct sim *sim, uint32_t index, struct called before)
{
	const struct relations_ops *ops = sim->teller->ops;
	struct related_work *work = &sim->teller->work[index];
	int error = 0;

	if (work->end) {
		work->before = before;
		relieve(sim, index, reliefs_of_work(&sim->teller->reliefs, work));
		if (ops->work)
			error = ops->work(ops->context, work);
	}
	work->end = 0;
	work->after = before;
	return error;
}

int relations_work(struct sim *sim, uint32_t index, uint64_t start, uint64_t end, uint32_t inside, bool known)
{
	struct related_work *work = &sim->teller->work[index];
	int error = 0;

	if (work->end && (work->inside != inside || work->known != known || work->end != start))
		error = finish_work(sim, index, nothing);
	if (!work->end) {
		work->start = start;
		work->inside = inside;
		work->known = known;
		work->waits = false;
	}
	work->end = end;
	return error;
}

/* --- teams --------------------------------------------------------------------- */

static uint32_t innermost(const struct sim_thread *thread)
{
	return thread->nnest ? thread->nest[thread->nnest - 1] : NO_INDEX;
}

int relations_go_on(struct sim *sim, const struct related_call *call, uint32_t of)
{
	const struct relations_ops *ops = sim->teller->ops;
	const struct sim_thread *thread = &sim->threads[call->thread];
	const struct gone_on gone_on = { *call, of };
	int error = finish_work(sim, call->thread, nothing);

	sim->counts.teams++;
	if (!error && thread->begun && thread->old < call->end) {
		error = relations_work(sim, call->thread, thread->old, call->end, innermost(thread),
				       !thread->lossy_gap);
		sim->teller->work[call->thread].waits = true;
		if (!error)
			error = finish_work(sim, call->thread, nothing);
	}
	return error || !ops->go_on ? error : ops->go_on(ops->context, &gone_on);
}

void relations_relieve_team(struct sim *sim, const struct related_call *call)
{
	relieve(sim, call->thread, reliefs_of_team(&sim->teller->reliefs, call));
}

int relations_pass(struct sim *sim, uint32_t index, uint64_t time, struct called before, struct called after)
{
	const struct relations_ops *ops = sim->teller->ops;
	int error = finish_work(sim, index, before);

	sim->teller->work[index].after = after;
	note_end_at(sim, index, time);
	return error || !ops->pass ? error : ops->pass(ops->context, index, time);
}

/* A part of the program's work, as far as others are concerned. */
static bool is_small(const struct op *op)
{
	enum role role = op->facts->role;

	return role == ROLE_ALLOC || role == ROLE_FREE || (role == ROLE_TRY && !op->hold) ||
	       (role == ROLE_TEST && waits_for_unknown(op) && !op->unsettled && !op->asks);
}

static struct milestone milestone(const struct sim_thread *thread)
{
	return (struct milestone){ true, thread->old, thread->useful, thread->now };
}

int relations_enter(struct sim *sim, const struct op *op)
{
	struct sim_thread *thread = &sim->threads[op->thread];

	if (op->facts->role == ROLE_EXIT)
		thread->ends = milestone(thread);
	return is_small(op) ? 0 : finish_work(sim, op->thread, (struct called){ op->probe, op->site });
}

/* What it found had come before it asked for the first time: up to the last call it asked for something else, in vain.
 */
static int begin_last(struct sim *sim, const struct op *op, struct related_call *call)
{
	const struct relations_ops *ops = sim->teller->ops;
	const struct related_call first = { op->thread, op->asked.probe, op->asked.site, op->start, op->last_start, 0 };

	call->start = op->last_start;
	call->last = 0;
	if (!op->asks)
		return relations_work(sim, op->thread, op->start, op->last_start, innermost(&sim->threads[op->thread]),
				      true)
			       ?: finish_work(sim, op->thread, (struct called){ op->probe, op->site });
	relieve_call(sim, op, &first, first.start);
	return ops->call ? ops->call(ops->context, &first, NULL) : 0;
}

int relations_op(struct sim *sim, const struct op *op)
{
	struct teller *teller = sim->teller;
	struct related_work *work = &teller->work[op->thread];
	struct sim_thread *thread = &sim->threads[op->thread];
	struct related_call call = op_call(op);
	struct waited waited;
	bool waits;
	int error = 0;

	if (op->facts->role == ROLE_INIT && !thread->set_up.known)
		thread->set_up = milestone(thread);
	if (is_small(op)) {
		relieve_memory(sim, op);
		return relations_work(sim, op->thread, op->start, op->end, work->end ? work->inside : NO_INDEX, true);
	}
	waits = find_wait(sim, op, &waited);
	if (!waits && op->last_start)
		error = begin_last(sim, op, &call);
	relieve_call(sim, op, &call, waits ? waited.until : call.start);
	for (unsigned i = 0; i < op->ninstances && !error; i++)
		error = tell_meeting(teller, sim, op->instances[i]);
	if (op->instance && !error && !op->facts->begins && op->kind != KIND_NOTIFY)
		error = tell_meeting(teller, sim, op->instance);
	if (!error && teller->ops->call)
		error = teller->ops->call(teller->ops->context, &call, waits ? &waited : NULL);
	return error ? error : tell_messages(teller, op);
}

bool relations_send_waits(const struct sim *sim, const struct op *op, const struct half *send)
{
	const struct half *other = send->other;

	return sim->teller && !send->pairs && other && other->start > op->start && other->start < op->end;
}

bool relations_delay_sends(const struct sim *sim)
{
	return sim->teller && sim->teller->reliefs.count;
}

/* --- a whole recording ------------------------------------------------------------ */

static const struct simulation as_it_was = { .path = "", .input = -1, .output = -1, .plugin = "same" };

static int open_teller(struct teller *teller, const struct definitions *d)
{
	teller->work = calloc(d->nthreads + 1, sizeof(*teller->work));
	for (size_t i = 0; teller->work && i < d->nthreads; i++)
		teller->work[i] = (struct related_work){ .thread = i, .after = nothing };
	return teller->work ? 0 : -ENOMEM;
}

/* What the threads were at when the recording ended. */
static int finish_all(struct sim *sim)
{
	int error = 0;

	for (size_t i = 0; i < sim->d->nthreads && !error; i++)
		error = finish_work(sim, i, nothing);
	return error;
}

static int run(struct sim *sim)
{
	int error = open_teller(sim->teller, recording_definitions(sim->recording));

	if (!error)
		error = simulation_run(sim);
	return error ? error : finish_all(sim);
}

static void close_all(struct sim *sim)
{
	output_finish(sim);
	simulation_close(sim);
	free(sim->teller->calls);
	free(sim->teller->work);
}

struct relations *relations_new(struct recording *recording)
{
	struct relations *relations = calloc(1, sizeof(*relations));

	if (relations)
		relations->recording = recording;
	return relations;
}

void relations_free(struct relations *relations)
{
	if (!relations)
		return;
	kept_groups_free(&relations->kept);
	free(relations);
}

void relations_doubt_clocks(struct relations *relations, uint64_t doubt)
{
	relations->doubt = doubt;
	relations->doubts_clocks = true;
}

int relations_read(struct relations *relations, const struct relations_ops *ops, struct relations_counts *counts,
		   struct efficiencies *efficiencies)
{
	struct teller teller = { .ops = ops };
	struct progress progress = { 0 };
	struct sim sim = { .options = &as_it_was,
			   .scenarios = IDEAL_BEFORE + 1,
			   .progress = &progress,
			   .recording = relations->recording,
			   .kept = &relations->kept,
			   .doubts_clocks = relations->doubts_clocks,
			   .doubt = relations->doubt,
			   .measures = ops->measures,
			   .teller = &teller };
	int error = run(&sim);

	if (counts)
		*counts = (struct relations_counts){
			.messages = sim.counts.messages,
			.meetings = sim.counts.collectives,
			.hand_overs = sim.counts.locks,
			.teams = sim.counts.teams,
			.alone = sim.counts.unmatched_sends + sim.counts.unmatched_recvs,
			.incomplete = sim.counts.incomplete + sim.counts.apart,
			.lossy = sim.counts.lossy,
			.untold = sim.counts.untold,
		};
	if (efficiencies && !error)
		efficiency_before(&sim, efficiencies);
	close_all(&sim);
	return error;
}

static const struct relations_ops nobody;

static int relieve_all(struct relations *relations, struct teller *teller, uint64_t *gains)
{
	struct progress progress = { 0 };
	size_t count = reliefs_scenarios(&teller->reliefs);
	struct sim sim = { .options = &as_it_was,
			   .scenarios = count ? count : 1,
			   .progress = &progress,
			   .recording = relations->recording,
			   .kept = &relations->kept,
			   .teller = teller,
			   .alike = true };
	int error = count <= RELIEFS_MOST ? run(&sim) : -EINVAL;

	for (size_t s = 0; s < count; s++)
		gains[s] = error || teller->ends[s] > teller->ended ? 0 : teller->ended - teller->ends[s];
	close_all(&sim);
	return error;
}

int relations_relieve(struct relations *relations, const struct relief *reliefs, size_t count, uint64_t *gains)
{
	struct teller teller = { .ops = &nobody, .reliefs = { reliefs, count, false } };

	return relieve_all(relations, &teller, gains);
}

int relations_relieve_together(struct relations *relations, const struct relief *reliefs, size_t count, uint64_t *gain)
{
	struct teller teller = { .ops = &nobody, .reliefs = { reliefs, count, true } };

	*gain = 0;
	return relieve_all(relations, &teller, gain);
}

_Static_assert(RELIEFS_MOST <= (int)SCENARIOS, "one for each");

static bool has_peer(const struct def_probe *probe)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == MEANING_PEER)
			return true;
	return false;
}

bool relations_possible_of(const struct def_probe *probe)
{
	if (has_peer(probe) || probe->marks & (MARK_EXPOSURE | MARK_ACCESS | MARK_SHARE))
		return true;
	switch (probe->role) {
	case ROLE_BARRIER:
	case ROLE_COLLECTIVE:
	case ROLE_NOTIFY:
	case ROLE_SEND:
	case ROLE_RECV:
	case ROLE_EXCHANGE:
	case ROLE_ACQUIRE:
		return true;
	default:
		return false;
	}
}

bool relations_possible(const struct definitions *d)
{
	for (size_t i = 0; i < d->nprobes; i++)
		if (relations_possible_of(&d->probes[i]))
			return true;
	return false;
}
