/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings.c - what stands out, in plain words.
 *
 * A finding is printed only when it is clear; a report without findings is a good report.
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
 * Threads of one process that meet at different barrier objects are different teams.
 * The second half of a split barrier (role wait) counts only for a model that has a first half (role notify) and
 * members that called it about as often: other waits are for a message or a signal, not for a team.
 *
 * Regions of several threads. A call that begins one contains the caller's share; the rest of it is waiting for the
 * others. The others wait at the end of a region and until the next one begins, where they are in no call.
 *
 * The hot event. Its share is of the time of all threads, and a mean hides that one of them spends most of its time
 * there and another none. Where that is so, both are named.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "analysis/put.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/format.h"
#include "util/log.h"

#define UNMODELLED "unmodelled" /* the kind of a finding about a runtime that nobody sees */
#define FINDINGS_SHOWN 10
#define LEAST_CALLS 3
#define CLEAR_FACTOR 4
#define SECOND_FACTOR 2
#define CALLS_APART 10  /* one in so many */
#define WORTH_SHARE 100 /* one in so many of the time observed */
#define APART_FACTOR 3
#define APART_WORTH_SHARE 20
#define CHANCE 3
#define HOT_SHARE 10    /* percent of the threads' time */
#define UNEVEN_APART 25 /* percent of a thread's time: as far must be from the least to the most ... */
#define UNEVEN_FACTOR 2 /* ... and so many times as much */
#define COMPARED 2      /* only threads that were observed for at least one in so many of the longest time */

struct member {
	const struct row *row;
	uint64_t mean; /* ns a call */
};

int report_add_finding(struct report *r, const struct finding *finding, const char *format, ...)
{
	struct finding *larger = realloc(r->findings, (r->nfindings + 1) * sizeof(*larger));
	va_list arguments;
	int length;

	if (!larger)
		return -ENOMEM;
	r->findings = larger;
	larger += r->nfindings;
	*larger = *finding;
	va_start(arguments, format);
	length = vasprintf(&larger->text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return -ENOMEM;
	r->nfindings++;
	return 0;
}

static bool about_as_often(uint64_t a, uint64_t b)
{
	uint64_t less = a < b ? a : b, more = a < b ? b : a;

	return more - less <= more / CALLS_APART || more - less <= 1;
}

/* The first of the thread's rows, which stand together. */
static size_t first_row(const struct report *r, uint32_t thread)
{
	size_t low = 0, high = r->nrows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->rows[middle].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Calls of all notifying events of the same model on this thread. */
static uint64_t notify_calls(const struct report *r, uint32_t thread, const char *model)
{
	uint64_t calls = 0;

	for (size_t i = first_row(r, thread); i < r->nrows && r->rows[i].thread == thread; i++) {
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

	return report_add_finding(r, &finding,
				  "%s: the others wait for it in %s: it waits %s a call, "
				  "the other %zu wait %s (mean)",
				  thread_label(r->d, row->thread, label, sizeof(label)),
				  report_event_label(r, row->event, event, sizeof(event)),
				  format_time(it, team[0].mean), count - 1, format_time(they, others));
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

/* Looks at one team; `team` is sorted here. */
static int judge_team(struct report *r, struct member *team, size_t count)
{
	uint64_t sum = 0, others, least, worth, wall = r->end > r->start ? r->end - r->start : 0;
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

/* True where each is the only one of its process, and all are ranks. */
static bool is_job(const struct report *r, const struct member *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t process = process_of(r, members[i].row);

		if (process >= r->d->nprocesses || r->d->processes[process].rank < 0)
			return false;
		if (i && process == process_of(r, members[i - 1].row))
			return false;
	}
	return true;
}

static int by_event_and_process(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	const struct row *x = ((const struct member *)a)->row, *y = ((const struct member *)b)->row;
	uint32_t left = process_of(r, x), right = process_of(r, y);

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (left != right)
		return left < right ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int find_slow_threads(struct report *r)
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
		for (end = start + 1; end < count && members[end].row->event == members[start].row->event; end++)
			;
		if (is_job(r, members + start, end - start))
			error = judge_team(r, members + start, end - start);
		else
			error = judge_processes(r, members + start, end - start);
	}
	free(members);
	return error;
}

/* The hottest place of an event, as text; "" where it is not one place that has at least half. */
static const char *hot_place(const struct report *r, uint32_t event, uint64_t total, char *buffer, size_t size)
{
	char label[LABEL_ROOM];

	for (size_t i = 0; i < r->nsites; i++) {
		if (r->sites[i].event != event)
			continue;
		if (!total || r->sites[i].total < total / 2)
			break;
		snprintf(buffer, size, ", most of it called from %s",
			 site_label(r->d, r->sites[i].site, label, sizeof(label)));
		return buffer;
	}
	return "";
}

/* Percent of the thread's time that its calls of the event took. */
static double event_share(const struct report *r, const struct report_thread *thread, uint32_t event)
{
	double share = 0;

	for (size_t i = first_row(r, thread->thread); i < r->nrows && r->rows[i].thread == thread->thread; i++)
		if (r->rows[i].event == event)
			share = 100.0 * r->rows[i].tally.likely_self / thread->wall;
	return share < 100 ? share : 100; /* some may be estimated */
}

/* Does a mean say too little of the event? Of whom it is much, and of whom little. */
static void find_uneven(const struct report *r, struct finding *finding)
{
	struct finding_share most = { NO_INDEX, 0 }, least = { NO_INDEX, 0 };
	uint64_t longest = 0;

	for (size_t i = 0; i < r->nthreads; i++)
		longest = r->threads[i].wall > longest ? r->threads[i].wall : longest;
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *thread = &r->threads[i];
		struct finding_share share = { thread->thread, 0 };

		if (!thread->wall || thread->wall < longest / COMPARED)
			continue;
		share.percent = event_share(r, thread, finding->event);
		if (most.thread == NO_INDEX || share.percent > most.percent)
			most = share;
		if (least.thread == NO_INDEX || share.percent < least.percent)
			least = share;
	}
	finding->most = most;
	finding->least = least;
	finding->uneven = most.percent - least.percent >= UNEVEN_APART && most.percent >= UNEVEN_FACTOR * least.percent;
}

/* The same in words, up to what comes next. */
static const char *uneven(const struct report *r, const struct finding *finding, char *buffer, size_t size)
{
	char most[LABEL_ROOM], least[LABEL_ROOM];

	if (!finding->uneven)
		return ":";
	snprintf(buffer, size, ", unevenly: it is %.0f %% of the time of %s, %.0f %% of that of %s;",
		 finding->most.percent, thread_label(r->d, finding->most.thread, most, sizeof(most)),
		 finding->least.percent, thread_label(r->d, finding->least.thread, least, sizeof(least)));
	return buffer;
}

/* What the runtime itself takes: the event with the most self time, from a tenth of the threads' time on. */
static int find_hot_event(struct report *r)
{
	char time[FORMAT_SIZE], calls[FORMAT_SIZE], label[LABEL_ROOM], place[512], threads[2 * LABEL_ROOM + 100];

	for (size_t i = 0; i < r->nevents; i++) {
		const struct tally *tally = &r->events[i].tally;
		uint32_t event = r->events[i].event;
		double share = r->wall ? 100.0 * tally->likely_self / r->wall : 0;
		struct finding finding = {
			.kind = "hot_event", .event = event, .thread = NO_INDEX, .weight = tally->likely_self
		};

		if (group_of_role(r->profile->events[event].role) == GROUP_TASK)
			continue; /* the work itself */
		if (share < HOT_SHARE)
			return 0;
		find_uneven(r, &finding);
		return report_add_finding(
			r, &finding, "%s takes %s%.0f %% of the threads' time%s %s in %s %s%s",
			report_event_label(r, event, label, sizeof(label)), tally_missing(tally) ? "about " : "", share,
			uneven(r, &finding, threads, sizeof(threads)), format_time(time, tally->likely_self),
			format_count(calls, tally->calls), tally->calls == 1 ? "call" : "calls",
			hot_place(r, event, tally->total - tally->untold, place, sizeof(place)));
	}
	return 0;
}

/* Where the regions that took longest were begun. */
static const char *region_place(const struct report *r, char *buffer, size_t size)
{
	char label[LABEL_ROOM];

	*buffer = '\0';
	for (size_t i = 0; i < r->nsites; i++) {
		if (!report_begins_regions(r, r->sites[i].event))
			continue;
		snprintf(buffer, size, "; the regions that took longest were begun at %s",
			 site_label(r->d, r->sites[i].site, label, sizeof(label)));
		break;
	}
	return buffer;
}

/* What the threads of regions wait for each other, from a tenth of the threads' time on. */
static int find_team_wait(struct report *r)
{
	struct finding finding = { .kind = "team_wait", .event = NO_INDEX, .thread = NO_INDEX };
	char begins[FORMAT_SIZE], others[FORMAT_SIZE], label[LABEL_ROOM], place[512];
	uint64_t begin = 0, idle = 0;
	double share;

	for (size_t i = 0; i < r->nevents && finding.event == NO_INDEX; i++) /* by self */
		if (report_begins_regions(r, r->events[i].event))
			finding.event = r->events[i].event;
	for (size_t i = 0; i < r->profile->nregions; i++)
		begin += r->profile->regions[i].waited;
	for (size_t i = 0; i < r->nthreads; i++)
		idle += r->threads[i].idle;
	finding.weight = begin + idle;
	share = r->wall ? 100.0 * finding.weight / r->wall : 0;
	if (finding.event == NO_INDEX || share < HOT_SHARE)
		return 0;
	return report_add_finding(
		r, &finding,
		"%.0f %% of the threads' time is waiting in and between parallel regions: %s within %s, of those who "
		"begin the regions, and %s of the threads that join them: their shares are uneven, the program does "
		"much between them, or there are fewer processors than threads%s",
		share, format_time(begins, begin), report_event_label(r, finding.event, label, sizeof(label)),
		format_time(others, idle), region_place(r, place, sizeof(place)));
}

static int find_unreturned(struct report *r)
{
	char unwound[FORMAT_SIZE], calls[FORMAT_SIZE], label[LABEL_ROOM];

	for (size_t i = 0; i < r->nevents; i++) {
		const struct tally *tally = &r->events[i].tally;
		struct finding finding = {
			.kind = "unreturned",
			.event = r->events[i].event,
			.thread = NO_INDEX,
		};
		int error;

		if (!tally->unwound || group_of_role(r->profile->events[finding.event].role) == GROUP_TASK)
			continue;
		error = report_add_finding(r, &finding,
					   "%s of %s calls of %s did not return: an exception or longjmp left them",
					   format_count(unwound, tally->unwound), format_count(calls, tally->calls),
					   report_event_label(r, finding.event, label, sizeof(label)));
		if (error)
			return error;
	}
	return 0;
}

static bool is_first_of_runtime(const struct definitions *d, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (d->unseen[i].library && d->unseen[i].inside == d->unseen[index].inside &&
		    !strcmp(d->unseen[i].model, d->unseen[index].model))
			return false;
	return d->unseen[index].library;
}

static int add_unmodelled(struct report *r, const struct def_unseen *unseen)
{
	const struct finding finding = { .kind = UNMODELLED, .event = NO_INDEX, .thread = NO_INDEX };

	if (unseen->inside)
		return report_add_finding(
			r, &finding,
			"%s has %s linked into it, and %s: what happens there is not seen, but for calls of other runtimes",
			log_safe(unseen->event), log_safe(unseen->model), log_safe(unseen->why));
	return report_add_finding(
		r, &finding,
		"%s (%s) is in the program, and gaspbpf has no model for it: what happens there is not seen",
		log_safe(unseen->event), log_safe(unseen->model));
}

/* These come last: they are of what was not observed. */
static int find_unmodelled(struct report *r)
{
	int error = 0;

	for (size_t i = 0; !error && i < r->d->nunseen; i++)
		if (is_first_of_runtime(r->d, i))
			error = add_unmodelled(r, &r->d->unseen[i]);
	return error;
}

/* Causes come first, then what shows that there is one (a wait that overlaps nothing may be for somebody who is late),
 * then what is odd or not seen. */
static unsigned tier(const struct finding *finding)
{
	return !strcmp(finding->kind, UNMODELLED)     ? 3
	       : !strcmp(finding->kind, "unreturned") ? 2
	       : !strcmp(finding->kind, "no_overlap") ? 1
	       : !strcmp(finding->kind, "hot_event")  ? 1
						      : 0;
}

/* What it could give at most: ns of the run. */
static uint64_t worth(const struct report *r, const struct finding *finding)
{
	return finding->has_gain ? finding->gain : finding->weight / (r->nthreads ?: 1);
}

static int by_worth(const void *a, const void *b, void *context)
{
	const struct report *r = context;
	const struct finding *x = a, *y = b;
	uint64_t more = worth(r, x), less = worth(r, y);

	if (tier(x) != tier(y))
		return tier(x) < tier(y) ? -1 : 1;
	if (more != less)
		return more > less ? -1 : 1;
	return x->weight > y->weight ? -1 : x->weight < y->weight;
}

/* The other analyses have added theirs. */
static int find(void *state, struct report *r)
{
	int error = r->causes_known ? 0 : find_slow_threads(r);

	if (!error)
		error = find_team_wait(r);
	if (r->nfindings)
		qsort_r(r->findings, r->nfindings, sizeof(*r->findings), by_worth, r);
	if (!error)
		error = find_hot_event(r);
	if (!error)
		error = find_unreturned(r);
	return error ?: find_unmodelled(r);
}

static void print_findings(void *state, const struct printer *p)
{
	const struct report *r = p->r;
	char text[200];

	printer_heading(p, "");
	if (!r->profile->spans)
		fputs("No call was observed.\n", p->out);
	if (r->profile->spans && (!r->nfindings || !strcmp(r->findings[0].kind, UNMODELLED))) {
		snprintf(text, sizeof(text),
			 "Nothing stands out%s: no event (tasks aside) takes %d %% of the threads' time, and no thread "
			 "was found that the others wait for.",
			 r->nfindings ? " in what was observed" : "", HOT_SHARE);
		printer_paragraph(p, "", text);
	}
	for (size_t i = 0; i < r->nfindings; i++) {
		if (!strcmp(r->findings[i].kind, UNMODELLED))
			snprintf(text, sizeof(text), "-");
		else if (i < FINDINGS_SHOWN || p->whole)
			snprintf(text, sizeof(text), "%zu.", i + 1);
		else
			continue;
		printer_paragraph(p, text, r->findings[i].text);
	}
	if (r->note)
		printer_paragraph(p, "", r->note);
}

int findings_explain(const struct printer *p, unsigned number)
{
	const struct finding *f = number - 1 < p->r->nfindings ? &p->r->findings[number - 1] : NULL;
	char time[FORMAT_SIZE], lasted[FORMAT_SIZE], label[LABEL_ROOM], text[LABEL_ROOM + 2 * FORMAT_SIZE];

	if (!f)
		return -ENOENT;
	snprintf(text, sizeof(text), "%u.", number);
	printer_paragraph(p, text, f->text);
	if (f->ninstances)
		fputs("\nThe worst of it, by the time from the beginning of the observation, as a Chrome trace has it:\n",
		      p->out);
	for (size_t i = 0; i < f->ninstances; i++) {
		const struct finding_instance *instance = &f->instances[i];

		fprintf(p->out, "  %14s  %s waits %s\n", format_time(time, instance->start - p->r->start),
			thread_label(p->r->d, instance->thread, label, sizeof(label)),
			format_time(lasted, instance->end - instance->start));
	}
	if (f->section)
		fprintf(p->out, "\nMore: gaspbpf report --section %s REC.gasp\n", f->section);
	return 0;
}

static void put_share(struct json *j, const struct report *r, const char *key, const struct finding_share *share)
{
	json_key(j, key);
	json_object(j);
	put_thread_ids(j, r, share->thread);
	json_key(j, "percent");
	json_double(j, share->percent);
	json_end_object(j);
}

static void put_instances(struct json *j, const struct report *r, const struct finding *f)
{
	json_key(j, "instances");
	json_array(j);
	for (size_t i = 0; i < f->ninstances; i++) {
		json_object(j);
		put_thread_ids(j, r, f->instances[i].thread);
		json_key_uint(j, "start_ns", f->instances[i].start);
		json_key_uint(j, "end_ns", f->instances[i].end);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_findings(void *state, const struct report *r, struct json *j)
{
	json_array(j);
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct finding *f = &r->findings[i];

		json_object(j);
		json_key_string(j, "kind", f->kind);
		json_key_string(j, "event", f->event == NO_INDEX ? NULL : report_event_name(r, f->event));
		if (f->thread != NO_INDEX)
			put_thread_ids(j, r, f->thread);
		if (f->percent > 0) {
			json_key(j, "percent");
			json_double(j, f->percent);
		}
		if (f->uneven) {
			put_share(j, r, "most", &f->most);
			put_share(j, r, "least", &f->least);
		}
		json_key_uint_known(j, "gain_ns", f->gain, f->has_gain);
		json_key_uint_known(j, "weight_ns", f->weight, f->weight);
		json_key_string(j, "section", f->section);
		put_instances(j, r, f);
		json_key_string(j, "text", f->text);
		json_end_object(j);
	}
	json_end_array(j);
}

/* What the best of them would give, of the run; how much is lost, of all calls. */
static bool figure(void *state, const struct report *r, const char *name, double *value)
{
	uint64_t gain = 0;

	if (!strcmp(name, "lost")) {
		*value = percent(r->lost, r->calls);
		return true;
	}
	if (strcmp(name, "gain"))
		return false;
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->findings[i].has_gain && r->findings[i].gain > gain)
			gain = r->findings[i].gain;
	*value = percent(gain, r->end - r->start);
	return true;
}

const struct analysis analysis_findings = {
	.name = "findings",
	.title = "Findings",
	.ends_last = true,
	.end = find,
	.figure = figure,
	.print = print_findings,
	.json = put_findings,
};
