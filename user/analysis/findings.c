/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings.c - what stands out, in plain words.
 *
 * A finding is printed only when it is clear; a report without findings is a good report.
 *
 * Causes come first. Who is late in each call is said by delays.c; where that cannot be known, by slow_threads.c.
 *
 * Regions of several threads. A call that begins one contains the caller's share; the rest of it is waiting for the
 * others. The others wait at the end of a region and until the next one begins, where they are in no call.
 *
 * The hot event. Its share is of the time of all threads, and a mean hides that one of them spends most of its time
 * there and another none. Where that is so, both are named.
 */
#include "analysis/analysis.h"
#include "analysis/around.h"
#include "analysis/findings.h"
#include "analysis/gains.h"
#include "analysis/only_sums.h"
#include "analysis/printer.h"
#include "analysis/probe_cost.h"
#include "analysis/vain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/sleep_calls.h"
#include "util/format.h"
#include "util/json.h"
#include "util/log.h"

#define UNMODELLED "unmodelled" /* the kind of a finding about a runtime that nobody sees */
#define FINDINGS_SHOWN 10
#define HOT_SHARE 10    /* percent of the threads' time */
#define UNEVEN_APART 25 /* percent of a thread's time: as far must be from the least to the most ... */
#define UNEVEN_FACTOR 2 /* ... and so many times as much */
#define LEAK_WORTH 50   /* a leak stands where one in so many of the time observed would */
#define COMPARED 2      /* only threads that were observed for at least one in so many of the longest time */

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

/* The hottest place of an event, as text; "" where it is not one place that has at least half. */
static const char *hot_place(const struct report *r, uint32_t event, uint64_t total, char *buffer, size_t size)
{
	char label[LABEL_ROOM], around[3 * LABEL_ROOM];

	for (size_t i = 0; i < r->nsites; i++) {
		if (r->sites[i].event != event)
			continue;
		if (!total || r->sites[i].total < total / 2)
			break;
		snprintf(buffer, size, ", %s of it called from %s%s",
			 r->sites[i].total < total - total / 1000 ? "most" : "all",
			 site_label(r->d, r->sites[i].site, label, sizeof(label)),
			 around_text(r, event, r->sites[i].site, around, sizeof(around)));
		return buffer;
	}
	return "";
}

/* ns that the thread's calls of the event took. */
static uint64_t event_self(const struct report *r, const struct report_thread *thread, uint32_t event)
{
	for (size_t i = report_first_row(r, thread->thread); i < r->nrows && r->rows[i].thread == thread->thread; i++)
		if (r->rows[i].event == event)
			return r->rows[i].tally.likely_self;
	return 0;
}

/* The same in percent of its time. */
static double event_share(const struct report *r, const struct report_thread *thread, uint32_t event)
{
	double share = 100.0 * event_self(r, thread, event) / thread->wall;

	return share < 100 ? share : 100; /* some may be estimated */
}

static void set_uneven(struct finding *finding, const struct finding_share *most, const struct finding_share *least)
{
	finding->most = *most;
	finding->least = *least;
	finding->uneven = most->percent - least->percent >= UNEVEN_APART &&
			  most->percent >= UNEVEN_FACTOR * least->percent;
}

/* The same where there are several jobs: within the one in which it is most uneven. 0 or -ENOMEM. */
static int find_uneven_in_jobs(const struct report *r, struct finding *finding)
{
	struct uneven_shares shares;
	int error = report_uneven_in_jobs(r, finding->event, event_share, &shares);

	if (!error && shares.most.thread != NO_INDEX)
		set_uneven(finding, &shares.most, &shares.least);
	return error;
}

/* Does the thread spend all its time in this event, until others want something of it? */
static bool is_asleep(const struct report *r, const struct report_thread *thread, uint32_t event)
{
	uint64_t lived = r->d->threads[thread->thread].observed ?: thread->wall;

	return lived && call_sleeps(r->d, &r->d->probes[r->profile->events[event].probe]) &&
	       event_self(r, thread, event) / SLEEPER_PERCENT >= lived / 100;
}

/* ns in the event of those who do not. */
static uint64_t awake_self(const struct report *r, uint32_t event, uint64_t self)
{
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *thread = &r->threads[i];
		uint64_t own = is_asleep(r, thread, event) ? event_self(r, thread, event) : 0;

		self -= own < self ? own : self;
	}
	return self;
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

		if (!thread->wall || thread->wall < longest / COMPARED || is_asleep(r, thread, finding->event))
			continue;
		share.percent = event_share(r, thread, finding->event);
		if (most.thread == NO_INDEX || share.percent > most.percent)
			most = share;
		if (least.thread == NO_INDEX || share.percent < least.percent)
			least = share;
	}
	set_uneven(finding, &most, &least);
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

/* The runtime's own start and end. */
static bool is_once(enum role role)
{
	return role == ROLE_INIT || role == ROLE_EXIT;
}

/* How many threads of the process are told of. */
static size_t count_threads_of(const struct report *r, uint32_t process)
{
	size_t count = 0;

	for (size_t i = 0; i < r->nthreads; i++)
		count += r->d->threads[r->threads[i].thread].process == process;
	return count;
}

static bool waits_for_task(const struct report *r, uint32_t event)
{
	const struct def_probe *probe = &r->d->probes[r->profile->events[event].probe];

	return probe->role == ROLE_WAIT && probe_value(probe, MEANING_TASK) >= 0;
}

/* A wait for what the process's own threads do, mostly of processes of which more than one thread is seen: those tell
 * why it takes as long. */
static bool waits_for_seen(const struct report *r, uint32_t event)
{
	uint64_t all = 0, seen = 0;

	if (!waits_for_task(r, event))
		return false;
	for (size_t i = 0; i < r->nrows; i++) {
		const struct row *row = &r->rows[i];

		if (row->event != event)
			continue;
		all += row->tally.likely_self;
		if (count_threads_of(r, r->d->threads[row->thread].process) > 1)
			seen += row->tally.likely_self;
	}
	return seen > all / 2;
}

/* What the runtime itself takes: the event with the most self time, from a tenth of the threads' time on. Where a cause
 * is known that it is seen of, it is that one's symptom, and the next one is looked at. */
static int find_hot_event(struct report *r)
{
	char time[FORMAT_SIZE], calls[FORMAT_SIZE], label[LABEL_ROOM], place[1024], threads[2 * LABEL_ROOM + 100],
		vain[200];
	int error;

	for (size_t i = 0; i < r->nevents; i++) {
		const struct tally *tally = &r->events[i].tally;
		uint32_t event = r->events[i].event;
		uint64_t self = r->d->run.only_sums ? tally->likely_self : awake_self(r, event, tally->likely_self);
		double share = r->wall ? 100.0 * self / r->wall : 0;
		struct finding finding = { .kind = "hot_event", .event = event, .thread = NO_INDEX, .weight = self };

		if (group_of_role(r->profile->events[event].role) == GROUP_TASK)
			continue; /* the work itself */
		if (waits_for_seen(r, event))
			continue;
		if (r->d->run.only_sums && report_begins_regions(r, event))
			continue; /* it is in there, and nobody knows how much of it */
		if (share < HOT_SHARE && self < tally->likely_self)
			continue;
		if (share < HOT_SHARE)
			return 0;
		if (r->d->run.only_sums && find_uneven_in_jobs(r, &finding))
			return -ENOMEM;
		if (!r->d->run.only_sums)
			find_uneven(r, &finding);
		error = report_add_finding(
			r, &finding, "%s takes %s%.0f %% of the %s' time%s %s in %s %s%s%s",
			report_event_label(r, event, label, sizeof(label)), tally_missing(tally) ? "about " : "", share,
			r->d->run.only_sums ? "processes" : "threads", uneven(r, &finding, threads, sizeof(threads)),
			format_time(time, tally->likely_self), format_count(calls, tally->calls),
			tally->calls == 1 ? "call" : "calls",
			hot_place(r, event, tally->total - tally->untold, place, sizeof(place)),
			is_once(r->profile->events[event].role)
				? "; that is once a run, and a smaller part of a longer one"
			: waits_for_task(r, event) ? "; what it waits for makes no calls that were observed, so it is "
						     "in no table"
						   : vain_text(r, event, vain, sizeof(vain)));
		if (error || !findings_is_symptom(r, &r->findings[r->nfindings - 1]))
			return error;
		error = findings_fold(r);
		if (error)
			return error;
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

/* Tasks of regions run on any of their threads, and nobody sees when: then it is not known who waits. */
static bool makes_tasks(const struct report *r, uint32_t begins)
{
	uint32_t of = r->profile->events[begins].probe;

	for (size_t i = 0; i < r->nevents; i++) {
		uint32_t probe = r->profile->events[r->events[i].event].probe;

		if (probe < r->d->nprobes && r->d->probes[probe].role == ROLE_SUBMIT && r->events[i].tally.calls &&
		    probe_value(&r->d->probes[probe], MEANING_NAME) >= 0 &&
		    !strcmp(r->d->probes[probe].model, r->d->probes[of].model))
			return true;
	}
	return false;
}

/* What the threads of regions wait for each other, where a tenth of the threads' time and more is not told by others.
 */
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
	share = percent(finding.weight, r->wall);
	if (finding.event == NO_INDEX || share - percent(r->regions_told, r->wall) < HOT_SHARE ||
	    makes_tasks(r, finding.event))
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
		error = report_add_finding(
			r, &finding, "%s of %s calls of %s did not return: an exception or longjmp left them%s",
			format_count(unwound, tally->unwound), format_count(calls, tally->calls),
			report_event_label(r, finding.event, label, sizeof(label)),
			r->d->nwindows ? ", or they returned while the probes were out for a while" : "");
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

/* Where observing takes so much that all else may come from it, that comes first. Then causes, then what shows that
 * there is one (a wait that overlaps nothing may be for somebody who is late), then what is odd or not seen. */
static unsigned tier(const struct finding *finding)
{
	return !strcmp(finding->kind, UNMODELLED)     ? 4
	       : !strcmp(finding->kind, "unreturned") ? 3
	       : !strcmp(finding->kind, "probe_cost") ? (probe_cost_is_in_all(finding) ? 0 : 3)
	       : !strcmp(finding->kind, "no_overlap") ? 2
	       : !strcmp(finding->kind, "hot_event")  ? 2
						      : 1;
}

static uint64_t gives(const struct finding *finding)
{
	return finding->has_gain ? finding->gain : finding->bound;
}

/* By which they are ordered: ns of the run. A leak takes no time, until it ends the run. */
static uint64_t worth(const struct report *r, const struct finding *finding)
{
	if (!strcmp(finding->kind, "leak"))
		return (r->end - r->start) / LEAK_WORTH;
	return finding->has_gain ? finding->gain : finding->bound ?: finding->weight / (r->nthreads ?: 1);
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
	int error = r->causes_known ? 0 : report_find_slow_threads(r);

	if (!error)
		error = find_team_wait(r);
	if (r->nfindings)
		qsort_r(r->findings, r->nfindings, sizeof(*r->findings), by_worth, r);
	findings_sort_starved(r);
	if (!error)
		error = findings_fold(r);
	if (!error)
		error = findings_refer_starved(r);
	if (!error)
		error = find_hot_event(r);
	if (!error)
		error = find_unreturned(r);
	if (!error)
		report_find_together(r);
	return error ?: find_unmodelled(r);
}

static void print_findings(void *state, const struct printer *p)
{
	const struct report *r = p->r;
	bool interrupted = r->simulation_error == -ECANCELED;
	char text[TOGETHER_ROOM];

	bool any = r->profile->spans || (r->d->run.only_sums && r->calls);

	printer_heading(p, "");
	if (!any)
		fputs("No call was observed.\n", p->out);
	if (any && (!r->nfindings || !strcmp(r->findings[0].kind, UNMODELLED))) {
		snprintf(
			text, sizeof(text),
			"Nothing stands out%s: no event (tasks and waits for them aside) takes %d %% of the threads' time, and "
			"no thread was found that the others wait for.",
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
		findings_print_symptoms(p, i);
	}
	if (*report_together_text(r, text, sizeof(text)))
		printer_paragraph(p, "", text);
	if (r->simulation_error) {
		snprintf(text, sizeof(text),
			 "What some of these would give is not known: a simulation of the run without them %s%s%s.",
			 interrupted ? "was interrupted" : "failed (",
			 interrupted ? "" : strerror(-r->simulation_error), interrupted ? "" : ")");
		printer_paragraph(p, "", text);
	}
	if (r->note)
		printer_paragraph(p, "", r->note);
	if (r->recording && r->nfindings && strcmp(r->findings[0].kind, UNMODELLED))
		fputs("--explain 1: how regular the first is, how sure, and when it was worst.\n", p->out);
}

static void put_findings(void *state, const struct report *r, struct json *j)
{
	json_array(j);
	for (size_t i = 0; i < r->nfindings; i++)
		finding_put(j, r, &r->findings[i]);
	json_end_array(j);
}

static int tell_finding(const struct report *r, size_t index, const struct report_teller *to)
{
	const struct finding *f = &r->findings[index];
	bool placed = f->has_site && f->site < r->d->nsites;
	char *place = placed ? site_place(r->d, f->site) : NULL;
	const struct told_finding told = {
		.number = (unsigned)index + 1,
		.kind = f->kind,
		.text = f->text,
		.thread = f->thread,
		.place = place,
		.has_gain = f->has_gain,
		.gain = f->gain,
		.instances = f->instances,
		.ninstances = f->ninstances,
	};
	int error = placed && !place ? -ENOMEM : to->finding(to->context, &told);

	free(place);
	return error;
}

static int tell_findings(void *state, const struct report *r, const struct report_teller *to)
{
	int error = 0;

	for (size_t i = 0; to->finding && i < r->nfindings && !error; i++)
		error = tell_finding(r, i, to);
	return error;
}

/* What the best of them would give, at most, of the run; how much is lost, of all calls. */
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
		if (gives(&r->findings[i]) > gain)
			gain = gives(&r->findings[i]);
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
	.tell = tell_findings,
};
