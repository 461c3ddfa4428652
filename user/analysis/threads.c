/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - where the time of each thread went, and what the probes took of it.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "analysis/scheduling.h"

#define SURE_NS 100000000ULL /* the kernel counts its time by ticks: less says nothing */

static void print_scheduling(struct table *t, const struct def_thread *thread)
{
	if (scheduling_is_known(thread))
		table_cell(t, "%.1f%%", percent(scheduling_ran(thread), thread->observed));
	else
		table_cell(t, "-");
	if (scheduling_queue_is_known(thread))
		table_cell(t, "%.1f%%", percent(scheduling_queued(thread), thread->observed));
	else
		table_cell(t, "-");
}

/* Of no known time there is none. */
static void print_share(struct table *t, const struct report_thread *row, const char *about, uint64_t ns)
{
	if (row->wall)
		table_cell(t, "%s%.1f%%", about, percent(ns, row->wall));
	else
		table_cell(t, "-");
}

static void print_thread(const struct printer *p, struct table *t, const struct report_thread *row, const bool *used,
			 bool unseen, bool scheduled)
{
	struct who who = who_is_thread(p->r->d, row->thread);
	const char *about = row->lost || row->summed || row->skipped ? "~" : "";
	char label[LABEL_ROOM], text[FORMAT_SIZE];

	table_cell(t, "%s", label_without_tid(&who, label, sizeof(label)));
	table_cell(t, "%u", p->r->d->threads[row->thread].tid);
	table_cell(t, "%s", format_count(text, row->spans + row->lost + row->summed + row->skipped));
	if (row->wall)
		table_cell(t, "%s", printer_time(p, text, row->wall));
	else
		table_cell(t, "-");
	for (int i = 0; i < SHARES; i++)
		if (used[i])
			print_share(t, row, about, share_of(&report_shares[i], row->likely_group));
	print_share(t, row, about, row->likely_outside);
	if (unseen)
		print_share(t, row, about, row->likely_unseen);
	if (scheduled)
		print_scheduling(t, &p->r->d->threads[row->thread]);
	if (!p->r->d->run.only_sums)
		table_cell(t, "%.*f%%", percent(row->cost, row->wall) < 1 ? 2 : 1, percent(row->cost, row->wall));
}

/* The calibration beside what the job's threads themselves show: probes run in the kernel, so they cannot have taken
 * more than was spent there. */
static void print_cost(const struct printer *p)
{
	char probes[FORMAT_SIZE], all[FORMAT_SIZE], text[400];
	uint64_t cost = 0, system = 0, wall = 0;

	for (size_t i = 0; i < p->r->nthreads; i++) {
		if (!p->r->threads[i].system)
			continue;
		cost += p->r->threads[i].cost;
		system += p->r->threads[i].system;
		wall += p->r->threads[i].wall;
	}
	if (!system)
		return;
	snprintf(
		text, sizeof(text),
		"Probes took about %s of these threads' time, %.*f%% of it (estimated from the price of a call). These "
		"threads spent %s in the kernel in all (measured): %s.%s",
		format_time(probes, cost), percent(cost, wall) < 1 ? 2 : 1, percent(cost, wall),
		format_time(all, system),
		cost < system ? "the probes' time is a part of that, the rest is the job's own: system calls, page "
				"faults and the like"
			      : "that is the probes' time and the job's own system calls, page faults and the like",
		cost > system + system / 4 && cost > SURE_NS ? " So the cost is overstated." : "");
	printer_paragraph(p, "", text);
}

static void print_threads(void *state, const struct printer *p)
{
	static const struct column first[] = {
		{ .title = "Thread", .left = true, .shrinks = true },
		{ .title = "tid" },
		{ .title = "Calls", .drop = 1 },
		{ .title = "Wall" },
	};
	size_t shown = printer_rows(p, p->r->nthreads);
	bool used[SHARES] = { false }, moves = false, unseen = false, scheduled = false;
	struct table t = { 0 };
	char note[300];

	for (size_t i = 0; i < p->r->nthreads; i++) {
		scheduled |= scheduling_is_known(&p->r->d->threads[p->r->threads[i].thread]);
		moves |= p->r->threads[i].likely_group[GROUP_DATA] > 0;
		unseen |= percent(p->r->threads[i].likely_unseen, p->r->threads[i].wall) >= 0.05;
		for (int k = 0; k < SHARES; k++)
			used[k] |= share_of(&report_shares[k], p->r->threads[i].likely_group) > 0;
	}
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		table_column(&t, &first[i]);
	for (int i = 0; i < SHARES; i++) {
		if (used[i])
			table_column(&t, &(struct column){ .title = report_shares[i].name });
	}
	table_column(&t, &(struct column){ .title = "outside" });
	if (unseen)
		table_column(&t, &(struct column){ .title = "not seen" });
	if (scheduled) {
		table_column(&t, &(struct column){ .title = "CPU", .drop = 4 });
		table_column(&t, &(struct column){ .title = "queued", .drop = 3 });
	}
	if (!p->r->d->run.only_sums)
		table_column(&t, &(struct column){ .title = "cost", .drop = 2 });
	for (size_t i = 0; i < shown; i++)
		print_thread(p, &t, &p->r->threads[i], used, unseen, scheduled);
	snprintf(note, sizeof(note),
		 p->r->d->run.only_sums
			 ? "  (a row is a process, all its threads together; %% of its time; %soutside: in no probed "
			   "call%s)"
			 : "  (%% of wall, by outermost call; %soutside: in no probed call; %scost: of probes, "
			   "in these)",
		 moves ? "data: transfers, and what is waited in them; coll: collectives, likewise; " : "",
		 scheduled && !printer_is_narrow(p) ? "CPU, queued: since its first call, running and waiting to; "
						    : "");
	printer_heading(p, note);
	printer_table(p, &t);
	printer_rest(p, shown, p->r->nthreads, "threads");
	if (unseen)
		printer_paragraph(
			p, "",
			"not seen: a thread of a team waits where it is in no region, and works where it is in "
			"one. Of this time it was not seen which: the region had begun, or its function was "
			"not known yet, or the thread was not there.");
	print_cost(p);
}

/* All of it, however short the time: whoever reads it sees how short it is. */
static void put_scheduling(struct json *j, const struct def_thread *t)
{
	bool known = t->observed;

	json_key_uint_known(j, "observed_ns", t->observed, known);
	json_key_uint_known(j, "cpu_ns", t->run, known);
	json_key_uint_known(j, "run_queue_ns", t->queued, known && t->queue_known);
	json_key_uint_known(j, "involuntary_switches", t->preempted, known);
	json_key_uint_known(j, "allowed_cpus", t->cpus, t->cpus);
	json_key_uint_known(j, "last_cpu", t->cpu, t->cpus);
}

static void put_threads(void *state, const struct report *r, struct json *j)
{
	json_array(j);
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *t = &r->threads[i];
		const struct def_process *p = report_process(r, t->thread);

		json_object(j);
		put_thread_ids(j, r, t->thread);
		json_key_string(j, "name", r->d->threads[t->thread].name);
		json_key_uint_known(j, "rank", p ? p->rank : 0, p && p->rank >= 0);
		json_key_string(j, "unit", p && p->rank >= 0 ? p->unit : NULL);
		json_key_uint(j, "calls", t->spans + t->lost + t->summed + t->skipped);
		json_key_uint(j, "delivered", t->spans);
		json_key_uint(j, "lost", t->lost);
		json_key_uint(j, "summed", t->summed);
		json_key_uint(j, "skipped", t->skipped);
		json_key_uint(j, "wall_ns", t->wall);
		json_key_uint(j, "cost_ns", t->cost);
		json_key_uint_known(j, "kernel_ns", t->system, t->system);
		put_scheduling(j, &r->d->threads[t->thread]);
		json_key(j, "group_ns");
		json_object(j);
		for (int i = 0; i < SHARES; i++)
			json_key_uint(j, report_shares[i].name, share_of(&report_shares[i], t->group));
		json_key_uint(j, "outside", t->outside);
		json_key_uint(j, "not_seen", t->unseen);
		json_end_object(j);
		json_key(j, "estimated_group_ns");
		json_object(j);
		for (int i = 0; i < SHARES; i++)
			json_key_uint(j, report_shares[i].name, share_of(&report_shares[i], t->likely_group));
		json_key_uint(j, "outside", t->likely_outside);
		json_key_uint(j, "not_seen", t->likely_unseen);
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
}

const struct analysis analysis_threads = {
	.name = "threads",
	.title = "Threads",
	.of_calls = true,
	.print = print_threads,
	.json = put_threads,
};
