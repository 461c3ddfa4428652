/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_cost.c - the finding that observing itself takes much of the threads' time.
 *
 * That is a tenth of a thread's time; or a quarter of the time in which it ran, where that is known: who waits most of
 * its time for others or for a processor is slowed down by so much in all that it does, and others wait for it. Where
 * the kernel has counted clearly less than the estimate, that is worth nothing.
 */
#include "analysis/probe_cost.h"

#include <stdio.h>

#include "analysis/analysis.h"
#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "analysis/scheduling.h"
#include "util/format.h"

#define MUCH 10              /* percent of a thread's time */
#define MUCH_OF_RUN 25       /* percent of the time in which it ran, */
#define LEAST 3              /* if it is so many of all its time */
#define IN_ALL 40            /* percent of a thread's time: all findings may come from it */
#define SURE_NS 100000000ULL /* the kernel counts its time by ticks: less says nothing */

uint64_t probe_cost_of(const struct report_thread *t)
{
	return t->system >= SURE_NS && t->cost > t->system ? t->system : t->cost;
}

void probe_cost_add(struct probe_cost *cost, const struct report *r, const struct report_thread *t)
{
	const struct def_thread *thread = &r->d->threads[t->thread];
	uint64_t ran = scheduling_is_known(thread) ? scheduling_ran(thread) : 0;

	cost->ran = ran && (cost->ran || !cost->threads) ? cost->ran + ran : 0;
	cost->threads++;
	cost->estimated += t->cost;
	cost->cost += probe_cost_of(t);
	cost->wall += t->wall;
}

const char *probe_cost_of_run(const struct probe_cost *cost, const char *before, char *text, size_t room)
{
	*text = '\0';
	if (cost->ran && cost->cost)
		snprintf(text, room, "%s%.*f %% of the time in which %s ran", before,
			 percent(cost->cost, cost->ran) < 1    ? 2
			 : percent(cost->cost, cost->ran) < 10 ? 1
							       : 0,
			 cost->cost < cost->ran ? percent(cost->cost, cost->ran) : 100.0,
			 cost->threads == 1 ? "it" : "they");
	return text;
}

static bool takes_much(const struct report *r, const struct report_thread *t)
{
	struct probe_cost cost = { 0 };

	probe_cost_add(&cost, r, t);
	return t->cost >= SURE_NS && (!t->system || t->cost <= t->system + t->system / 4) &&
	       (percent(cost.cost, cost.wall) >= MUCH ||
		(percent(cost.cost, cost.ran) >= MUCH_OF_RUN && percent(cost.cost, cost.wall) >= LEAST));
}

int probe_cost_warning(const struct report *r, char *text, size_t room)
{
	char label[LABEL_ROOM], of_run[80];
	struct probe_cost cost = { 0 };
	struct people who = { 0 };
	int error = 0;

	*text = '\0';
	for (size_t i = 0; i < r->nthreads && !error; i++) {
		if (!takes_much(r, &r->threads[i]))
			continue;
		probe_cost_add(&cost, r, &r->threads[i]);
		error = people_add(&who, r->threads[i].thread);
	}
	if (cost.threads && !error)
		snprintf(
			text, room,
			"Beware: gaspbpf's own probes took %.0f %% of the time of %s%s; that is in these figures as if "
			"it were the job's (--section threads).",
			percent(cost.cost, cost.wall), people_label(r->d, &who, label, sizeof(label)),
			probe_cost_of_run(&cost, " and ", of_run, sizeof(of_run)));
	people_free(&who);
	return error;
}

bool probe_cost_is_in_all(const struct finding *finding)
{
	return finding->percent >= IN_ALL;
}

static uint64_t cost_of_event(const struct report *r, const struct report_event *event)
{
	return event->tally.calls * r->d->probes[r->profile->events[event->event].probe].cost_ns;
}

/* The event whose calls took most of it, but for this one; NULL: no price is known. */
static const struct report_event *dearest(const struct report *r, const struct report_event *but)
{
	const struct report_event *found = NULL;

	for (size_t i = 0; i < r->nevents; i++) {
		const struct report_event *event = &r->events[i];

		if (event != but && cost_of_event(r, event) > (found ? cost_of_event(r, found) : 0))
			found = event;
	}
	return found;
}

/* "14 calls of GASP_MPI_SEND" */
static size_t put_calls(const struct report *r, const struct report_event *event, char *text, size_t room)
{
	char calls[FORMAT_SIZE];

	return snprintf(text, room, "%s calls of %s", format_count(calls, event->tally.calls),
			r->d->probes[r->profile->events[event->event].probe].event);
}

/* ", most of it at 14 calls of GASP_MPI_SEND and 13 calls of GASP_MPI_RECV": the second where it took half as much. */
static const char *most_text(const struct report *r, char *text, size_t room)
{
	const struct report_event *first = dearest(r, NULL), *second = first ? dearest(r, first) : NULL;
	size_t at;

	*text = '\0';
	if (!first)
		return text;
	at = snprintf(text, room, ", most of it at ");
	at += put_calls(r, first, text + at, room - at);
	if (second && cost_of_event(r, second) >= cost_of_event(r, first) / 2 && at + 5 < room) {
		at += snprintf(text + at, room - at, " and ");
		put_calls(r, second, text + at, room - at);
	}
	return text;
}

static int tell(struct report *r, struct finding *finding, const struct probe_cost *all,
		const struct report_thread *worst)
{
	char label[LABEL_ROOM], people[LABEL_ROOM], time[FORMAT_SIZE], of_run[80], most[2 * LABEL_ROOM],
		worst_text[LABEL_ROOM + 50] = "";

	if (all->threads > 1)
		snprintf(worst_text, sizeof(worst_text), " in all; the most: %s, %.0f %%",
			 thread_label(r->d, worst->thread, label, sizeof(label)), finding->percent);
	return report_add_finding(
		r, finding,
		"gaspbpf's own probes take %.0f %% of the time of %s%s (%s %s%s)%s: so much slower does it run, and "
		"calls that are short look longer than they are%s%s",
		percent(all->cost, all->wall), people_label(r->d, finding->victims, people, sizeof(people)),
		probe_cost_of_run(all, " and ", of_run, sizeof(of_run)),
		all->cost < all->estimated ? "at most" : "about", format_time(time, all->cost), worst_text,
		most_text(r, most, sizeof(most)),
		probe_cost_is_in_all(finding) ? ", so what else is found may come from that" : "",
		r->d->run.budget ? "" : "; --max-overhead 2% keeps it below that");
}

int report_find_probe_cost(struct report *r, struct people *who)
{
	struct finding finding = {
		.kind = "probe_cost", .event = NO_INDEX, .thread = NO_INDEX, .victims = who, .section = "threads"
	};
	const struct report_thread *worst = NULL;
	struct probe_cost all = { 0 };
	int error = 0;

	for (size_t i = 0; i < r->nthreads && !error; i++) {
		const struct report_thread *t = &r->threads[i];

		if (!takes_much(r, t))
			continue;
		if (!worst || percent(probe_cost_of(t), t->wall) > percent(probe_cost_of(worst), worst->wall))
			worst = t;
		probe_cost_add(&all, r, t);
		error = people_add(who, t->thread);
	}
	if (!worst || error)
		return error;
	finding.weight = all.cost;
	finding.thread = worst->thread;
	finding.percent = percent(probe_cost_of(worst), worst->wall);
	return tell(r, &finding, &all, worst);
}
