/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slow_threads.c - who is waited for, as far as means tell.
 *
 * Where it is known of each call whom it waited for, delays.c has said who is late. The rule that follows is for the
 * others: it needs nothing but means.
 *
 * The slow thread. Where a team of threads meets again and again (barriers, barrier-like collectives,
 * the second half of a split barrier), each meeting begins when the last one comes. The last
 * one does not wait, the others do. So the one that waits least is the one that they wait for. A
 * team is either the threads of one process, or the ranks of one job where each rank has
 * one thread that meets. The rule for "clear", all of:
 *   - at least two members, each with at least 3 calls of the event, their numbers of calls no further
 *     apart than a tenth (a late attach cuts one meeting for some);
 *   - no root: in a broadcast or a reduction one member is quick because of what it does;
 *   - either the others wait on average at least 4 times as long as the one, and already the second shortest
 *     waits twice as long, so that it is one and not a few (two members: the factor of 4 decides);
 *   - or, with three members and more, the others agree and the one stands apart: from it to the second shortest
 *     is at least 3 times as far as from there to the longest. (So it is where all meet at several
 *     places, of which only one follows the uneven work.) Then it must be worth 5 %;
 *   - it is more than chance. Where nobody is slow and it is chance who comes last, the means of a few waits differ
 * too: waits vary by about their mean, so the mean of n of them varies by that over the root of n, and the distance
 * must be three times as much; or not one wait of the one was as long as any of the others';
 *   - the time that the others wait more than the one, in all calls of one member, is at least 1 %
 *     of the time observed: worth looking at.
 * Where a recording has ranks of several jobs, each job is looked at by itself; ranks of which it is not known whose
 * they are, are no team. Threads of one process that meet at different barrier objects are different teams.
 * The second half of a split barrier (role wait) counts only for a model that has a first half (role notify) and
 * members that called it about as often: other waits are for a message or a signal, not for a team.
 */
#include "analysis/analysis.h"
#include "analysis/only_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/format.h"

#define LEAST_CALLS 3
#define CLEAR_FACTOR 4
#define SECOND_FACTOR 2
#define CALLS_APART 10  /* one in so many */
#define WORTH_SHARE 100 /* one in so many of the time observed */
#define APART_FACTOR 3
#define APART_WORTH_SHARE 20
#define CHANCE 3

struct member {
	const struct row *row;
	uint64_t mean; /* ns a call */
};

static bool about_as_often(uint64_t a, uint64_t b)
{
	uint64_t less = a < b ? a : b, more = a < b ? b : a;

	return more - less <= more / CALLS_APART || more - less <= 1;
}

/* Calls of all notifying events of the same model on this thread. */
static uint64_t notify_calls(const struct report *r, uint32_t thread, const char *model)
{
	uint64_t calls = 0;

	for (size_t i = report_first_row(r, thread); i < r->nrows && r->rows[i].thread == thread; i++) {
		const struct event_state *event = &r->profile->events[r->rows[i].event];
		const char *other = r->d->probes[event->probe].model;

		if (event->role == ROLE_NOTIFY && model && other && !strcmp(model, other))
			calls += r->rows[i].tally.calls;
	}
	return calls;
}

/* True where threads meet in this event. */
static bool is_meeting(const struct report *r, uint32_t event)
{
	const struct event_state *e = &r->profile->events[event];

	if (e->rooted || e->is_inner)
		return false;
	return e->role == ROLE_BARRIER || e->role == ROLE_COLLECTIVE || e->role == ROLE_WAIT;
}

static bool may_be_member(const struct report *r, const struct row *row)
{
	const struct event_state *event = &r->profile->events[row->event];

	if (row->tally.timed < LEAST_CALLS)
		return false;
	return event->role != ROLE_WAIT ||
	       about_as_often(notify_calls(r, row->thread, r->d->probes[event->probe].model), row->tally.calls);
}

static int by_mean(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->mean < y->mean ? -1 : x->mean > y->mean;
}

static uint32_t process_of(const struct report *r, const struct row *row)
{
	return r->d->threads[row->thread].process;
}

static int name_slow_thread(struct report *r, const struct member *team, size_t count, uint64_t others)
{
	const struct row *row = team[0].row;
	char label[LABEL_ROOM], event[LABEL_ROOM], it[FORMAT_SIZE], they[FORMAT_SIZE];
	struct finding finding = {
		.kind = "slow_thread",
		.event = row->event,
		.thread = row->thread,
		.weight = (others - team[0].mean) * row->tally.timed * (count - 1),
	};

	thread_label_on_node(r->d, row->thread, label, sizeof(label));
	report_event_label(r, row->event, event, sizeof(event));
	format_time(it, team[0].mean);
	format_time(they, others);
	if (count == 2)
		return report_add_finding(
			r, &finding,
			"%s: the other one waits for it in %s: it waits %s a call, the other one %s (mean)", label,
			event, it, they);
	return report_add_finding(r, &finding,
				  "%s: the others wait for it in %s: it waits %s a call, the other %zu wait %s (mean)",
				  label, event, it, count - 1, they);
}

/* The members are sorted: is the first far from the rest, measured by how far the rest are from each other? */
static bool stands_apart(const struct member *team, size_t count)
{
	uint64_t gap = team[1].mean - team[0].mean, spread = team[count - 1].mean - team[1].mean;

	return count > 2 && gap >= APART_FACTOR * spread;
}

/* True where its longest wait is shorter than any wait of the others. */
static bool always_last(const struct member *team, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (team[i].row->tally.min <= team[0].row->tally.max)
			return false;
	}
	return true;
}

/* Waits vary by about their mean, so the mean of n of them by the root of n less: three times that is no chance. */
static bool may_be_chance(const struct member *team, size_t count, uint64_t others)
{
	uint64_t calls = team[0].row->tally.timed, least = team[0].mean;
	double apart = others - least;

	if (always_last(team, count))
		return false;
	return apart * apart * calls < CHANCE * CHANCE * (double)others * others;
}

/* Of several jobs, which come and go, each has a time of its own. */
static uint64_t wall_of(const struct report *r, uint32_t thread)
{
	for (size_t i = 0; i < r->nthreads && r->d->run.only_sums; i++)
		if (r->threads[i].thread == thread)
			return r->threads[i].wall;
	return r->end > r->start ? r->end - r->start : 0;
}

/* Looks at one team; `team` is sorted here. */
static int judge_team(struct report *r, struct member *team, size_t count)
{
	uint64_t sum = 0, others, least, worth, wall = wall_of(r, team[0].row->thread);
	bool clear;

	if (count < 2)
		return 0;
	qsort(team, count, sizeof(*team), by_mean);
	for (size_t i = 1; i < count; i++) {
		if (!about_as_often(team[i].row->tally.calls, team[0].row->tally.calls))
			return 0;
		sum += team[i].mean;
	}
	others = sum / (count - 1);
	least = team[0].mean;
	worth = (others - least) * team[0].row->tally.timed;
	if (others >= CLEAR_FACTOR * least && team[1].mean >= SECOND_FACTOR * least)
		clear = worth >= wall / WORTH_SHARE;
	else
		clear = stands_apart(team, count) && worth >= wall / APART_WORTH_SHARE;
	return clear && !may_be_chance(team, count, others) ? name_slow_thread(r, team, count, others) : 0;
}

/* Order in which the members of a team stand together: by process and barrier object. */
static int by_team(const void *a, const void *b)
{
	const struct row *x = ((const struct member *)a)->row, *y = ((const struct member *)b)->row;
	uint64_t left = x->several_objects ? 0 : x->object, right = y->several_objects ? 0 : y->object;

	return left < right ? -1 : left > right;
}

/* The team of each process and barrier object. `members` of one process stand together. */
static int judge_processes(struct report *r, struct member *members, size_t count)
{
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start + 1;
		     end < count && process_of(r, members[end].row) == process_of(r, members[start].row); end++)
			;
		qsort(members + start, end - start, sizeof(*members), by_team);
		for (size_t from = start, to; from < end; from = to) {
			for (to = from + 1; to < end && !by_team(&members[from], &members[to]); to++)
				;
			int error = judge_team(r, members + from, to - from);

			if (error)
				return error;
		}
	}
	return 0;
}

/* What tells its job from others; "": there is one only. */
static const char *job_of(const struct report *r, const struct row *row)
{
	return report_job(r, row->thread) ?: "";
}

/* True where each is the only one of its process, and all are ranks of one job. */
static bool is_job(const struct report *r, const struct member *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t process = process_of(r, members[i].row);

		if (process >= r->d->nprocesses || r->d->processes[process].rank < 0)
			return false;
		if (r->d->run.only_sums && !r->d->processes[process].job)
			return false;
		if (i && process == process_of(r, members[i - 1].row))
			return false;
	}
	return true;
}

static int by_event_and_job(const struct report *r, const struct row *x, const struct row *y)
{
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return strcmp(job_of(r, x), job_of(r, y));
}

static int by_event_and_process(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	const struct row *x = ((const struct member *)a)->row, *y = ((const struct member *)b)->row;
	uint32_t left = process_of(r, x), right = process_of(r, y);
	int order = by_event_and_job(r, x, y);

	if (order)
		return order;
	if (left != right)
		return left < right ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

int report_find_slow_threads(struct report *r)
{
	struct member *members = calloc(r->nrows + 1, sizeof(*members));
	size_t count = 0;
	int error = 0;

	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < r->nrows; i++) {
		const struct row *row = &r->rows[i];

		if (is_meeting(r, row->event) && may_be_member(r, row))
			members[count++] = (struct member){ row, row->tally.time / row->tally.timed };
	}
	qsort_r(members, count, sizeof(*members), by_event_and_process, r);
	for (size_t start = 0, end; start < count && !error; start = end) {
		for (end = start + 1; end < count && !by_event_and_job(r, members[end].row, members[start].row); end++)
			;
		if (is_job(r, members + start, end - start))
			error = judge_team(r, members + start, end - start);
		else
			error = judge_processes(r, members + start, end - start);
	}
	free(members);
	return error;
}
