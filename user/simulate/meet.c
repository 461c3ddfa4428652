/* SPDX-License-Identifier: BSD-2-Clause */
/* meet.c - see meet.h. */
#include "simulate/meet.h"

#include <math.h>
#include <stdlib.h>

#define SHIFTS 16 /* most operations by which members may differ at the beginning */

/* --- which operations can be one ------------------------------------------------- */

static bool waits_for_all(const struct sim *sim, uint32_t func)
{
	uint32_t classes = sim->functions[func].classes;

	return classes & (CPF_IS_ALL | CPF_IS_ALL_TO_ALL) && !(classes & CPF_IS_NON_BLOCKING);
}

/* How badly b's operations fit to a's from the shift-th on; *compared: how many there are. */
static unsigned misfits(const struct sim *sim, const struct operations *a, unsigned shift, const struct operations *b,
			bool by_time, unsigned *compared)
{
	unsigned bad = 0;

	*compared = 0;
	for (unsigned i = 0; i < b->count && shift + i < a->count; i++, ++*compared) {
		const struct first *x = &a->firsts[shift + i], *y = &b->firsts[i];

		if (x->func != y->func)
			bad += 4;
		else if (by_time && waits_for_all(sim, x->func) && (x->start > y->end || y->start > x->end))
			bad++;
	}
	return bad;
}

/* What is between two calls, one of which was over before the other began. */
static uint64_t between(const struct first *x, const struct first *y)
{
	return x->start > y->end ? x->start - y->end : y->start > x->end ? y->start - x->end : 0;
}

/*
 * The same as operations_shift() where clocks differ, and by less than it takes from one operation to the next: the
 * shift with which they are nearest to each other.
 */
static unsigned nearest_shift(const struct sim *sim, const struct operations *a, const struct operations *b,
			      unsigned *bad, unsigned *of)
{
	double least = INFINITY;
	unsigned best = 0;

	*bad = misfits(sim, a, 0, b, false, of);
	for (unsigned shift = 0; shift <= SHIFTS && shift < a->count; shift++) {
		unsigned compared, wrong = misfits(sim, a, shift, b, false, &compared);
		double apart = 0;

		for (unsigned i = 0; i < compared; i++)
			apart += (double)between(&a->firsts[shift + i], &b->firsts[i]) / compared;
		if (!compared || wrong || apart >= least)
			continue;
		least = apart;
		best = shift;
		*bad = 0;
		*of = compared;
	}
	return best;
}

unsigned operations_shift(const struct sim *sim, const struct operations *a, const struct operations *b,
			  bool from_start, bool by_time, unsigned *bad, unsigned *of)
{
	unsigned best = 0, compared;

	if (sim->doubt && !from_start && !by_time)
		return nearest_shift(sim, a, b, bad, of);
	*bad = misfits(sim, a, 0, b, by_time, of);
	for (unsigned shift = 1; shift <= SHIFTS && shift < a->count && *bad && !from_start; shift++) {
		unsigned more = misfits(sim, a, shift, b, by_time, &compared);

		/* Later ones have less to be compared with: in proportion. */
		if (compared && more * *of < *bad * compared) {
			best = shift;
			*bad = more;
			*of = compared;
		}
	}
	return best;
}

/* --- teams ------------------------------------------------------------------------- */

#define TEAMS_MOST 256 /* that a thread's operations are compared with */

/*
 * Operations that say nothing may be those of several teams: each thread of a process can have a team of its own, and
 * processes that are no job have nothing to do with each other. Who is in a team can be seen: nobody leaves a barrier
 * before all have come, so the calls of a team have a moment in common each time.
 */
static bool may_meet(const struct sim *sim, const struct place *a, const struct place *b)
{
	const struct operations x = { a->firsts, a->nfirsts }, y = { b->firsts, b->nfirsts };
	const struct sim_process *p = &sim->processes[a->key.process], *q = &sim->processes[b->key.process];
	bool from_start = p->from_start && q->from_start;
	/* Who set up this very runtime takes part in what is common to all; others may be teams of their own. */
	bool set_up = from_start && p->start_model == a->key.model && q->start_model == b->key.model;
	unsigned bad, of;

	operations_shift(sim, &x, &y, from_start, !(set_up && sim->doubts_clocks), &bad, &of);
	if (4 * bad <= of)
		return true;
	operations_shift(sim, &y, &x, from_start, !(set_up && sim->doubts_clocks), &bad, &of);
	return 4 * bad <= of;
}

static int by_team(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;

	if (x->team != y->team)
		return x->team < y->team ? -1 : 1;
	if (x->key.process != y->key.process)
		return x->key.process < y->key.process ? -1 : 1;
	return x->key.thread < y->key.thread ? -1 : x->key.thread > y->key.thread;
}

/* The first of these that it may meet; NULL: none. */
static const struct place *find_met(const struct sim *sim, const struct place *place, const struct place *const *others,
				    uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (may_meet(sim, place, others[i]))
			return others[i];
	return NULL;
}

/*
 * Sorts them by team; they come in the order of their processes. Teams of other processes may have been at their
 * barriers at the same times by chance, as in a job whose processes do the same: so those of its own come first.
 */
void meet_find_teams(const struct sim *sim, struct place **places, size_t count)
{
	const struct place *first[TEAMS_MOST], *own[TEAMS_MOST];
	uint32_t teams = 0, nown = 0;

	for (size_t i = 0; i < count; i++) {
		struct place *place = places[i];
		const struct place *met;

		if (i && place->key.process != places[i - 1]->key.process)
			nown = 0;
		met = find_met(sim, place, own, nown);
		if (!met) {
			met = find_met(sim, place, first, teams < TEAMS_MOST ? teams : TEAMS_MOST);
			if (nown < TEAMS_MOST)
				own[nown++] = place;
		}
		place->team = met ? met->team : teams;
		if (!met && teams < TEAMS_MOST)
			first[teams] = place;
		teams += !met;
	}
	qsort(places, count, sizeof(*places), by_team);
}

#define SURE 16 /* operations that none of its members left before all had come */

/* Have all that both were in a moment in common, and are these enough that it is not by chance? */
static bool met_each_time(const struct sim *sim, const struct operations *a, const struct operations *b,
			  bool from_start)
{
	unsigned bad, of, sure = 0, shift = operations_shift(sim, a, b, from_start, true, &bad, &of);

	for (unsigned i = 0; i < of; i++)
		sure += waits_for_all(sim, b->firsts[i].func) && b->firsts[i].end != UINT64_MAX &&
			a->firsts[shift + i].end != UINT64_MAX;
	return !bad && sure >= SURE;
}

static bool met(const struct sim *sim, const struct place *a, const struct place *b)
{
	const struct operations x = { a->firsts, a->nfirsts }, y = { b->firsts, b->nfirsts };
	bool from_start = sim->processes[a->key.process].from_start && sim->processes[b->key.process].from_start;

	return !sim->doubts_clocks &&
	       (met_each_time(sim, &x, &y, from_start) || met_each_time(sim, &y, &x, from_start));
}

#define HANDLES_MOST 512 /* each is compared with each */

static uint32_t team_of(struct place **places, uint32_t at)
{
	while (places[at]->team != at)
		at = places[at]->team;
	return at;
}

static bool can_be_one(const struct sim *sim, const struct place *a, const struct place *b)
{
	return a->key.process == b->key.process ? a->key.value == b->key.value : met(sim, a, b);
}

/* Has each met each? Where some have not, it cannot be told who is with whom. */
static bool is_whole(const struct sim *sim, struct place **places, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (!can_be_one(sim, places[i], places[j]))
				return false;
	return true;
}

/*
 * Handles are not the same in other processes. Likewise, but the calls of two teams at the same place of the program
 * are nearly at the same times: it must be each with each. Who may be in one of several is left alone.
 */
void meet_by_handle(const struct sim *sim, struct place **places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		places[i]->team = i;
		for (size_t j = 0; j < i && count <= HANDLES_MOST; j++)
			if (team_of(places, i) != team_of(places, j) && can_be_one(sim, places[i], places[j]))
				places[team_of(places, i)]->team = team_of(places, j);
	}
	for (size_t i = 0; i < count; i++) /* the first of a team stands before the others */
		places[i]->team = team_of(places, i);
	qsort(places, count, sizeof(*places), by_team);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && places[to]->team == places[from]->team; to++)
			;
		if (is_whole(sim, places + from, to - from))
			continue;
		for (size_t i = from; i < to; i++)
			places[i]->team = count + i;
	}
}
