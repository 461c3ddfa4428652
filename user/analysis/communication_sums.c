/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication_sums.c - what is made of the communication when all of it is known, and what stands out.
 *
 * A finding is made only where it is clear, and worth it: the time that it is about is at least 1 % of that of all
 * threads; and only where nearly all calls are on the timeline, for what is between two calls must be known.
 *
 * Small messages: those of runs, and only the calls that did not wait, by their length: what one of 20 us and more
 * waits for would also be waited for in a large one. What fewer, larger ones would save is bounded from below by the
 * calls that would not be made, each as long as the shortest one from there: so it is what a call costs by itself,
 * without any waiting.
 *
 * No overlap: three of four waits, and of the time in them, at one line, with nothing done since what they wait for was
 * begun. More than the time in these waits cannot be hidden.
 *
 * The hot target: a rank that is named three times as often as the others are on average, by at least half of them, and
 * whose calls take longer for it: each twice as long as those that name others.
 */
#include "analysis/communication.h"
#include "analysis/gains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/job_ranks.h"
#include "util/array.h"
#include "util/format.h"

#define WORTH_SHARE 100  /* one in so many of the time observed */
#define MISSING_SHARE 20 /* one in so many of the calls: with more of them missing no habit is told */
#define LEAST_WAITS 8
#define IDLE_SHARE 75 /* percent of the waits of a place */
#define HOT_RANKS 4   /* so many and more have a target that others are not */
#define HOT_FACTOR 3
#define HOT_LEAST 100 /* operations */
#define SLOWER 2

char *communication_name(const struct communication *c, uint32_t process, uint32_t rank, char *text, size_t room)
{
	if (process < c->d->nprocesses)
		return process_label(c->d, process, text, room);
	snprintf(text, room, "rank %u", rank);
	return text;
}

/* --- sums ----------------------------------------------------------------- */

static int by_bytes(const void *left, const void *right, void *context)
{
	const struct communication *c = context;
	const struct comm_pair *a = &c->pairs[*(const uint32_t *)left], *b = &c->pairs[*(const uint32_t *)right];

	if (a->all.bytes != b->all.bytes)
		return a->all.bytes > b->all.bytes ? -1 : 1;
	if (a->all.operations != b->all.operations)
		return a->all.operations > b->all.operations ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void sum_pair(struct communication *c, struct comm_pair *pair, const struct job_ranks *ranks)
{
	const struct def_process *def = &c->d->processes[pair->process];
	struct comm_process *from = &c->processes[pair->process], *to;
	bool own = def->rank == (long)pair->rank;

	pair->target = job_ranks_process(ranks, pair->process, pair->rank);
	memset(&pair->all, 0, sizeof(pair->all));
	for (int i = 0; i < TRAFFICS; i++) {
		flow_add(&pair->all, &pair->flow[i]);
		if (i != TRAFFIC_SENT)
			flow_add(own ? &from->own : &from->others, &pair->flow[i]);
	}
	flow_add(&from->out, &pair->all);
	flow_add(&c->all, &pair->all);
	if (pair->target == NO_INDEX)
		return;
	to = &c->processes[pair->target];
	flow_add(&to->in, &pair->all);
	to->in_time += pair->time;
}

static int sum_pairs(struct communication *c)
{
	struct job_ranks *ranks = job_ranks_new(c->d);

	c->by_bytes = calloc(c->npairs + 1, sizeof(*c->by_bytes));
	if (!ranks || !c->by_bytes) {
		job_ranks_free(ranks);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->npairs; i++) {
		struct comm_pair *pair = &c->pairs[i];

		if (c->d->processes[pair->process].left_out)
			continue;
		sum_pair(c, pair, ranks);
		if (pair->all.operations)
			c->by_bytes[c->nby_bytes++] = (uint32_t)i;
	}
	qsort_r(c->by_bytes, c->nby_bytes, sizeof(*c->by_bytes), by_bytes, c);
	job_ranks_free(ranks);
	return 0;
}

static void sum_processes(struct communication *c, const struct report *r)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < c->d->nprocesses; i++) {
		const struct def_process *def = &c->d->processes[i];

		if (def->left_out)
			continue;
		flow_add(&c->collective, &c->processes[i].collective);
		seen += def->rank >= 0;
		if (def->ranks > 0 && def->ranks > c->ranks && def->ranks < NO_INDEX)
			c->ranks = (uint32_t)def->ranks;
	}
	if (seen > c->ranks)
		c->ranks = seen;
	for (size_t i = 0; i < r->nevents; i++) {
		enum role role = r->profile->events[r->events[i].event].role;

		if (probe_begins_described(&r->d->probes[r->profile->events[r->events[i].event].probe]))
			c->described += r->events[i].tally.calls;
		if (ROLE_BIT(role) & analysis_communication.roles && r->profile->events[r->events[i].event].moves)
			c->missing += tally_missing(&r->events[i].tally);
	}
}

/* --- habits: places of all processes that are one line -------------------- */

static int by_place(const void *left, const void *right)
{
	const struct comm_habit *a = left, *b = right;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return strcmp(a->place, b->place) ?: (a->process < b->process ? -1 : a->process > b->process);
}

static int by_quick_time(const void *left, const void *right)
{
	const struct comm_habit *a = left, *b = right;

	return a->quick != b->quick ? (a->quick > b->quick ? -1 : 1) : by_place(left, right);
}

static int by_idle_time(const void *left, const void *right)
{
	const struct comm_habit *a = left, *b = right;

	return a->idle_time != b->idle_time ? (a->idle_time > b->idle_time ? -1 : 1) : by_place(left, right);
}

static struct comm_habit habit_of(const struct communication *c, const struct comm_place *place, char *label)
{
	struct comm_habit habit = { .event = place->event,
				    .begun_event = place->begun_event,
				    .place = label,
				    .processes = 1,
				    .process = place->process,
				    .pair = place->pair,
				    .mutual = place->mutual,
				    .runs = place->runs,
				    .messages = place->messages,
				    .bytes = place->bytes,
				    .together = place->together,
				    .time = place->time,
				    .quick = place->quick,
				    .shortest = place->shortest,
				    .waits = place->waits,
				    .wait_time = place->wait_time,
				    .idle = place->idle,
				    .idle_time = place->idle_time };

	if (place->runs)
		habit.gain = (place->messages - place->together) * place->shortest;
	return habit;
}

static void join_habit(struct comm_habit *to, struct comm_habit *from)
{
	to->processes += to->process != from->process;
	to->process = from->process; /* they are sorted by it: so each is counted once */
	to->pair = to->pair == from->pair ? to->pair : NO_INDEX;
	to->runs += from->runs;
	to->messages += from->messages;
	to->bytes += from->bytes;
	to->together += from->together;
	to->time += from->time;
	to->quick += from->quick;
	to->gain += from->gain;
	if (from->shortest < to->shortest)
		to->shortest = from->shortest;
	to->waits += from->waits;
	to->wait_time += from->wait_time;
	to->idle += from->idle;
	to->idle_time += from->idle_time;
	if (to->begun_event == NO_INDEX)
		to->begun_event = from->begun_event;
	free(from->place);
	from->place = NULL;
}

/* What was called inside of other communication is none of the program's. */
static bool is_programs(const struct communication *c, const struct comm_place *place)
{
	return place->below <= place->calls / 2 && !c->d->processes[place->process].left_out;
}

static int gather(struct communication *c, bool small, struct comm_habit **habits, size_t *count)
{
	char label[LABEL_ROOM];
	size_t kept = 0;

	*habits = calloc(c->nplaces + 1, sizeof(**habits));
	if (!*habits)
		return -ENOMEM;
	for (size_t i = 0; i < c->nplaces; i++) {
		const struct comm_place *place = &c->places[i];
		char *copy;

		if (!(small ? place->runs : place->idle) || !is_programs(c, place))
			continue;
		copy = strdup(site_label(c->d, place->site, label, sizeof(label)));
		if (!copy)
			return -ENOMEM;
		(*habits)[(*count)++] = habit_of(c, place, copy);
	}
	qsort(*habits, *count, sizeof(**habits), by_place);
	for (size_t i = 0; i < *count; i++) {
		struct comm_habit *last = kept ? &(*habits)[kept - 1] : NULL;

		if (last && last->event == (*habits)[i].event && !strcmp(last->place, (*habits)[i].place))
			join_habit(last, &(*habits)[i]);
		else
			(*habits)[kept++] = (*habits)[i];
	}
	*count = kept;
	qsort(*habits, *count, sizeof(**habits), small ? by_quick_time : by_idle_time);
	return 0;
}

/* --- findings ------------------------------------------------------------- */

static bool is_worth_it(const struct report *r, uint64_t time)
{
	return time && time >= r->wall / WORTH_SHARE;
}

/* "rank 3 to rank 0", "rank 3 to several", "8 processes" */
static char *who(const struct communication *c, const struct comm_habit *habit, char *text, size_t room)
{
	char from[LABEL_ROOM], to[LABEL_ROOM] = "several others";

	if (habit->processes > 1) {
		snprintf(text, room, "%zu processes", habit->processes);
		return text;
	}
	if (habit->pair != NO_INDEX)
		communication_name(c, c->pairs[habit->pair].target, c->pairs[habit->pair].rank, to, sizeof(to));
	process_label(c->d, habit->process, from, sizeof(from));
	snprintf(text, room, habit->runs ? "%s to %s" : "%s", from, to);
	return text;
}

/* By which part the time of these calls is less if there are no more of them than would do. */
static double fewer(const struct comm_habit *habit)
{
	if (habit->mutual)
		return (double)(habit->messages - habit->together) / habit->messages;
	return habit->gain < habit->quick ? (double)habit->gain / habit->quick : 1;
}

/* What the run would be shorter by, if as many calls fewer were made there. */
static int find_gain(const struct communication *c, struct report *r, const struct comm_habit *habit,
		     struct finding *finding)
{
	bool *sites = calloc(c->d->nsites + 1, sizeof(*sites));
	struct relief relief = { .thread = NO_INDEX,
				 .what = RELIEVE_CALL,
				 .most = UINT64_MAX,
				 .less = fewer(habit),
				 .sites = sites,
				 .nsites = c->d->nsites };
	char label[LABEL_ROOM];

	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < c->nplaces; i++) {
		const struct comm_place *place = &c->places[i];

		if (place->runs && place->event == habit->event && place->site < c->d->nsites)
			sites[place->site] = !strcmp(site_label(c->d, place->site, label, sizeof(label)), habit->place);
	}
	report_find_gain(r, &relief, finding);
	free(sites);
	return 0;
}

/* Where it is: the place is what tells habits apart. */
static void find_site(const struct communication *c, const struct comm_habit *habit, struct finding *finding)
{
	char label[LABEL_ROOM];

	for (size_t i = 0; i < c->nplaces && !finding->has_site; i++) {
		const struct comm_place *place = &c->places[i];

		if (place->event != habit->event || place->site >= c->d->nsites ||
		    strcmp(site_label(c->d, place->site, label, sizeof(label)), habit->place))
			continue;
		finding->has_site = true;
		finding->site = place->site;
	}
}

static int find_small(const struct communication *c, struct report *r, const struct comm_habit *habit)
{
	bool collective = habit->mutual && r->profile->events[habit->event].role == ROLE_COLLECTIVE;
	uint64_t time = habit->mutual ? habit->time : habit->quick;
	struct finding finding = {
		.kind = "small_messages", .event = habit->event, .thread = NO_INDEX, .weight = time
	};
	char label[LABEL_ROOM], people[3 * LABEL_ROOM], size[FORMAT_SIZE], count[FORMAT_SIZE], in[FORMAT_SIZE],
		do_as_well[FORMAT_SIZE], least[FORMAT_SIZE], otherwise[100], gives[200];
	int error;

	if (!is_worth_it(r, habit->quick))
		return 0;
	error = find_gain(c, r, habit, &finding);
	if (error)
		return error;
	find_site(c, habit, &finding);
	snprintf(otherwise, sizeof(otherwise), "; that would save %s at least", format_time(least, habit->gain));
	gain_text(r, &finding, "were there no more than these", otherwise, gives, sizeof(gives));
	return report_add_finding(
		r, &finding,
		"%s: %s small %s, of %s on average, one after the other at %s (%s): %s in %s, where %s of up to 64 KiB "
		"would do%s",
		who(c, habit, people, sizeof(people)), format_count(count, habit->messages),
		collective      ? "collective operations"
		: habit->mutual ? "exchanges"
				: "messages",
		format_bytes(size, habit->bytes / habit->messages), habit->place,
		report_event_label(r, habit->event, label, sizeof(label)), format_time(in, time),
		habit->mutual ? "these calls" : "those of these calls that did not wait",
		format_count(do_as_well, habit->together), gives);
}

static int find_idle(const struct communication *c, struct report *r, const struct comm_habit *habit)
{
	struct finding finding = {
		.kind = "no_overlap", .event = habit->event, .thread = NO_INDEX, .weight = habit->idle_time
	};
	char label[LABEL_ROOM], begun[LABEL_ROOM], people[3 * LABEL_ROOM], count[FORMAT_SIZE], all[FORMAT_SIZE],
		time[FORMAT_SIZE];

	if (!is_worth_it(r, habit->idle_time) || habit->waits < LEAST_WAITS ||
	    habit->idle * 100 < habit->waits * IDLE_SHARE ||
	    (double)habit->idle_time * 100 < (double)habit->wait_time * IDLE_SHARE)
		return 0;
	find_site(c, habit, &finding);
	return report_add_finding(
		r, &finding,
		"%s of %s waits at %s (%s, %s) overlap nothing: they follow directly on the calls that began what they "
		"wait for (%s); at most the %s in them could be hidden behind work",
		format_count(count, habit->idle), format_count(all, habit->waits), habit->place,
		report_event_label(r, habit->event, label, sizeof(label)), who(c, habit, people, sizeof(people)),
		report_event_label(r, habit->begun_event, begun, sizeof(begun)), format_time(time, habit->idle_time));
}

/* Which rank is named most, and whether so much more often than the others that it stands out. */
static void find_hottest(struct communication *c)
{
	uint32_t hottest = NO_INDEX;
	uint64_t all = 0, most = 0;

	for (size_t i = 0; i < c->d->nprocesses; i++) {
		uint64_t operations = c->processes[i].in.operations - c->processes[i].own.operations;

		all += operations;
		if (operations > most) {
			most = operations;
			hottest = (uint32_t)i;
		}
	}
	if (c->ranks >= HOT_RANKS && most >= HOT_LEAST && (double)most * c->ranks >= (double)HOT_FACTOR * all) {
		c->hot = hottest;
		c->hot_operations = most;
	}
}

static int find_hot_target(const struct communication *c, struct report *r)
{
	struct finding finding = { .kind = "hot_target", .event = NO_INDEX, .thread = NO_INDEX };
	uint64_t time = 0, other_time = 0, others = 0, operations = 0;
	char name[LABEL_ROOM], each[FORMAT_SIZE], other[FORMAT_SIZE], all[FORMAT_SIZE];
	size_t callers = 0;

	for (size_t i = 0; i < c->nby_bytes; i++) {
		const struct comm_pair *pair = &c->pairs[c->by_bytes[i]];

		if (pair->target == pair->process)
			continue;
		if (pair->target == c->hot) {
			time += pair->time;
			operations += pair->all.operations;
			callers++;
		} else {
			other_time += pair->time;
			others += pair->all.operations;
		}
	}
	if (c->hot == NO_INDEX || !is_worth_it(r, time) || callers * 2 < c->ranks - 1 || !others ||
	    (double)time / operations < SLOWER * (double)other_time / others)
		return 0;
	finding.weight = time;
	return report_add_finding(
		r, &finding,
		"%s is the target of %.0f %% of all operations between ranks, by %zu of %u ranks: a call "
		"that names it takes %s on average, one that names another rank %s; %s in all",
		process_label(c->d, c->hot, name, sizeof(name)), 100.0 * operations / (operations + others), callers,
		c->ranks, format_time(each, time / operations), format_time(other, other_time / others),
		format_time(all, time));
}

static int add_findings(struct communication *c, struct report *r)
{
	int error = 0;

	if (c->missing && c->missing >= (c->all.operations + c->collective.operations) / MISSING_SHARE)
		return 0;
	for (size_t i = 0; i < c->nsmall && !error; i++)
		error = find_small(c, r, &c->small[i]);
	for (size_t i = 0; i < c->nidle && !error; i++)
		error = find_idle(c, r, &c->idle[i]);
	return error ?: find_hot_target(c, r);
}

int communication_sum_up(struct communication *c, struct report *r)
{
	int error = array_reach(&c->processes, &c->nprocesses, c->d->nprocesses, sizeof(*c->processes));

	if (!error)
		error = sum_pairs(c);
	if (!error)
		sum_processes(c, r);
	if (!error)
		error = gather(c, true, &c->small, &c->nsmall);
	if (!error)
		error = gather(c, false, &c->idle, &c->nidle);
	if (error)
		return error;
	find_hottest(c);
	return add_findings(c, r);
}
