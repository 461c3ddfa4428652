/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_print.c - tasks and workers as text.
 */
#include "analysis/tasks.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/printer.h"
#include "util/log.h"

#define WORKERS_SHOWN 4 /* where the section is one of many */
#define POOLS_SHOWN 2

char *task_kind_label(const struct tasks *s, const struct task_kind *kind, char *text, size_t room)
{
	if (kind->name)
		snprintf(text, room, "%s", log_safe(kind->name));
	else if (kind->what)
		snprintf(text, room, "0x%" PRIx64, kind->what);
	else if (kind->empty)
		snprintf(text, room, "(no code)");
	else
		event_label(&s->d->probes[kind->probe], false, text, room);
	return text;
}

static uint64_t mean_of(const struct task_latency *latency)
{
	return latency->count ? latency->sum / latency->count : 0;
}

static void put_share(struct table *t, double part, double whole, bool known)
{
	if (known && whole > 0)
		table_cell(t, "%.1f%%", 100 * part / whole);
	else
		table_cell(t, "-");
}

static void put_latency(const struct printer *p, struct table *t, const struct task_latency *latency)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s", latency->count ? printer_time(p, text, mean_of(latency)) : "-");
}

/* --- workers ------------------------------------------------------------------ */

static void print_worker(const struct tasks *s, const struct printer *p, struct table *t, const struct task_pool *pool,
			 const struct task_member *m)
{
	double time = task_time(pool->begin, pool->last);
	bool whole = task_pool_is_whole(pool), ready = whole && pool->knows_ready;
	struct who who = who_is_thread(s->d, m->thread);
	char label[LABEL_ROOM], text[FORMAT_SIZE];

	table_cell(t, "%s", label_without_tid(&who, label, sizeof(label)));
	table_cell(t, "%s", format_count(text, m->executed));
	table_cell(t, "%s", m->executed ? printer_time(p, text, m->time[WORKER_RUNS] / m->executed) : "-");
	put_share(t, m->time[WORKER_RUNS], time, true);
	put_share(t, m->time[WORKER_DATA], time, pool->fetched);
	put_share(t, m->overhead + (double)m->time[WORKER_ENDS], time, ready);
	put_share(t, m->idle[IDLE_READY], time, ready);
	put_share(t, m->idle[IDLE_BLOCKED], time, ready);
	put_share(t, m->idle[IDLE_LAST], time, ready);
	put_share(t, m->idle[IDLE_UNSUBMITTED], time, ready);
}

static void print_workers(const struct tasks *s, const struct printer *p, const struct task_pool *pool)
{
	static const struct column columns[] = {
		{ .title = "Worker", .left = true, .shrinks = true },
		{ .title = "Tasks" },
		{ .title = "Mean" },
		{ .title = "runs" },
		{ .title = "data" },
		{ .title = "runtime" },
		{ .title = "ready" },
		{ .title = "blocked" },
		{ .title = "last" },
		{ .title = "none" },
	};
	size_t shown = p->whole ? printer_rows(p, pool->workers) : pool->workers;
	struct table t = { 0 };

	if (!p->whole && shown > WORKERS_SHOWN)
		shown = WORKERS_SHOWN;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++)
		print_worker(s, p, &t, pool, &s->members[s->order[pool->first_worker + i]]);
	printer_table(p, &t);
	printer_rest(p, shown, pool->workers, "workers");
}

/* "1.203 s; ..." */
static void print_bounds(const struct tasks *s, const struct printer *p, const struct task_pool *pool)
{
	uint64_t time = task_time(pool->begin, pool->last);
	struct paragraph item = printer_item(p, "-");
	char process[LABEL_ROOM], a[FORMAT_SIZE], b[FORMAT_SIZE];

	paragraph_words(&item, "%s: %s tasks in %s.", process_label(s->d, pool->process, process, sizeof(process)),
			format_count(a, pool->executed), format_time(b, time));
	if (pool->has_area && !pool->missing)
		paragraph_words(&item,
				"Its %" PRIu64 " worker%s could not do it in less than %s (area bound, %.0f %%);",
				pool->workers, plural(pool->workers), format_time(a, (uint64_t)pool->area),
				time ? 100 * pool->area / time : 0);
	if (task_pool_is_whole(pool) && pool->knows_ready)
		paragraph_words(&item, "no number of workers in less than %s (chain of %" PRIu32 " task%s, %.0f %%).",
				format_time(a, pool->longest.time), pool->longest.tasks, plural(pool->longest.tasks),
				percent(pool->longest.time, time));
	else if (!pool->knows_ready)
		paragraph_words(&item, "which tasks wait for which is not observable with this build of the library.");
	paragraph_end(&item);
}

/* --- kinds ---------------------------------------------------------------------- */

static void print_kinds(const struct tasks *s, const struct printer *p, const struct task_pool *pool)
{
	static const struct column columns[] = {
		{ .title = "Kind of task", .left = true, .shrinks = true },
		{ .title = "Submitted" },
		{ .title = "Ran" },
		{ .title = "Mean" },
		{ .title = "Blocked" },
		{ .title = "Queued" },
		{ .title = "To start", .drop = 1 },
		{ .title = "Submitted at", .left = true, .shrinks = true, .drop = 2 },
	};
	char label[LABEL_ROOM], text[FORMAT_SIZE];
	size_t shown = printer_rows(p, pool->nkinds);
	struct table t = { 0 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct task_kind *kind = &s->kinds[s->kind_order[pool->first_kind + i]];

		table_cell(&t, "%s", task_kind_label(s, kind, label, sizeof(label)));
		table_cell(&t, "%s", format_count(text, kind->submitted));
		table_cell(&t, "%s", kind->executed ? format_count(text, kind->executed) : "-");
		table_cell(&t, "%s", kind->executed ? printer_time(p, text, kind->time / kind->executed) : "-");
		put_latency(p, &t, &kind->blocked);
		put_latency(p, &t, &kind->waited);
		put_latency(p, &t, &kind->started);
		table_cell(&t, "%s",
			   kind->site.lead && kind->site.site != NO_INDEX
				   ? site_label(s->d, kind->site.site, label, sizeof(label))
				   : "-");
	}
	printer_table(p, &t);
	printer_rest(p, shown, pool->nkinds, "kinds of tasks");
}

/* --- workers and kinds ---------------------------------------------------------- */

/* The mean of the first or the last part of the time in which it ran any. */
static const char *history_mean(const struct printer *p, const struct task_cell *cell, bool last, char *text)
{
	for (size_t i = 0; i < HISTORY; i++) {
		size_t at = last ? HISTORY - 1 - i : i;

		if (cell->history[at].count)
			return printer_time(p, text, cell->history[at].time / cell->history[at].count);
	}
	return "-";
}

static void print_cells(const struct tasks *s, const struct printer *p, const struct task_pool *pool)
{
	static const struct column columns[] = {
		{ .title = "Kind of task", .left = true, .shrinks = true },
		{ .title = "Worker", .left = true, .shrinks = true },
		{ .title = "Tasks" },
		{ .title = "Mean" },
		{ .title = "Deviation" },
		{ .title = "Min", .drop = 1 },
		{ .title = "Max" },
		{ .title = "First" },
		{ .title = "Last" },
	};
	size_t shown = printer_rows(p, pool->ncells);
	char label[LABEL_ROOM], text[FORMAT_SIZE];
	struct table t = { 0 };

	if (!pool->ncells)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct task_cell *cell = &s->cells[pool->first_cell + i];
		struct who who = who_is_thread(s->d, s->members[cell->member].thread);
		bool same = i && cell[-1].kind == cell->kind;

		table_cell(&t, "%s", same ? "" : task_kind_label(s, &s->kinds[cell->kind], label, sizeof(label)));
		table_cell(&t, "%s", label_without_tid(&who, label, sizeof(label)));
		table_cell(&t, "%s", format_count(text, cell->times.count));
		table_cell(&t, "%s", printer_time(p, text, (uint64_t)cell->times.mean));
		table_cell(&t, "%s",
			   cell->times.count < 2 ? "-"
						 : printer_time(p, text, (uint64_t)sample_deviation(&cell->times)));
		table_cell(&t, "%s", printer_time(p, text, cell->least));
		table_cell(&t, "%s", printer_time(p, text, cell->most));
		table_cell(&t, "%s", history_mean(p, cell, false, text));
		table_cell(&t, "%s", history_mean(p, cell, true, text));
	}
	printer_table(p, &t);
	printer_rest(p, shown, pool->ncells, "pairs of a kind and a worker");
}

/* --- transfers -------------------------------------------------------------------- */

static void put_node(struct table *t, int64_t node, bool known)
{
	if (known)
		table_cell(t, "%" PRId64, node);
	else
		table_cell(t, "?");
}

static void print_transfers(const struct tasks *s, const struct printer *p, uint32_t number)
{
	static const struct column columns[] = {
		{ .title = "From node" }, { .title = "To node" },   { .title = "Transfers" }, { .title = "Bytes" },
		{ .title = "Mean" },      { .title = "In copies" }, { .title = "Bandwidth" },
	};
	char text[FORMAT_SIZE];
	struct table t = { 0 };
	bool any = false;

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < s->npairs; i++) {
		const struct task_transfers *pair = &s->pairs[i];
		uint64_t known = pair->count - pair->unknown;

		if (pair->pool != number || task_pair_is_part(s, pair))
			continue;
		any = true;
		put_node(&t, pair->from, pair->from_known);
		put_node(&t, pair->to, pair->to_known);
		table_cell(&t, "%s", format_count(text, pair->count));
		table_cell(&t, "%s", printer_bytes(text, pair->bytes, known, pair->unknown));
		table_cell(&t, "%s", known ? format_bytes(text, pair->bytes / known) : "-");
		table_cell(&t, "%s", pair->timed ? printer_time(p, text, pair->time) : "-");
		if (pair->time)
			table_cell(&t, "<= %s/s", format_bytes(text, (uint64_t)(1e9 * pair->timed_bytes / pair->time)));
		else
			table_cell(&t, "-");
	}
	if (any)
		printer_table(p, &t);
	else
		table_free(&t);
}

/* --- all of it -------------------------------------------------------------------- */

static void say_unseen(const struct tasks *s, const struct printer *p, const struct task_pool *pool)
{
	char count[FORMAT_SIZE], text[400];

	if (pool->missing) {
		snprintf(
			text, sizeof(text),
			"%s calls are missing here, since they are not on the timeline: counts are at least these, and why "
			"workers are idle is not known",
			format_count(count, pool->missing));
		printer_paragraph(p, "-", text);
	}
	if (pool->interrupted)
		printer_paragraph(
			p, "-",
			"measurement was off for a while, or there was no room for all tasks: why workers are "
			"idle is not known");
	if (p->whole && pool->unsubmitted) {
		snprintf(text, sizeof(text), "%s of the tasks were not seen to be submitted",
			 format_count(count, pool->unsubmitted));
		printer_paragraph(p, "-", text);
	}
	if (p->whole && pool->unfinished) {
		snprintf(text, sizeof(text), "%s were in progress at the end, and are not in the times of tasks",
			 format_count(count, pool->unfinished));
		printer_paragraph(p, "-", text);
	}
	if (p->whole && pool->submitted && !pool->matched)
		printer_paragraph(p, "-", "which of the submitted tasks runs when is not observable");
}

static void print_pool(const struct tasks *s, const struct printer *p, uint32_t number)
{
	const struct task_pool *pool = &s->pools[number];

	if (pool->workers)
		print_workers(s, p, pool);
	if (pool->workers)
		print_bounds(s, p, pool);
	say_unseen(s, p, pool);
	if (!p->whole)
		return;
	print_kinds(s, p, pool);
	print_cells(s, p, pool);
	print_transfers(s, p, number);
}

/* Where there are no workers, the tables of events tell as much. */
static bool is_worth(const struct printer *p, const struct task_pool *pool)
{
	return p->whole ? pool->executed || pool->submitted : pool->workers > 0;
}

void tasks_print(void *state, const struct printer *p)
{
	const struct tasks *s = state;
	size_t count = 0, shown = 0, most;

	for (size_t i = 0; i < s->npools; i++)
		count += is_worth(p, &s->pools[i]);
	if (!count)
		return;
	most = p->whole ? printer_rows(p, count) : POOLS_SHOWN;
	printer_heading(
		p,
		p->whole ? "  (of a worker's time: runs: in tasks; data: waits for a task's data; runtime: between "
			   "two tasks that could follow each other; idle, as: ready: others have the ready tasks; "
			   "blocked: tasks wait for others; last: the program waits for the last ones; none: nothing "
			   "is submitted. Of tasks: Blocked: from submission to being ready; Queued: from then to the "
			   "start; First, Last: mean of the first and the last eighth of the time)"
			 : "  (runtime: between two tasks; then idle, since: ready: others have the ready tasks; "
			   "blocked: they wait for others; last: the program waits for the last; none: none is "
			   "submitted)");
	for (size_t i = 0; i < s->npools && shown < most; i++) {
		if (!is_worth(p, &s->pools[i]))
			continue;
		print_pool(s, p, i);
		shown++;
	}
	printer_rest(p, shown, count, "processes with tasks");
}
