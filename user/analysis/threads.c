/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - where the time of each thread went, and what the probes took of it.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "analysis/scheduling.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/people.h"
#include "analysis/probe_cost.h"
#include "util/log.h"
#include "util/text.h"

#define EACH_MOST 16   /* threads; of more, those that differ only by their process are one row */
#define SPREAD_LEAST 5 /* percent of a thread's time: less is alike */

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

/* Which columns there are. */
struct shown {
	bool used[SHARES], unseen, scheduled, only_sums;
};

/* Behind the columns that say who it is. scheduled: what the kernel tells of it. cost: ns, of the probes. */
static void print_shares(const struct printer *p, struct table *t, const struct report_thread *row,
			 const struct def_thread *scheduled, uint64_t cost, const struct shown *shown)
{
	const char *about = row->lost || row->summed || row->skipped ? "~" : "";
	char text[FORMAT_SIZE];

	table_cell(t, "%s", format_count(text, row->spans + row->lost + row->summed + row->skipped));
	if (row->wall)
		table_cell(t, "%s", printer_time(p, text, row->wall));
	else
		table_cell(t, "-");
	for (int i = 0; i < SHARES; i++)
		if (shown->used[i])
			print_share(t, row, about, share_of(&report_shares[i], row->likely_group));
	print_share(t, row, about, row->likely_outside);
	if (shown->unseen)
		print_share(t, row, about, row->likely_unseen);
	if (shown->scheduled)
		print_scheduling(t, scheduled);
	if (!p->r->d->run.only_sums)
		table_cell(t, "%.*f%%", percent(cost, row->wall) < 1 ? 2 : 1, percent(cost, row->wall));
}

static void print_thread(const struct printer *p, struct table *t, const struct report_thread *row,
			 const struct shown *shown)
{
	struct who who = who_is_thread(p->r->d, row->thread);
	char label[LABEL_ROOM];

	table_cell(t, "%s", label_without_tid(&who, label, sizeof(label)));
	table_cell(t, "%u", p->r->d->threads[row->thread].tid);
	print_shares(p, t, row, &p->r->d->threads[row->thread], probe_cost_of(row), shown);
}

/* --- many threads: those that differ only by their process are one row ----------------- */

#define KINDS (SHARES + 1) /* the last: outside */

struct fold {
	const char *name; /* the threads'; NULL: not known */
	bool main;        /* they are their processes' first ones */
	size_t count;
	struct people who;
	struct report_thread sum;
	struct def_thread scheduled; /* likewise */
	struct extreme {
		double percent;
		uint32_t thread;
	} least[KINDS], most[KINDS];
};

static double share_of_thread(const struct report_thread *row, int kind)
{
	return percent(kind < SHARES ? share_of(&report_shares[kind], row->likely_group) : row->likely_outside,
		       row->wall);
}

static void note_extremes(struct fold *fold, const struct report_thread *row)
{
	for (int kind = 0; kind < KINDS; kind++) {
		struct extreme is = { share_of_thread(row, kind), row->thread };

		if (!fold->count || is.percent < fold->least[kind].percent)
			fold->least[kind] = is;
		if (!fold->count || is.percent > fold->most[kind].percent)
			fold->most[kind] = is;
	}
}

static void add_thread(struct fold *fold, const struct report_thread *row, const struct def_thread *def)
{
	struct report_thread *sum = &fold->sum;

	note_extremes(fold, row);
	fold->count++;
	sum->spans += row->spans;
	sum->lost += row->lost;
	sum->summed += row->summed;
	sum->skipped += row->skipped;
	sum->wall += row->wall;
	sum->cost += probe_cost_of(row);
	sum->likely_outside += row->likely_outside;
	sum->likely_unseen += row->likely_unseen;
	add_groups(sum->likely_group, row->likely_group);
	if (!scheduling_queue_is_known(def))
		return;
	fold->scheduled.queue_known = true;
	fold->scheduled.observed += def->observed;
	fold->scheduled.run += scheduling_ran(def);
	fold->scheduled.queued += scheduling_queued(def);
}

static bool is_main(const struct report *r, uint32_t thread)
{
	const struct def_process *process = report_process(r, thread);

	return process && process->pid == r->d->threads[thread].tid;
}

/* The fold that the thread belongs to; a new one is the last. */
static struct fold *fold_of(struct fold *folds, size_t *count, const struct report *r, uint32_t thread)
{
	const char *name = r->d->threads[thread].name;
	bool main = is_main(r, thread);
	size_t i = 0;

	while (i < *count && (folds[i].main != main || !same_text(folds[i].name, name)))
		i++;
	if (i == *count)
		folds[(*count)++] = (struct fold){ .name = name, .main = main };
	return &folds[i];
}

/* NULL: out of memory. */
static struct fold *fold_threads(const struct report *r, size_t *count)
{
	struct fold *folds = calloc(r->nthreads + 1, sizeof(*folds));
	bool failed = !folds;

	*count = 0;
	for (size_t i = 0; i < r->nthreads && !failed; i++) {
		struct fold *fold = fold_of(folds, count, r, r->threads[i].thread);

		add_thread(fold, &r->threads[i], &r->d->threads[r->threads[i].thread]);
		failed = people_add(&fold->who, r->threads[i].thread);
	}
	if (!failed)
		return folds;
	for (size_t i = 0; i < *count; i++)
		people_free(&folds[i].who);
	free(folds);
	return NULL;
}

/* "ranks 0-63"; the name of threads that are beside their processes' first ones. */
static const char *fold_label(const struct printer *p, const struct fold *fold, char *text, size_t room)
{
	if (fold->main || !fold->name)
		return people_label(p->r->d, &fold->who, text, room);
	snprintf(text, room, "%s", log_safe(fold->name));
	return text;
}

static void print_fold(const struct printer *p, struct table *t, const struct fold *fold, const struct shown *shown)
{
	char label[LABEL_ROOM];

	table_cell(t, "%s", fold_label(p, fold, label, sizeof(label)));
	table_cell(t, "%zu", fold->count);
	print_shares(p, t, &fold->sum, &fold->scheduled, fold->sum.cost, shown);
}

/* "ranks 0-63: wait from 2.1% (rank 5) to 88.0% (rank 2); outside from ..." */
static void print_spread(const struct printer *p, const struct fold *fold, const struct shown *shown)
{
	char label[LABEL_ROOM], least[LABEL_ROOM], most[LABEL_ROOM], text[KINDS * (2 * LABEL_ROOM + 100) + LABEL_ROOM];
	size_t length = 0;

	for (int kind = 0; kind < KINDS; kind++) {
		const struct extreme *low = &fold->least[kind], *high = &fold->most[kind];

		if ((kind < SHARES && !shown->used[kind]) || high->percent - low->percent < SPREAD_LEAST)
			continue;
		length += snprintf(text + length, sizeof(text) - length, "%s %s from %.1f%% (%s) to %.1f%% (%s)",
				   length ? ";" : "", kind < SHARES ? report_shares[kind].name : "outside",
				   low->percent, thread_label(p->r->d, low->thread, least, sizeof(least)),
				   high->percent, thread_label(p->r->d, high->thread, most, sizeof(most)));
	}
	struct paragraph paragraph = printer_item(p, "-");

	paragraph_words(&paragraph, "%s:%s", fold_label(p, fold, label, sizeof(label)),
			length ? text : " all much alike");
	paragraph_end(&paragraph);
}

/* The calibration beside what the job's threads themselves show: probes run in the kernel, so they cannot have taken
 * more than was spent there. */
static void print_cost(const struct printer *p)
{
	char probes[FORMAT_SIZE], all[FORMAT_SIZE], text[600], of_run[80];
	struct probe_cost cost = { 0 };
	uint64_t system = 0;
	int at;

	for (size_t i = 0; i < p->r->nthreads; i++) {
		if (!p->r->threads[i].system)
			continue;
		probe_cost_add(&cost, p->r, &p->r->threads[i]);
		system += p->r->threads[i].system;
	}
	if (!system)
		return;
	at = snprintf(text, sizeof(text), "Probes took %s %s of these threads' time, %.*f%% of it%s",
		      cost.cost < cost.estimated ? "at most" : "about", format_time(probes, cost.cost),
		      percent(cost.cost, cost.wall) < 1 ? 2 : 1, percent(cost.cost, cost.wall),
		      probe_cost_of_run(&cost, " and ", of_run, sizeof(of_run)));
	format_time(all, system);
	if (cost.cost < cost.estimated && cost.estimated > system)
		snprintf(
			text + at, sizeof(text) - at,
			". By the price of a call it would be %s: that estimate is too high, as these threads spent "
			"%s in the kernel in all (measured), with the job's own system calls, page faults and the like.",
			format_time(probes, cost.estimated), all);
	else if (cost.cost < cost.estimated)
		snprintf(text + at, sizeof(text) - at,
			 ". By the price of a call it would be %s: that estimate is too high, as some of these threads "
			 "spent less than that says in the kernel (measured), with their own system calls, page faults "
			 "and the like.",
			 format_time(probes, cost.estimated));
	else if (cost.cost <= system)
		snprintf(text + at, sizeof(text) - at,
			 " (estimated from the price of a call). These threads spent %s in the kernel in all "
			 "(measured): the probes' time is a part of that, the rest is the job's own: system calls, "
			 "page faults and the like.",
			 all);
	else
		snprintf(text + at, sizeof(text) - at,
			 " (estimated from the price of a call). The kernel has measured only %s in which these "
			 "threads were in it; but it looks at each clock tick, so that such short times say little.",
			 all);
	printer_paragraph(p, "", text);
}

static void print_queued(const struct printer *p)
{
	char text[2 * LABEL_ROOM + 300];
	int error = scheduling_note(p->r, text, sizeof(text));

	*p->error = *p->error ?: error;
	if (*text)
		printer_paragraph(p, "", text);
}

static struct shown what_is_shown(const struct report *r)
{
	struct shown shown = { .only_sums = r->d->run.only_sums };

	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *row = &r->threads[i];

		shown.scheduled |= scheduling_is_known(&r->d->threads[row->thread]);
		shown.unseen |= percent(row->likely_unseen, row->wall) >= 0.05;
		for (int k = 0; k < SHARES; k++)
			shown.used[k] |= share_of(&report_shares[k], row->likely_group) > 0;
	}
	return shown;
}

static const char *share_legend(unsigned groups)
{
	return groups & 1u << GROUP_DATA         ? "data: transfers, and what is waited in them"
	       : groups & 1u << GROUP_COLLECTIVE ? "coll: collectives, likewise"
						 : NULL;
}

static void add_columns(struct table *t, const struct shown *shown, bool folded)
{
	table_column(t, &(struct column){ .title = folded ? "Threads" : "Thread", .left = true, .shrinks = true });
	table_column(t, &(struct column){ .title = folded ? "Count" : "tid" });
	table_column(t, &(struct column){ .title = "Calls", .drop = 1 });
	table_column(t, &(struct column){ .title = "Wall" });
	for (int i = 0; i < SHARES; i++) {
		if (shown->used[i])
			table_column(t, &(struct column){ .title = report_shares[i].name,
							  .legend = share_legend(report_shares[i].groups) });
	}
	table_column(t, &(struct column){ .title = "outside", .legend = "outside: in no probed call" });
	if (shown->unseen)
		table_column(t, &(struct column){ .title = "not seen" });
	if (shown->scheduled) {
		table_column(t, &(struct column){
					.title = "CPU", .drop = 4, .legend = "CPU: it ran, since its first call" });
		table_column(t,
			     &(struct column){ .title = "queued",
					       .drop = 3,
					       .legend = "queued: it could run and had no CPU, since its first call" });
	}
	if (!shown->only_sums)
		table_column(t,
			     &(struct column){ .title = "cost", .drop = 2, .legend = "cost: of probes, in all these" });
}

static void print_titled(const struct printer *p, const struct shown *shown, struct table *t)
{
	printer_titled_table(p,
			     shown->only_sums ? "a row is a process, all its threads together; %: of its Wall"
					      : "%: of the thread's Wall, by outermost call",
			     t);
}

static void print_folded(const struct printer *p, const struct shown *shown, const struct fold *folds, size_t count)
{
	size_t rows = printer_rows(p, count);
	struct table t = { 0 };

	add_columns(&t, shown, true);
	for (size_t i = 0; i < rows; i++)
		print_fold(p, &t, &folds[i], shown);
	print_titled(p, shown, &t);
	printer_rest(p, rows, count, "kinds of threads");
	for (size_t i = 0; i < rows; i++)
		if (folds[i].count > 1)
			print_spread(p, &folds[i], shown);
	fputs("--section threads has each of them.\n", p->out);
}

static void print_each(const struct printer *p, const struct shown *shown)
{
	size_t rows = printer_rows(p, p->r->nthreads);
	struct table t = { 0 };

	add_columns(&t, shown, false);
	for (size_t i = 0; i < rows; i++)
		print_thread(p, &t, &p->r->threads[i], shown);
	print_titled(p, shown, &t);
	printer_rest(p, rows, p->r->nthreads, "threads");
}

static void print_threads(void *state, const struct printer *p)
{
	struct shown shown = what_is_shown(p->r);
	struct fold *folds = NULL;
	size_t count = 0;

	if (!p->whole && p->r->nthreads > EACH_MOST) {
		folds = fold_threads(p->r, &count);
		if (!folds)
			*p->error = *p->error ?: -ENOMEM;
	}
	if (folds && count <= p->r->nthreads / 2)
		print_folded(p, &shown, folds, count);
	else
		print_each(p, &shown);
	for (size_t i = 0; i < count && folds; i++)
		people_free(&folds[i].who);
	free(folds);
	if (shown.unseen)
		printer_paragraph(
			p, "",
			"not seen: a thread of a team waits where it is in no region, and works where it is in "
			"one. Of this time it was not seen which: the region had begun, or its function was "
			"not known yet, or the thread was not there.");
	print_queued(p);
	print_cost(p);
}

/* All of it, however short the time: whoever reads it sees how short it is. */
static void put_scheduling(struct json *j, const struct report *r, uint32_t thread)
{
	const struct def_thread *t = &r->d->threads[thread];
	bool known = t->observed;

	json_key_uint_known(j, "observed_ns", t->observed, known);
	json_key_uint_known(j, "cpu_ns", t->run, known);
	json_key_uint_known(j, "run_queue_ns", t->queued, known && t->queue_known);
	json_key_uint_known(j, "run_queue_lost_ns", scheduling_lost(r, thread),
			    known && t->queue_known && r->queue_lost);
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
		put_scheduling(j, r, t->thread);
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

/* Those whose time the probes take much of. */
static int begin(void **state, const struct definitions *d)
{
	*state = calloc(1, sizeof(struct people));
	return *state ? 0 : -ENOMEM;
}

static int end(void *state, struct report *r)
{
	return report_find_probe_cost(r, state);
}

static void forget(void *state)
{
	if (state)
		people_free(state);
	free(state);
}

const struct analysis analysis_threads = {
	.name = "threads",
	.title = "Threads",
	.of_calls = true,
	.begin = begin,
	.end = end,
	.free = forget,
	.print = print_threads,
	.json = put_threads,
};
