/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * teams.c - who comes last to where all meet.
 *
 * Threads meet in a barrier, and in a collective operation without a root. The calls of one meeting have one thing in
 * common: each of them began before any of them ended. That, and not counting, tells which calls belong together, so it
 * does not matter that the observation began while some were inside already. Calls of one thread are told in order,
 * those of different threads in any. So each team keeps its last meetings; each member knows up to which of them it has
 * come, and its next call joins the first one after that with which it has that moment in common, or begins a new one.
 *
 * A team is the ranks of a job that meet in one communicator, or the threads of a process that meet at one barrier
 * object. Nobody says who its members are: they are those that come. So a meeting is judged only when a whole interval
 * has brought no new member, and when all have come; where somebody has come to a later one and not to this one, his
 * call was not seen, and the meeting is counted as unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/private.h"
#include "util/array.h"

#define MEETINGS_MOST                                                                                             \
	65536           /* of one team that wait to be judged; then whoever has come to none of them is no member \
			 */
#define TEAMS_MOST 4096 /* teams without members are forgotten from here on */

struct team_key {
	uint64_t object;
	uint32_t event;
	uint32_t process; /* definition; of a job: pid of the parent, 0: there is only one job */
	uint32_t job;
	uint32_t has_object;
	uint64_t of; /* of a communicator: a number made of its members, since groups without a common member may use
			one number */
};

struct member {
	uint32_t who; /* definition of the process, or the thread */
	uint32_t thread;
	uint64_t next;         /* number of the first meeting that it has not come to */
	bool inside;           /* at the look */
	uint64_t inside_since; /* ns */
	uint64_t last, late;   /* as in struct live_figures, of this interval */
	uint64_t all_last, all_late;
};

struct round {
	uint64_t last_start, second_start; /* ns */
	uint64_t first_end;
	uint32_t last_thread;
	uint32_t count;
};

struct team {
	struct team_key key;
	struct live_meeting is;
	struct member *members;
	size_t nmembers, members_room;
	struct round *rounds;
	size_t nrounds, rounds_room; /* numbers from `first` on */
	uint64_t first;
	bool grew; /* since the last look */
	UT_hash_handle hh;
};

/* --- which team ---------------------------------------------------------- */

static uint64_t mix(uint64_t number, uint64_t more)
{
	return (number ^ more) * 0x9e3779b97f4a7c15ULL + (number >> 29);
}

static uint64_t members_number(const struct def_comm *comm)
{
	uint64_t number = mix(1, comm->size);

	for (uint32_t i = 0; i < comm->nruns; i++)
		number = mix(mix(mix(number, comm->runs[i].first), comm->runs[i].stride), comm->runs[i].count);
	return number;
}

/* What all processes know the communicator by; false: unknown. */
static bool comm_number(const struct live *live, uint32_t process, uint64_t handle, uint64_t time, struct team_key *key)
{
	const struct def_comm *found = NULL;

	for (size_t i = 0; i < live->d->ncomms; i++) {
		const struct def_comm *comm = &live->d->comms[i];

		if (comm->process == process && comm->handle == handle && (!found || comm->since <= time))
			found = comm;
	}
	if (!found || !found->has_id)
		return false;
	key->object = found->id;
	key->of = members_number(found);
	return true;
}

/* False: it cannot be told. */
static bool key_of(const struct live *live, const struct live_probe *p, const struct span *span, struct team_key *key)
{
	uint32_t process = live->d->threads[span->thread].process;
	const struct def_process *def = &live->d->processes[process];
	int64_t value;

	memset(key, 0, sizeof(*key));
	key->event = p->is.event;
	key->job = p->ranks && def->rank >= 0;
	key->process = key->job ? live->by_parent ? def->parent : 0 : process;
	if (p->object < 0)
		return true;
	key->has_object = 1;
	if (!live_value(live, span, p->object, &value))
		return false;
	key->object = value;
	return !p->comm || !key->job || comm_number(live, process, value, span->start, key);
}

static struct team *team_of(struct live *live, const struct live_probe *p, const struct span *span, bool *known)
{
	struct team_key key;
	struct team *team;

	*known = key_of(live, p, span, &key);
	if (!*known)
		return NULL;
	HASH_FIND(hh, live->teams, &key, sizeof(key), team);
	if (team)
		return team;
	team = calloc(1, sizeof(*team));
	if (!team)
		return NULL;
	team->key = key;
	team->is = (struct live_meeting){
		.probe = span->probe,
		.job = key.job,
		.process = key.process,
		.has_object = key.has_object,
		.object = key.object,
		.all.last = NO_INDEX,
	};
	HASH_ADD(hh, live->teams, key, sizeof(team->key), team);
	if (team->hh.tbl)
		return team;
	free(team);
	return NULL;
}

static struct member *member_of(struct live *live, struct team *team, uint32_t thread)
{
	uint32_t who = team->key.job ? live->d->threads[thread].process : thread;
	struct member *m;

	for (size_t i = 0; i < team->nmembers; i++) {
		if (team->members[i].who == who) {
			team->members[i].thread = thread;
			return &team->members[i];
		}
	}
	if (array_one_more(&team->members, &team->members_room, team->nmembers, sizeof(*team->members)))
		return NULL;
	m = &team->members[team->nmembers++];
	*m = (struct member){ .who = who, .thread = thread, .next = team->first };
	team->grew = true;
	return m;
}

/* --- a call --------------------------------------------------------------- */

static void join_round(struct round *round, const struct span *span)
{
	if (span->start >= round->last_start) {
		round->second_start = round->last_start;
		round->last_start = span->start;
		round->last_thread = span->thread;
	} else if (span->start > round->second_start) {
		round->second_start = span->start;
	}
	if (span->end < round->first_end)
		round->first_end = span->end;
	round->count++;
}

static int new_round(struct team *team, const struct span *span)
{
	if (array_one_more(&team->rounds, &team->rounds_room, team->nrounds, sizeof(*team->rounds)))
		return -ENOMEM;
	team->rounds[team->nrounds++] = (struct round){
		.last_start = span->start,
		.first_end = span->end,
		.last_thread = span->thread,
		.count = 1,
	};
	return 0;
}

static int meet(struct team *team, struct member *m, const struct span *span)
{
	uint64_t number = m->next > team->first ? m->next : team->first;

	for (; number < team->first + team->nrounds; number++) {
		struct round *round = &team->rounds[number - team->first];

		if (span->end < round->last_start)
			return 0; /* of a meeting that is not here any more */
		if (span->start > round->first_end)
			continue;
		join_round(round, span);
		m->next = number + 1;
		return 0;
	}
	m->next = number + 1;
	return new_round(team, span);
}

int teams_take(struct live *live, const struct live_probe *p, const struct span *span, bool ended)
{
	bool known;
	struct team *team = team_of(live, p, span, &known);
	struct member *m = team ? member_of(live, team, span->thread) : NULL;

	if (!known)
		return 0;
	if (!m)
		return -ENOMEM;
	if (ended)
		return span->reason == GB_END_RETURN || span->reason == GB_END_TAIL ? meet(team, m, span) : 0;
	m->inside = true;
	m->inside_since = span->start;
	return 0;
}

/* --- judging --------------------------------------------------------------- */

static struct live_figures *figures_of(struct live *live, uint32_t thread)
{
	return thread < live->nstates && live->states[thread] ? &live->states[thread]->open : NULL;
}

/* Nearly always, calls that belong together have a moment in common; else it is no meeting, but a scan, or an operation
 * that is only begun. */
static bool is_meeting(const struct team *team)
{
	return team->is.all.met + team->is.now.met >= team->is.all.unknown + team->is.now.unknown;
}

static void judge(struct live *live, struct team *team, const struct round *round)
{
	uint64_t late = round->last_start - round->second_start;
	bool certain = is_meeting(team);

	team->is.now.met++;
	team->is.now.late += late;
	if (late > team->is.now.longest)
		team->is.now.longest = late;
	for (size_t i = 0; i < team->nmembers; i++) {
		struct member *m = &team->members[i];
		struct live_figures *f = figures_of(live, m->thread);
		bool last = m->thread == round->last_thread;

		if (f && certain) {
			f->met++;
			f->last += last;
			f->late += last ? late : 0;
		}
		m->last += last;
		m->late += last ? late : 0;
	}
}

/* Have all gone on to a later one? */
static bool is_over(const struct team *team, uint64_t number)
{
	for (size_t i = 0; i < team->nmembers; i++)
		if (team->members[i].next <= number)
			return false;
	return true;
}

static void drop_member(struct team *team, size_t index)
{
	team->members[index] = team->members[--team->nmembers];
}

static void judge_rounds(struct live *live, struct team *team)
{
	size_t done = 0;

	for (; done < team->nrounds; done++) {
		const struct round *round = &team->rounds[done];

		if (round->count == team->nmembers && team->nmembers > 1) {
			judge(live, team, round);
		} else if (is_over(team, team->first + done)) {
			team->is.now.unknown += team->nmembers > 1;
		} else if (team->nrounds - done > MEETINGS_MOST) {
			team->is.now.unknown++;
			for (size_t i = team->nmembers; i-- > 0;)
				if (team->members[i].next <= team->first + done)
					drop_member(team, i);
		} else {
			break;
		}
	}
	team->first += done;
	team->nrounds -= done;
	memmove(team->rounds, team->rounds + done, team->nrounds * sizeof(*team->rounds));
}

static bool is_alive(const struct live *live, const struct member *m)
{
	const struct live_state *s = m->thread < live->nstates ? live->states[m->thread] : NULL;

	return s && (s->alive || s->rest);
}

static void find_last(struct team *team)
{
	struct live_meeting_figures *now = &team->is.now, *all = &team->is.all;

	now->last = NO_INDEX;
	for (size_t i = 0; i < team->nmembers; i++) {
		struct member *m = &team->members[i];

		if (m->last && (now->last == NO_INDEX || m->late > now->last_late)) {
			now->last = m->thread;
			now->last_times = m->last;
			now->last_late = m->late;
		}
		m->all_last += m->last;
		m->all_late += m->late;
		m->last = m->late = 0;
		if (m->all_last && (all->last == NO_INDEX || m->all_late >= all->last_late)) {
			all->last = m->thread;
			all->last_times = m->all_last;
			all->last_late = m->all_late;
		}
	}
	all->met += now->met;
	all->unknown += now->unknown;
	all->late += now->late;
	if (now->longest > all->longest)
		all->longest = now->longest;
}

static void find_waiting(struct team *team)
{
	struct live_meeting *is = &team->is;

	is->waiting = 0;
	is->waiting_since = UINT64_MAX;
	is->awaited = NO_INDEX;
	for (size_t i = 0; i < team->nmembers; i++) {
		const struct member *m = &team->members[i];

		if (!m->inside) {
			is->awaited = m->thread;
			continue;
		}
		is->waiting++;
		if (m->inside_since < is->waiting_since)
			is->waiting_since = m->inside_since;
	}
	if (is->waiting + 1 != team->nmembers || !is->waiting)
		is->awaited = NO_INDEX;
}

static void end_team(struct live *live, struct team *team, bool last)
{
	bool left = false;

	for (size_t i = 0; i < team->nmembers; i++)
		left |= !is_alive(live, &team->members[i]);
	memset(&team->is.now, 0, sizeof(team->is.now));
	if (team->nmembers > team->is.members || (team->nmembers && !left))
		team->is.members = team->nmembers;
	if (!team->grew || last || left)
		judge_rounds(live, team);
	find_last(team);
	for (size_t i = team->nmembers; i-- > 0;)
		if (!is_alive(live, &team->members[i]))
			drop_member(team, i);
	find_waiting(team);
	team->grew = false;
}

/* Are there two processes of the same rank, so that there must be several jobs? */
static bool ranks_repeat(const struct live *live)
{
	for (size_t i = 0; i < live->d->nprocesses; i++)
		for (size_t k = 0; k < i && live->d->processes[i].rank >= 0; k++)
			if (live->d->processes[k].rank == live->d->processes[i].rank && !live->d->processes[k].end &&
			    !live->d->processes[i].end)
				return true;
	return false;
}

void teams_begin_look(struct live *live)
{
	struct team *team, *next;

	live->by_parent = ranks_repeat(live);
	HASH_ITER (hh, live->teams, team, next)
		for (size_t i = 0; i < team->nmembers; i++)
			team->members[i].inside = false;
}

static int by_lateness(const void *a, const void *b)
{
	const struct live_meeting *x = a, *y = b;

	if (x->now.late != y->now.late)
		return x->now.late > y->now.late ? -1 : 1;
	if (x->all.late != y->all.late)
		return x->all.late > y->all.late ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

int teams_end_look(struct live *live, bool last)
{
	struct team *team, *next;

	live->nmeetings = 0;
	HASH_ITER (hh, live->teams, team, next) {
		end_team(live, team, last);
		if (!team->nmembers && (!team->is.all.met || HASH_COUNT(live->teams) > TEAMS_MOST)) {
			HASH_DEL(live->teams, team);
			free(team->members);
			free(team->rounds);
			free(team);
			continue;
		}
		if (team->is.members < 2 || !is_meeting(team))
			continue;
		if (array_one_more(&live->meetings, &live->meetings_room, live->nmeetings, sizeof(*live->meetings)))
			return -ENOMEM;
		live->meetings[live->nmeetings++] = team->is;
	}
	if (live->nmeetings)
		qsort(live->meetings, live->nmeetings, sizeof(*live->meetings), by_lateness);
	return 0;
}

size_t live_meetings(const struct live *live)
{
	return live->nmeetings;
}

const struct live_meeting *live_meeting(const struct live *live, size_t index)
{
	return &live->meetings[index];
}

void teams_free(struct live *live)
{
	struct team *team, *next;

	HASH_ITER (hh, live->teams, team, next) {
		HASH_DEL(live->teams, team);
		free(team->members);
		free(team->rounds);
		free(team);
	}
	free(live->meetings);
}
