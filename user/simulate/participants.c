/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * participants.c - who takes part in collective operations, and where each member's first common one is.
 *
 * What the first reading found are places: a thread and what its operations say (a communicator, an object, nothing). A
 * communicator's number means the same in all processes. An object's address does not: where several threads of a
 * process use one, it is theirs; the others are taken together, for a process that uses several objects in another
 * order than the next one would hang. Operations that say nothing are those of the threads of a process, where several
 * call them, else of all processes.
 *
 * The members of a job that was joined while it ran begin with different operations: these are shifted against the one
 * that begins last (meet.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/group.h"
#include "simulate/meet.h"
#include "util/array.h"
#include "util/log.h"

#define LAG 64 /* most by which they may differ at the end */

/* --- from places to groups ------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;
	const struct place_key *k = &x->key, *l = &y->key;

	if (k->scope != l->scope)
		return k->scope < l->scope ? -1 : 1;
	if (k->model != l->model)
		return k->model < l->model ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	if (k->process != l->process)
		return k->process < l->process ? -1 : 1;
	return k->thread < l->thread ? -1 : k->thread > l->thread;
}

static int by_model_and_process(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;

	if (x->key.model != y->key.model)
		return x->key.model < y->key.model ? -1 : 1;
	if (x->key.process != y->key.process)
		return x->key.process < y->key.process ? -1 : 1;
	return x->key.value < y->key.value ? -1 : x->key.value > y->key.value;
}

static bool same_value(const struct place *a, const struct place *b)
{
	return a->key.scope == b->key.scope && a->key.model == b->key.model && a->value == b->value;
}

static struct group *new_group(struct sim *sim, const struct place *first)
{
	struct group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->key = first->key;
	group->key.value = first->value;
	group->reliable = true;
	group->comm = CPF_NONE;
	group->next = sim->groups->list;
	group->number = group->next ? group->next->number + 1 : 0;
	sim->groups->list = group;
	return group;
}

/* Gives the place a seat: that of its process, or its thread's own. */
static int seat(struct group *group, struct place *place, bool by_thread)
{
	struct member *member = group->nmembers ? &group->members[group->nmembers - 1] : NULL;

	if (by_thread || !member || member->process != place->key.process) {
		if (array_one_more(&group->members, &group->members_room, group->nmembers, sizeof(*group->members)))
			return -ENOMEM;
		member = &group->members[group->nmembers++];
		memset(member, 0, sizeof(*member));
		member->seat = group->nmembers - 1;
		member->process = place->key.process;
		member->thread = by_thread ? place->key.thread : NO_INDEX;
		member->self = -1;
	}
	if (place->self >= 0)
		member->self = place->self;
	if (place->ambiguous)
		group->reliable = false;
	if (place->members && place->members->size > group->size)
		group->size = place->members->size;
	member->count += place->count;
	for (unsigned i = 0; i < place->nfirsts; i++) {
		unsigned at = member->nfirsts < FIRSTS ? member->nfirsts++ : FIRSTS;

		while (at && member->firsts[at - 1].start > place->firsts[i].start) {
			if (at < FIRSTS)
				member->firsts[at] = member->firsts[at - 1];
			at--;
		}
		if (at < FIRSTS)
			member->firsts[at] = place->firsts[i];
	}
	place->group = group;
	place->member = group->nmembers - 1;
	return 0;
}

/* A range of places with the same value: one group, or one in each process. */
static int group_places(struct sim *sim, struct place **places, size_t count, bool by_thread, bool by_process)
{
	struct group *group = NULL;

	for (size_t i = 0; i < count; i++) {
		struct place *place = places[i];

		if (!group || (by_process && place->key.process != places[i - 1]->key.process))
			group = new_group(sim, place);
		if (!group || seat(group, place, by_thread))
			return -ENOMEM;
	}
	return 0;
}

/* Whether a process has several threads here. */
static bool has_teams(struct place **places, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (places[i]->key.process == places[i - 1]->key.process)
			return true;
	return false;
}

/* --- communicators that were not always told ------------------------------------- */

/*
 * Who is in a communicator is not told of each of its handles: a short-lived one may be gone before anybody can look.
 * Then its operations have its number only, and some of a thread's have that and others more. They are those of the one
 * communicator with that number that is known to have the thread's process in it. With several of them it cannot be
 * told whose operations they are.
 */
#define KNOWN_MOST 64 /* communicators of one number */

static bool has_member(const struct sim *sim, const struct def_comm *comm, uint32_t process)
{
	return comm && comm_has_world_rank(comm, sim->processes[process].rank);
}

/* Places of one number. known: one of each that is told. */
static void find_untold(const struct sim *sim, struct place **places, size_t count, struct place **known, size_t nknown)
{
	for (size_t i = 0; i < count; i++) {
		struct place *place = places[i];
		size_t found = 0, at = 0;

		if (COMM_FIRST(place->key.value))
			continue;
		for (size_t j = 0; j < nknown; j++)
			if (has_member(sim, known[j]->members, place->key.process)) {
				at = j;
				found++;
			}
		if (found == 1)
			place->value = known[at]->value;
		for (size_t j = 0; j < nknown && found > 1; j++)
			known[j]->ambiguous |= has_member(sim, known[j]->members, place->key.process);
		place->ambiguous = found > 1;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;
	uint32_t k = COMM_NUMBER(x->key.value), l = COMM_NUMBER(y->key.value);

	if (x->key.scope != y->key.scope)
		return x->key.scope < y->key.scope ? -1 : 1;
	if (x->key.model != y->key.model)
		return x->key.model < y->key.model ? -1 : 1;
	return k != l ? (k < l ? -1 : 1) : by_place(a, b);
}

static bool same_number(const struct place *a, const struct place *b)
{
	return a->key.scope == b->key.scope && a->key.model == b->key.model &&
	       COMM_NUMBER(a->key.value) == COMM_NUMBER(b->key.value);
}

static void find_communicators(const struct sim *sim, struct place **places, size_t count)
{
	struct place *known[KNOWN_MOST];

	qsort(places, count, sizeof(*places), by_number);
	for (size_t from = 0, to; from < count; from = to) {
		size_t nknown = 0;

		for (to = from; to < count && same_number(places[from], places[to]); to++) {
			struct place *place = places[to];

			if (place->key.scope == SCOPE_COMM && COMM_FIRST(place->key.value) && nknown < KNOWN_MOST &&
			    (!nknown || known[nknown - 1]->key.value != place->key.value))
				known[nknown++] = place;
		}
		if (nknown && nknown < to - from)
			find_untold(sim, places + from, to - from, known, nknown);
	}
}

/* --- alignment --------------------------------------------------------------- */

static void align(struct sim *sim, struct group *group)
{
	const struct member *last = &group->members[0];
	bool from_start = true;

	for (size_t i = 0; i < group->nmembers; i++) {
		struct member *member = &group->members[i];

		from_start &= sim->processes[member->process].from_start;
		if (member->nfirsts && (!last->nfirsts || member->firsts[0].start > last->firsts[0].start))
			last = member;
	}
	for (size_t i = 0; i < group->nmembers; i++) {
		struct member *member = &group->members[i];
		const struct operations mine = { member->firsts, member->nfirsts },
					others = { last->firsts, last->nfirsts };
		unsigned bad, of;

		member->skip = operations_shift(sim, &mine, &others, from_start,
						!(from_start ? sim->doubts_clocks : sim->doubt != 0) ||
							group->key.scope == SCOPE_NONE,
						&bad, &of);
		if (4 * bad > of && !from_start)
			group->reliable = false;
	}
}

/* How many operations all members have. */
static void measure(struct sim *sim, struct group *group)
{
	uint64_t most = 0;

	group->complete = UINT64_MAX;
	for (size_t i = 0; i < group->nmembers; i++) {
		const struct member *member = &group->members[i];
		uint64_t count = member->count - member->skip;

		if (count < group->complete)
			group->complete = count;
		if (count > most)
			most = count;
		if (sim->processes[member->process].lossy && group->nmembers > 1)
			group->reliable = false;
	}
	if (most - group->complete > LAG)
		group->reliable = false;
}

/* --- ranks --------------------------------------------------------------------- */

static int by_self(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->self < y->self ? -1 : x->self > y->self;
}

/* Ranks in the group: as told, else in the order of the job's. Members are then sorted by them. */
static void rank_members(struct sim *sim, struct group *group)
{
	bool told = true, distinct = true;

	for (size_t i = 0; i < group->nmembers; i++)
		told &= group->members[i].self >= 0;
	for (size_t i = 0; i < group->nmembers && !told; i++)
		group->members[i].self = group->members[i].thread == NO_INDEX
						 ? sim->processes[group->members[i].process].rank
						 : -1;
	qsort(group->members, group->nmembers, sizeof(*group->members), by_self);
	for (size_t i = 1; i < group->nmembers; i++)
		distinct &= group->members[i].self != group->members[i - 1].self;
	group->ranked = distinct && (!group->nmembers || group->members[0].self >= 0);
	for (size_t i = 0; i < group->nmembers && group->ranked && !told; i++)
		group->members[i].self = (int64_t)i;
	if (group->key.scope != SCOPE_COMM)
		return;
	/* Two communicators of one number, as a split makes them: whose operation is which cannot be told. */
	if (told && !distinct)
		group->reliable = false;
	/* Not all of them are in the recording. */
	if (group->nmembers < group->size ||
	    (told && group->nmembers && group->members[group->nmembers - 1].self >= (int64_t)group->nmembers))
		group->reliable = false;
}

/* Places hold indices of members, which were sorted. */
static int find_seats(struct sim *sim)
{
	struct place *place;

	for (struct group *group = sim->groups->list; group; group = group->next) {
		group->seats = calloc(group->nmembers + 1, sizeof(*group->seats));
		if (!group->seats)
			return -ENOMEM;
		for (size_t i = 0; i < group->nmembers; i++)
			group->seats[group->members[i].seat] = i;
	}
	for (place = sim->groups->places; place; place = place->hh.next)
		if (place->group)
			place->member = place->group->seats[place->member];
	for (struct group *group = sim->groups->list; group; group = group->next) {
		free(group->seats);
		group->seats = NULL;
	}
	return 0;
}

static int name_comms(struct sim *sim)
{
	struct comm *comm, *next;

	sim->groups->comm_numbers = calloc(sim->groups->ncomms + 1, sizeof(*sim->groups->comm_numbers));
	if (!sim->groups->comm_numbers)
		return -ENOMEM;

	for (struct group *group = sim->groups->list; group; group = group->next) {
		struct place_key key = { .scope = SCOPE_COMM, .model = group->key.model, .value = group->key.value };

		if (group->key.scope != SCOPE_COMM)
			continue;
		HASH_FIND(hh, sim->groups->comms, &key, sizeof(key), comm);
		if (comm) {
			comm->group = group;
			group->comm = comm->number;
		}
	}
	HASH_ITER (hh, sim->groups->comms, comm, next) {
		char *name;

		if (comm->name)
			name = strdup(comm->name);
		else if (asprintf(&name, "communicator 0x%llx", (unsigned long long)comm->key.value) < 0)
			name = NULL;
		if (!name)
			return -ENOMEM;
		sim->groups->comm_names[comm->number] = name;
		sim->groups->comm_numbers[comm->number] = comm;
	}
	return 0;
}

/* --- the whole ------------------------------------------------------------------- */

/* Of operations that say nothing: each team is a group. */
static int group_teams(struct sim *sim, struct place **places, size_t count)
{
	int error = 0;

	meet_find_teams(sim, places, count);
	for (size_t from = 0, to; from < count && !error; from = to) {
		for (to = from + 1; to < count && places[to]->team == places[from]->team; to++)
			;
		bool threads = has_teams(places + from, to - from);

		error = group_places(sim, places + from, to - from, threads, threads);
	}
	return error;
}

static int make_groups(struct sim *sim, struct place **places, size_t count)
{
	int error = 0;

	qsort(places, count, sizeof(*places), by_place);
	for (size_t from = 0, to; from < count && !error; from = to) {
		struct place *first = places[from];

		for (to = from + 1; to < count && same_value(first, places[to]); to++)
			;
		if (first->by_handle) {
			continue;
		} else if (first->key.scope == SCOPE_COMM) {
			error = group_places(sim, places + from, to - from, false, false);
		} else if (first->key.scope == SCOPE_NONE) {
			error = group_teams(sim, places + from, to - from);
		} else if (has_teams(places + from, to - from)) {
			error = group_places(sim, places + from, to - from, true, true);
		}
	}
	return error;
}

/* Of one model. Who is in a communicator of which only handles are known is guessed, as it is of those that say
 * nothing: each operation must be one by its times, too. */
static int group_handles(struct sim *sim, struct place **places, size_t count)
{
	int error = 0;

	meet_by_handle(sim, places, count);
	for (size_t from = 0, to; from < count && !error; from = to) {
		for (to = from + 1; to < count && places[to]->team == places[from]->team; to++)
			;
		error = group_places(sim, places + from, to - from, false, false);
		if (!error) {
			sim->groups->list->key.scope = SCOPE_NONE;
			sim->groups->list->reliable &= sim->groups->list->nmembers > 1;
		}
	}
	return error;
}

static int make_handle_groups(struct sim *sim, struct place **places, size_t count)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < count; i++)
		if (places[i]->by_handle)
			places[kept++] = places[i];
	qsort(places, kept, sizeof(*places), by_model_and_process);
	for (size_t from = 0, to; from < kept && !error; from = to) {
		for (to = from + 1; to < kept && places[to]->key.model == places[from]->key.model; to++)
			;
		error = group_handles(sim, places + from, to - from);
	}
	return error;
}

/* What make_groups() left: objects that no two threads of a process share. All of a model are taken together. */
static int make_object_groups(struct sim *sim, struct place **places, size_t count)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < count; i++)
		if (!places[i]->group && !places[i]->by_handle)
			places[kept++] = places[i];
	qsort(places, kept, sizeof(*places), by_model_and_process);
	for (size_t from = 0, to; from < kept && !error; from = to) {
		for (to = from + 1; to < kept && places[to]->key.model == places[from]->key.model; to++)
			;
		error = group_places(sim, places + from, to - from, false, false);
	}
	return error;
}

int members_find(struct sim *sim)
{
	size_t count = HASH_COUNT(sim->groups->places), n = 0;
	struct place **places = calloc(count + 1, sizeof(*places)), *place, *next;
	int error = -ENOMEM;

	if (places) {
		HASH_ITER (hh, sim->groups->places, place, next)
			places[n++] = place;
		find_communicators(sim, places, count);
		error = make_groups(sim, places, count);
		if (!error)
			error = make_object_groups(sim, places, count);
		n = 0; /* that has left some out */
		HASH_ITER (hh, sim->groups->places, place, next)
			places[n++] = place;
		if (!error)
			error = make_handle_groups(sim, places, count);
	}
	free(places);
	if (error)
		return error;
	for (struct group *group = sim->groups->list; group; group = group->next) {
		rank_members(sim, group);
		align(sim, group);
		measure(sim, group);
	}
	error = find_seats(sim);
	return error ? error : name_comms(sim);
}
