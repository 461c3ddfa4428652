/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication_sums.c - what is made of the communication when all of it is known, and what stands out.
 *
 * A finding is made only where it is clear, and worth it: the time that it is about is at least 1 % of that of all
 * threads; and only where nearly all calls are on the timeline, for what is between two calls must be known.
 *
 * Small messages: those of runs, and only the calls that did not wait, by their length: what one of 20 us and more
 * waits for would also be waited for in a large one. That decides whether there are too many of them. What fewer,
 * larger ones would save is bounded from below by the calls that would not be made, each as long as the shortest one
 * from there: so it is what a call costs by itself, without any waiting.
 *
 * Where other calls belong to them (communication_runs.c), most of their time may be in these: who takes each message
 * from a neighbour that takes each from its own one waits in most of them, as long as a message takes to come. How much
 * of that is for the messages, and how much for somebody who is late since it works, no length of a call tells. The
 * simulation does: there who is waited for still works as long, and calls are as many fewer as messages. So they are
 * told where that makes the run 1 % shorter, and where at least half of the time in them is for the messages. Where
 * nothing is simulated, it is the calls that did not wait again.
 *
 * Of operations that bring something back nobody knows how many could go together. What all of them but the first one
 * would give is a bound from above: as simulated, or, if that is more, as if what is left to do were shared evenly, and
 * what the probes take at these calls were gone as well.
 *
 * No overlap: three of four waits, and of the time in them, at one line, with nothing done since what they wait for was
 * begun. More than the time in these waits cannot be hidden.
 *
 * The hot target: a rank that is named three times as often as the others are on average, by at least half of them, and
 * whose calls take longer for it: each twice as long as those that name others.
 */
#include "analysis/communication.h"
#include "analysis/gains.h"
#include "analysis/printer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/job_ranks.h"
#include "util/array.h"
#include "util/format.h"

#define WORTH_SHARE 100  /* one in so many of the time observed */
#define MISSING_SHARE 20 /* one in so many of the calls: with more of them missing no habit is told */
#define FOR_MESSAGES 2   /* one in so many ns of the calls that belong to small messages is for these */
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

	return a->quick + a->with_quick != b->quick + b->with_quick
		       ? (a->quick + a->with_quick > b->quick + b->with_quick ? -1 : 1)
		       : by_place(left, right);
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
				    .atomic = place->atomic,
				    .first = (uint32_t)(place - c->places),
				    .to = place->pair < c->npairs ? c->pairs[place->pair].rank : NO_INDEX,
				    .with_quick = place->with_quick,
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

static bool same_place(const struct communication *c, uint32_t a, uint32_t b)
{
	char one[LABEL_ROOM], other[LABEL_ROOM];

	return c->places[a].event == c->places[b].event &&
	       !strcmp(site_label(c->d, c->places[a].site, one, sizeof(one)),
		       site_label(c->d, c->places[b].site, other, sizeof(other)));
}

/* The calls of one place that belong to the habit's messages, to those that are known of it. 0 or -ENOMEM. */
static int join_with(const struct communication *c, struct comm_habit *to, const struct comm_with *with, size_t count)
{
	struct comm_with *larger = realloc(to->with, (to->nwith + count + 1) * sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	to->with = larger;
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < to->nwith && !same_place(c, to->with[at].place, with[i].place))
			at++;
		if (at == to->nwith)
			to->with[to->nwith++] = (struct comm_with){ .place = with[i].place };
		to->with[at].calls += with[i].calls;
		to->with[at].time += with[i].time;
		to->with_time += with[i].time;
	}
	return 0;
}

static int join_habit(const struct communication *c, struct comm_habit *to, struct comm_habit *from)
{
	int error = join_with(c, to, from->with, from->nwith);

	to->to = to->to == from->to ? to->to : NO_INDEX;
	to->with_quick += from->with_quick;
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
	free(from->with);
	from->place = NULL;
	from->with = NULL;
	return error;
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
	int error = 0;

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
		if (join_with(c, &(*habits)[*count - 1], place->with, small ? place->nwith : 0))
			return -ENOMEM;
	}
	qsort(*habits, *count, sizeof(**habits), by_place);
	for (size_t i = 0; i < *count; i++) {
		struct comm_habit *last = kept ? &(*habits)[kept - 1] : NULL;

		if (last && last->event == (*habits)[i].event && !strcmp(last->place, (*habits)[i].place))
			error = join_habit(c, last, &(*habits)[i]) ?: error;
		else
			(*habits)[kept++] = (*habits)[i];
	}
	*count = kept;
	qsort(*habits, *count, sizeof(**habits), small ? by_quick_time : by_idle_time);
	return error;
}

/* --- findings ------------------------------------------------------------- */

static bool is_worth_it(const struct report *r, uint64_t time)
{
	return time && time >= r->wall / WORTH_SHARE;
}

/* "rank 3 to rank 0", "rank 3 to several others", "8 processes", "8 processes to rank 0" */
static char *who(const struct communication *c, const struct comm_habit *habit, char *text, size_t room)
{
	char from[LABEL_ROOM], to[LABEL_ROOM] = "several others";

	if (habit->processes > 1) {
		snprintf(text, room,
			 habit->runs && habit->to != NO_INDEX ? "%zu processes to rank %u" : "%zu processes",
			 habit->processes, habit->to);
		return text;
	}
	if (habit->pair != NO_INDEX)
		communication_name(c, c->pairs[habit->pair].target, c->pairs[habit->pair].rank, to, sizeof(to));
	process_label(c->d, habit->process, from, sizeof(from));
	snprintf(text, room, habit->runs ? "%s to %s" : "%s", from, to);
	return text;
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

/* By which part the time of these calls is less if there are no more of them than would do. */
static double fewer(const struct comm_habit *habit)
{
	if (habit->mutual || habit->nwith || habit->atomic)
		return (double)(habit->messages - habit->together) / habit->messages;
	return habit->gain < habit->quick ? (double)habit->gain / habit->quick : 1;
}

static bool is_of_habit(const struct communication *c, const struct comm_habit *habit, uint32_t place)
{
	char label[LABEL_ROOM];

	if (c->places[place].runs && c->places[place].event == habit->event &&
	    !strcmp(site_label(c->d, c->places[place].site, label, sizeof(label)), habit->place))
		return true;
	for (size_t i = 0; i < habit->nwith; i++)
		if (same_place(c, place, habit->with[i].place))
			return true;
	return false;
}

/* What the probes took of the threads' time, for so many calls of the place. */
static uint64_t cost_at(const struct communication *c, const struct report *r, uint32_t place, uint64_t calls)
{
	uint32_t probe = r->profile->events[c->places[place].event].probe;

	return probe < r->profile->nprobes ? calls * r->profile->probes[probe].cost : 0;
}

/* The time of these calls, with what their probes took, by threads. Who takes work from a queue takes more of it where
 * it comes sooner: so all have the same to do without them. */
static uint64_t shared_evenly(const struct communication *c, const struct report *r, const struct comm_habit *habit)
{
	uint64_t time = habit->time + habit->with_time + cost_at(c, r, habit->first, habit->messages);

	for (size_t i = 0; i < habit->nwith; i++)
		time += cost_at(c, r, habit->with[i].place, habit->with[i].calls);
	time /= habit->processes;
	return time < r->end - r->start ? time : r->end - r->start;
}

/* What the run would be shorter by, if as many calls fewer were made there. */
static int find_gain(const struct communication *c, struct report *r, const struct comm_habit *habit,
		     struct finding *finding)
{
	bool *sites = calloc(c->d->nsites + 1, sizeof(*sites)), any = false;
	struct relief relief = { .thread = NO_INDEX,
				 .what = RELIEVE_CALL,
				 .most = UINT64_MAX,
				 .less = fewer(habit),
				 .sites = sites,
				 .nsites = c->d->nsites };

	if (!sites)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->nplaces; i++)
		if (c->places[i].site < c->d->nsites && is_of_habit(c, habit, i))
			any = sites[c->places[i].site] = true;
	if (!habit->atomic)
		report_find_gain(r, &relief, finding);
	else if (!any || !report_relieve(r, &relief, 1, &finding->bound))
		finding->bound = 0;
	else if (finding->bound < shared_evenly(c, r, habit))
		finding->bound = shared_evenly(c, r, habit);
	free(sites);
	return 0;
}

/* How long the waits and whatever else belongs to the messages are seen, of the time that all of it is about. */
static int find_seen(const struct communication *c, const struct report *r, struct comm_habit *habit,
		     struct finding *finding)
{
	uint64_t all = habit->time + habit->with_time;

	habit->seen = calloc(habit->nwith + 1, sizeof(*habit->seen));
	if (!habit->seen)
		return -ENOMEM;
	for (size_t i = 0; i < habit->nwith && all; i++)
		habit->seen[i] = (struct finding_seen){
			.probe = r->profile->events[c->places[habit->with[i].place].event].probe,
			.ns = (uint64_t)((double)habit->with[i].time * finding->weight / all),
		};
	finding->seen = habit->seen;
	finding->nseen = habit->nwith;
	return 0;
}

/* ", with the calls that belong to them (most of it is GASP_MPI_WAIT at ring.c:26)" */
static const char *with_text(const struct communication *c, const struct report *r, const struct comm_habit *habit,
			     char *text, size_t room)
{
	char label[LABEL_ROOM], where[LABEL_ROOM];
	const struct comm_place *place;
	size_t most = 0;

	*text = '\0';
	if (!habit->nwith)
		return text;
	for (size_t i = 1; i < habit->nwith; i++)
		most = habit->with[i].time > habit->with[most].time ? i : most;
	place = &c->places[habit->with[most].place];
	snprintf(text, room, ", with the calls that belong to them (%s%s at %s)", habit->nwith > 1 ? "mostly " : "",
		 report_event_label(r, place->event, label, sizeof(label)),
		 site_label(c->d, place->site, where, sizeof(where)));
	return text;
}

/* What it would give, and how that is known. */
static const char *small_gives(const struct report *r, const struct comm_habit *habit, const struct finding *finding,
			       char *text, size_t room)
{
	char least[FORMAT_SIZE], would_do[FORMAT_SIZE], run[OBSERVED_ROOM], otherwise[200] = "", gives[300];

	if (habit->atomic) {
		if (finding->bound)
			snprintf(otherwise, sizeof(otherwise),
				 ", %s would be at most %s (%.1f %%) shorter, with what the probes take there",
				 report_observed(r, run, sizeof(run)), format_time(least, finding->bound),
				 percent(finding->bound, r->end - r->start));
		snprintf(text, room,
			 ". Unless they ask until something changes (busy waiting): were there fewer, each for more at "
			 "once (aggregation)%s",
			 finding->bound ? otherwise : ", most of this time would be saved");
		return text;
	}
	if (!habit->nwith)
		snprintf(otherwise, sizeof(otherwise), "; that would save %s at least",
			 format_time(least, habit->gain));
	snprintf(text, room, ", where %s of up to 64 KiB would do%s", format_count(would_do, habit->together),
		 gain_text(r, finding, "were there no more than these", otherwise, gives, sizeof(gives)));
	return text;
}

/* What the run gains in calls that wait as long as a message takes to come is worth it, and is for the messages. */
static bool is_for_messages(const struct report *r, const struct comm_habit *habit, uint64_t gain)
{
	uint64_t each = (habit->time + habit->with_time) / habit->processes;

	return gain >= (r->end - r->start) / WORTH_SHARE && gain >= each / FOR_MESSAGES;
}

static uint64_t small_weight(const struct report *r, const struct comm_habit *habit, const struct finding *finding)
{
	uint64_t all = habit->time + habit->with_time, gives = finding->has_gain ? finding->gain : finding->bound;

	if (habit->mutual)
		return habit->time;
	if (!habit->nwith && !habit->atomic)
		return habit->quick;
	if (!gives)
		return habit->atomic ? all : habit->quick + habit->with_quick;
	return all / (r->nthreads ?: 1) < gives ? all : gives * r->nthreads;
}

static const char *small_what(const struct report *r, const struct comm_habit *habit)
{
	return habit->atomic                                              ? "atomic operations"
	       : !habit->mutual                                           ? "messages"
	       : r->profile->events[habit->event].role == ROLE_COLLECTIVE ? "collective operations"
									  : "exchanges";
}

static int find_small(const struct communication *c, struct report *r, struct comm_habit *habit)
{
	struct finding finding = { .kind = "small_messages", .event = habit->event, .thread = NO_INDEX };
	char label[LABEL_ROOM], people[3 * LABEL_ROOM], size[FORMAT_SIZE], count[FORMAT_SIZE], in[FORMAT_SIZE],
		gives[500], with[3 * LABEL_ROOM];
	bool all = habit->mutual || habit->nwith || habit->atomic, simulates = habit->nwith && !habit->atomic;
	uint64_t quick = habit->quick + habit->with_quick;
	int error;

	if (!is_worth_it(r, simulates ? habit->time + habit->with_time : quick))
		return 0;
	error = find_gain(c, r, habit, &finding);
	if (error ||
	    (simulates && finding.has_gain ? !is_for_messages(r, habit, finding.gain) : !is_worth_it(r, quick)))
		return error;
	finding.weight = small_weight(r, habit, &finding);
	error = find_seen(c, r, habit, &finding);
	if (error)
		return error;
	find_site(c, habit, &finding);
	return report_add_finding(
		r, &finding, "%s: %s small %s, of %s on average, one after the other at %s (%s)%s: %s in %s%s",
		who(c, habit, people, sizeof(people)), format_count(count, habit->messages), small_what(r, habit),
		format_bytes(size, habit->bytes / habit->messages), habit->place,
		report_event_label(r, habit->event, label, sizeof(label)), with_text(c, r, habit, with, sizeof(with)),
		format_time(in, all ? habit->time + habit->with_time : habit->quick),
		habit->nwith ? "all these calls"
		: all        ? "these calls"
			     : "those of these calls that did not wait",
		small_gives(r, habit, &finding, gives, sizeof(gives)));
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
