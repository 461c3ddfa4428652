/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_cost.c - the finding that observing itself takes much of the threads' time.
 *
 * What probes took of a thread is estimated: its calls, each by the price that was measured before (calibration). The
 * kernel has counted the thread's time in it, where the probes' is a part; where that is clearly less, the estimate is
 * worth nothing.
 */
#include <stdio.h>

#include "analysis/analysis.h"
#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "util/format.h"

#define MUCH 10              /* percent of a thread's time */
#define SURE_NS 100000000ULL /* the kernel counts its time by ticks: less says nothing */

static bool takes_much(const struct report_thread *t)
{
	return t->cost >= SURE_NS && percent(t->cost, t->wall) >= MUCH &&
	       (!t->system || t->cost <= t->system + t->system / 4);
}

/* The event whose calls took most of it; NULL: no price is known. */
static const struct report_event *dearest(const struct report *r)
{
	const struct report_event *found = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < r->nevents; i++) {
		const struct event_state *event = &r->profile->events[r->events[i].event];
		uint64_t took = r->events[i].tally.calls * r->d->probes[event->probe].cost_ns;

		if (took <= most)
			continue;
		most = took;
		found = &r->events[i];
	}
	return found;
}

static int tell(struct report *r, struct finding *finding, uint64_t wall, const struct report_thread *worst)
{
	const struct report_event *event = dearest(r);
	char label[LABEL_ROOM], people[LABEL_ROOM], time[FORMAT_SIZE], calls[FORMAT_SIZE],
		most[2 * LABEL_ROOM] = "", worst_text[LABEL_ROOM + 50] = "";

	if (event)
		snprintf(most, sizeof(most), ", most of it at %s calls of %s", format_count(calls, event->tally.calls),
			 r->d->probes[r->profile->events[event->event].probe].event);
	if (finding->weight > worst->cost)
		snprintf(worst_text, sizeof(worst_text), " in all; the most: %s, %.0f %%",
			 thread_label(r->d, worst->thread, label, sizeof(label)), finding->percent);
	return report_add_finding(
		r, finding,
		"gaspbpf's own probes take %.0f %% of the time of %s (about %s%s)%s: so much slower does it run, and "
		"calls that are short look longer than they are%s",
		percent(finding->weight, wall), people_label(r->d, finding->victims, people, sizeof(people)),
		format_time(time, finding->weight), worst_text, most,
		r->d->run.budget ? "" : "; --max-overhead 2% keeps it below that");
}

int report_find_probe_cost(struct report *r, struct people *who)
{
	struct finding finding = {
		.kind = "probe_cost", .event = NO_INDEX, .thread = NO_INDEX, .victims = who, .section = "threads"
	};
	const struct report_thread *worst = NULL;
	uint64_t wall = 0;
	int error = 0;

	for (size_t i = 0; i < r->nthreads && !error; i++) {
		const struct report_thread *t = &r->threads[i];

		if (!takes_much(t))
			continue;
		if (!worst || percent(t->cost, t->wall) > percent(worst->cost, worst->wall))
			worst = t;
		finding.weight += t->cost;
		wall += t->wall;
		error = people_add(who, t->thread);
	}
	if (!worst || error)
		return error;
	finding.thread = worst->thread;
	finding.percent = percent(worst->cost, worst->wall);
	return tell(r, &finding, wall, worst);
}
