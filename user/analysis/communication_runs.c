/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication_runs.c - many small messages, one after the other.
 *
 * Small messages are a run where they go from one place in the source to the same rank, and the thread makes no other
 * communication call between them but such as belong to them. A message seldom comes alone: its sender takes one from
 * its other neighbour and waits for that, waits until a non-blocking send is over, completes a transfer. So these are
 * the calls that belong to it:
 *
 *   - receives of small messages, and small messages to others;
 *   - waits, and asking, for what was begun since the last call that belongs to no run, and fences: they complete what
 *     was small. A wait for anything else is no part of it.
 *
 * They must be the same calls, in the same order, from each message of the run to the next: a cycle. A call inside of
 * another one is no call between: a put of the program is built from calls of the runtime below. Only when the next
 * call at the run's own depth comes it is known whether it was around them. So each depth has a run of its own, and
 * notes when the first deeper call since its last call began.
 *
 * Who works and then communicates does not do that too often. So where a cycle is of more than one call, or of
 * operations that bring something back, the thread must do next to nothing else in it: at most as long as its calls
 * take, or 20 us, and 5 us for each. That what they wait for comes late is no excuse to work for as long, so no more
 * than the 20 us. In exchanges and collective operations of a run, which are a run only without any other call between,
 * it is as long as the next one takes, and 5 us.
 */
#include "analysis/communication.h"

/* Each side waits for the other one, so how long such a call takes does not tell whether it has waited. */
static bool is_mutual(enum role role)
{
	return role == ROLE_EXCHANGE || role == ROLE_COLLECTIVE;
}

/* Nor does that of one that brings something back, or of a fence after it: it takes the way there and back. */
static bool is_way_back(const struct communication *c, const struct comm_run *run, enum role role)
{
	return role == ROLE_ATOMIC || (role == ROLE_FENCE && c->places[run->place].atomic);
}

/* --- its end -------------------------------------------------------------------- */

static void add_with(struct comm_place *place, const struct comm_step *step)
{
	uint32_t i = 0;

	while (i < place->nwith && place->with[i].place != step->place)
		i++;
	if (i == CYCLE_MOST)
		return;
	if (i == place->nwith)
		place->with[place->nwith++] = (struct comm_with){ .place = step->place };
	place->with[i].calls += step->calls;
	place->with[i].time += step->time;
}

/* What would do: operations that bring something back are not said to be as many as fit. */
static uint64_t together(const struct communication *c, const struct comm_run *run, uint64_t targets)
{
	uint64_t would_do = run->bytes && !c->places[run->place].atomic ? (run->bytes - 1) / TOGETHER + 1 : 1;

	return would_do > targets ? would_do : targets;
}

static void finish_run(struct communication *c, struct comm_run *run)
{
	struct comm_place *place = &c->places[run->place];
	uint64_t messages = run->turns, targets = 1;

	if (run->turns < RUN_LEAST) {
		run->turns = 0;
		return;
	}
	for (uint32_t i = 0; i < run->ncycle; i++) {
		if (run->cycle[i].place != run->place) {
			add_with(place, &run->cycle[i]);
			continue;
		}
		messages += run->cycle[i].calls;
		targets++;
	}
	place->pair = run->pair != WITH_ALL && targets == 1 && (!place->runs || place->pair == run->pair) ? run->pair
													  : NO_INDEX;
	place->runs++;
	place->messages += messages;
	place->bytes += run->bytes;
	place->time += run->time;
	place->quick += run->quick;
	place->with_quick += run->with_quick;
	place->together += together(c, run, targets);
	run->turns = 0;
}

void runs_break(struct communication *c, struct comm_thread *thread)
{
	for (unsigned i = 0; i < RUN_DEPTHS; i++)
		finish_run(c, &thread->runs[i]);
}

/* --- its calls ------------------------------------------------------------------ */

/* A call, at this depth, of any that a thread makes. */
struct run_call {
	const struct accounted_call *call;
	uint32_t place, pair; /* pair: NO_INDEX: it is no small message */
	uint64_t bytes, duration;
	bool mutual;
};

/* What is no small message itself, and may belong to one. */
static bool belongs(const struct communication *c, const struct comm_run *run, const struct accounted_call *call,
		    const struct comm_probe *probe, int64_t bytes)
{
	if (!call->timed)
		return false;
	if (call->role == ROLE_WAIT || call->role == ROLE_TEST)
		return habits_waits_since(c, call, probe, run->since);
	return call->role == ROLE_FENCE || (call->role == ROLE_RECV && bytes >= 0 && bytes <= SMALL);
}

/* ns of it that count where it is asked whether there are too many messages. */
static uint64_t quick_part(const struct communication *c, const struct comm_run *run, const struct run_call *is)
{
	if (is->call->duration < QUICK)
		return is->duration;
	return is->mutual || is_way_back(c, run, is->call->role) ? QUICK : 0;
}

static void add_message(struct communication *c, struct comm_run *run, const struct run_call *is)
{
	struct comm_place *place = &c->places[is->place];

	run->bytes += is->bytes;
	run->time += is->call->duration;
	run->quick += quick_part(c, run, is);
	if (is->duration < place->shortest)
		place->shortest = is->duration;
}

/* Whether the next message of a run may have come only now. */
static bool does_little_else(const struct communication *c, const struct comm_run *run, const struct run_call *is)
{
	const struct accounted_call *call = is->call;
	uint64_t calls = run->busy + call->duration;

	if (is->mutual)
		return call->span->start <= run->end + call->duration + BETWEEN;
	if (!run->ncycle && !c->places[is->place].atomic)
		return true;
	return call->span->start <=
	       run->end + run->busy + (calls < QUICK ? calls : QUICK) + BETWEEN * (run->ncycle + 1ull);
}

/* The first message of the cycle comes again. */
static bool goes_on(const struct communication *c, struct comm_run *run, const struct run_call *is)
{
	if (!run->turns || run->place != is->place || run->pair != is->pair)
		return false;
	if (run->turns == 1)
		run->ncycle = run->at;
	return run->at == run->ncycle && does_little_else(c, run, is);
}

static bool same_step(const struct comm_step *step, const struct run_call *is)
{
	return step->place == is->place && step->pair == is->pair;
}

/* Which step of the cycle it is; NULL: none. */
static struct comm_step *step_of(struct comm_run *run, const struct run_call *is)
{
	if (is->call->role == ROLE_TEST && run->at && same_step(&run->cycle[run->at - 1], is))
		return &run->cycle[run->at - 1]; /* it asks again */
	if (run->turns > 1)
		return run->at < run->ncycle && same_step(&run->cycle[run->at], is) ? &run->cycle[run->at++] : NULL;
	for (uint32_t i = 0; i < run->at && is->pair != NO_INDEX; i++)
		if (same_step(&run->cycle[i], is))
			return NULL; /* the first message was none of this run */
	if (run->at == CYCLE_MOST || (run->place == is->place && run->pair == is->pair))
		return NULL;
	run->cycle[run->at] = (struct comm_step){ .place = is->place, .pair = is->pair };
	return &run->cycle[run->at++];
}

/* False: it does not belong to the run's messages. */
static bool add_between(struct communication *c, struct comm_run *run, const struct run_call *is)
{
	struct comm_step *step;

	if (!run->turns || is->mutual || c->places[run->place].mutual)
		return false;
	step = step_of(run, is);
	if (!step)
		return false;
	step->calls++;
	step->time += is->call->duration;
	run->busy += is->call->duration;
	if (is->place == run->place)
		add_message(c, run, is);
	else
		run->with_quick += quick_part(c, run, is);
	return true;
}

static void note_message(struct communication *c, struct comm_run *run, const struct run_call *is)
{
	if (!goes_on(c, run, is)) {
		if (add_between(c, run, is))
			return;
		finish_run(c, run);
		*run = (struct comm_run){
			.place = is->place, .pair = is->pair, .deeper = UINT64_MAX, .since = run->since
		};
	}
	c->places[is->place].mutual |= is->mutual;
	c->places[is->place].atomic |= is->call->role == ROLE_ATOMIC;
	run->turns++;
	run->at = 0;
	run->busy = 0;
	run->end = is->call->span->end;
	add_message(c, run, is);
}

/* All runs inside of the call are over; those around it do not know yet. */
static void leave_others(struct communication *c, struct comm_thread *thread, const struct span *span)
{
	for (uint32_t i = span->depth + 1; i < RUN_DEPTHS; i++) {
		finish_run(c, &thread->runs[i]);
		thread->runs[i].since = span->end;
	}
	for (uint32_t i = 0; i < span->depth && i < RUN_DEPTHS; i++)
		if (thread->runs[i].deeper > span->start)
			thread->runs[i].deeper = span->start;
}

void runs_note(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
	       uint32_t place, uint32_t pair, int64_t bytes, uint64_t duration)
{
	struct comm_thread *thread = &c->threads[call->span->thread];
	bool small = pair != NO_INDEX && bytes >= 0 && bytes <= SMALL && call->timed;
	const struct run_call is = { .call = call,
				     .place = place,
				     .pair = small ? pair : NO_INDEX,
				     .bytes = small ? (uint64_t)bytes : 0,
				     .duration = duration,
				     .mutual = is_mutual(call->role) };
	struct comm_run *run;

	leave_others(c, thread, call->span);
	if (call->span->depth >= RUN_DEPTHS)
		return;
	run = &thread->runs[call->span->depth];
	if (run->deeper < call->span->start) {
		finish_run(c, run);
		run->since = call->span->start;
	}
	run->deeper = UINT64_MAX;
	if (small) {
		note_message(c, run, &is);
		return;
	}
	if (belongs(c, run, call, probe, bytes)) {
		if (!add_between(c, run, &is))
			finish_run(c, run);
		return;
	}
	finish_run(c, run);
	run->since = call->span->end;
}
