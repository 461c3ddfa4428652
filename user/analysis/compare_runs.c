/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare_runs.c - what is different about the runs themselves, so that nobody takes it for something else.
 */
#include "analysis/compare_data.h"
#include "analysis/printer.h"

#include <string.h>

#include "util/log.h"

#define WINDOWS_ALIKE 0.02 /* by so much lengths may differ that are called the same */
#define NAMES_TOLD 8

static const char *const side_names[SIDES] = { "before", "after" };

static const struct run *first_of(const struct comparison *c, int side)
{
	size_t i = 0;

	while (i < c->nruns && c->runs[i].side != (enum compared_side)side)
		i++;
	return &c->runs[i];
}

/* --- the runs themselves ------------------------------------------------------------- */

typedef uint64_t figure_of(const struct run *run);

static uint64_t time_of(const struct run *run)
{
	return run->time;
}

static uint64_t ranks_of(const struct run *run)
{
	return run->ranks;
}

static uint64_t job_ranks_of(const struct run *run)
{
	return run->job_ranks;
}

static uint64_t processes_of(const struct run *run)
{
	return run->processes;
}

static uint64_t threads_of(const struct run *run)
{
	return run->threads;
}

static uint64_t calls_of(const struct run *run)
{
	return run->calls;
}

static uint64_t lost_of(const struct run *run)
{
	return run->lost;
}

static char *figure_text(const struct printer *p, char *text, uint64_t value, bool is_time)
{
	return is_time ? printer_time(p, text, value) : format_count(text, value);
}

/* "4", "4..8": of all runs of the side. */
static void range_cell(const struct printer *p, struct table *t, const struct comparison *c, int side, figure_of *of,
		       bool is_time)
{
	uint64_t least = UINT64_MAX, most = 0;
	char low[FORMAT_SIZE], high[FORMAT_SIZE];

	for (size_t i = 0; i < c->nruns; i++) {
		uint64_t value = of(&c->runs[i]);

		if (c->runs[i].side != (enum compared_side)side)
			continue;
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	figure_text(p, low, least, is_time);
	figure_text(p, high, most, is_time);
	if (!strcmp(low, high))
		table_cell(t, "%s", low);
	else
		table_cell(t, "%s..%s", low, high);
}

static const char *host_of(const struct run *run)
{
	return run->host ?: "?";
}

static void host_cell(struct table *t, const struct comparison *c, int side)
{
	const char *host = host_of(first_of(c, side));

	for (size_t i = 0; i < c->nruns; i++)
		if (c->runs[i].side == (enum compared_side)side && strcmp(host_of(&c->runs[i]), host))
			host = "several";
	table_cell(t, "%s", log_safe(host));
}

static const char *seen_of(const struct run *run)
{
	if (run->only_sums)
		return "sums only";
	if (run->flight)
		return "last seconds";
	if (run->cut)
		return "cut";
	if (run->from_start)
		return run->to_end ? "whole run" : "not its end";
	return run->to_end ? "not its start" : "a part";
}

static void seen_cell(struct table *t, const struct comparison *c, int side)
{
	const char *seen = seen_of(first_of(c, side));

	for (size_t i = 0; i < c->nruns; i++)
		if (c->runs[i].side == (enum compared_side)side && strcmp(seen_of(&c->runs[i]), seen))
			seen = "differs";
	table_cell(t, "%s", seen);
}

static bool is_any(const struct comparison *c, figure_of *of)
{
	for (size_t i = 0; i < c->nruns; i++)
		if (of(&c->runs[i]))
			return true;
	return false;
}

static void print_names(const struct comparison *c, const struct printer *p, int side)
{
	struct paragraph paragraph = printer_item(p, side == SIDE_BEFORE ? "before:" : "after: ");
	size_t told = 0;

	for (size_t i = 0; i < c->nruns; i++) {
		if (c->runs[i].side != (enum compared_side)side)
			continue;
		if (told++ < NAMES_TOLD)
			paragraph_piece(&paragraph, log_safe(c->runs[i].name), told < c->of_side[side] ? "," : "");
	}
	if (told > NAMES_TOLD)
		paragraph_words(&paragraph, "and %zu more", told - NAMES_TOLD);
	paragraph_end(&paragraph);
}

static void print_runs(const struct comparison *c, const struct printer *p)
{
	static const struct {
		const char *name;
		figure_of *of;
		bool is_time;
	} rows[] = {
		{ "Observed", time_of, true },
		{ "Ranks", ranks_of, false },
		{ "Ranks of the job", job_ranks_of, false },
		{ "Processes", processes_of, false },
		{ "Threads", threads_of, false },
		{ "Calls", calls_of, false },
		{ "  lost", lost_of, false },
	};
	struct table t = { 0 };

	for (int side = 0; side < SIDES; side++)
		print_names(c, p, side);
	fputc('\n', p->out);
	table_column(&t, &(struct column){ .title = "", .left = true });
	table_column(&t, &(struct column){ .title = "before" });
	table_column(&t, &(struct column){ .title = "after" });
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!is_any(c, rows[i].of))
			continue;
		table_cell(&t, "%s", rows[i].name);
		for (int side = 0; side < SIDES; side++)
			range_cell(p, &t, c, side, rows[i].of, rows[i].is_time);
	}
	table_cell(&t, "Seen");
	for (int side = 0; side < SIDES; side++)
		seen_cell(&t, c, side);
	table_cell(&t, "Host");
	for (int side = 0; side < SIDES; side++)
		host_cell(&t, c, side);
	printer_table(p, &t);
}

/* --- what is not as it should be ----------------------------------------------------- */

static bool differs(const struct comparison *c, figure_of *of)
{
	for (size_t i = 1; i < c->nruns; i++)
		if (of(&c->runs[i]) != of(&c->runs[0]))
			return true;
	return false;
}

static bool lengths_differ(const struct comparison *c)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < c->nruns; i++) {
		least = c->runs[i].time < least ? c->runs[i].time : least;
		most = c->runs[i].time > most ? c->runs[i].time : most;
	}
	return most - least > WINDOWS_ALIKE * most;
}

static bool hosts_differ(const struct comparison *c)
{
	for (size_t i = 1; i < c->nruns; i++)
		if (c->runs[i].host && c->runs[0].host && strcmp(c->runs[i].host, c->runs[0].host))
			return true;
	return false;
}

/* How many have only sums. */
static size_t has_sums(const struct comparison *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->nruns; i++)
		count += c->runs[i].only_sums;
	return count;
}

/* What calls contain is known where there are single calls. */
static void print_sums(const struct comparison *c, const struct printer *p)
{
	if (!has_sums(c))
		return;
	printer_paragraph(p, "",
			  has_sums(c) == c->nruns
				  ? "These recordings have only sums: Self is Total, whatever calls contain, and a "
				    "process's time counts once, however many threads it has."
				  : "Some of these recordings have only sums, in which Self is Total, whatever calls "
				    "contain, and a process's time counts once, however many threads it has: only "
				    "events that contain no others, of processes with one thread, are comparable.");
}

static void print_measure(const struct comparison *c, const struct printer *p)
{
	const char *parts = c->all_whole        ? ""
			    : has_sums(c)       ? " not all recordings are of one run: some have a machine's sums"
			    : lengths_differ(c) ? " not all runs were observed from start to end, and not for as long"
						: " not all runs were observed from start to end";
	const char *sizes = differs(c, ranks_of)     ? " their numbers of ranks differ"
			    : differs(c, threads_of) ? " their numbers of threads differ"
						     : "";
	char text[300];

	if (!c->by_share)
		return;
	snprintf(text, sizeof(text), "Compared are shares of the threads' time and rates, not totals:%s%s%s.", parts,
		 *parts && *sizes ? ";" : "", sizes);
	printer_paragraph(p, "", text);
}

static bool side_has_model(const struct comparison *c, int side, size_t before, const char *model)
{
	for (size_t i = 0; i < before; i++)
		if (c->runs[i].side == (enum compared_side)side && run_has_model(&c->runs[i], model))
			return true;
	return false;
}

/* Runtimes of which only one side has calls. */
static void print_models(const struct comparison *c, const struct printer *p)
{
	char text[600] = "";
	size_t length = 0;

	for (size_t i = 0; i < c->nruns; i++) {
		const struct run *run = &c->runs[i];

		for (size_t k = 0; k < run->nmodels && length < sizeof(text) - 64; k++)
			if (!side_has_model(c, run->side, i, run->models[k]) &&
			    !side_has_model(c, 1 - (int)run->side, c->nruns, run->models[k]))
				length += snprintf(text + length, sizeof(text) - length, "%s%.30s (%s)",
						   length ? ", " : "", log_safe(run->models[k]), side_names[run->side]);
	}
	if (!length)
		return;
	struct paragraph paragraph = printer_item(p, "");

	paragraph_words(
		&paragraph,
		"One side alone has calls of %s: whether the other one made none, or was not observed for them, "
		"its recordings do not say.",
		text);
	paragraph_end(&paragraph);
}

void runs_print(const struct comparison *c, const struct printer *p)
{
	uint64_t missing = 0, calls = 0;
	char text[300];

	if (hosts_differ(c))
		printer_paragraph(p, "", "The runs were not on the same host: what differs may be the machine.");
	for (size_t i = 0; i < c->nruns; i++) {
		if (c->runs[i].missing * calls > missing * c->runs[i].calls || !calls) {
			missing = c->runs[i].missing;
			calls = c->runs[i].calls;
		}
	}
	if (missing) {
		snprintf(text, sizeof(text),
			 "Up to %.1f %% of a run's calls are %s: figures with ~ are estimated for them.",
			 percent(missing, calls), has_sums(c) == c->nruns ? "only counted" : "not on its timeline");
		printer_paragraph(p, "", text);
	}
}

static void print_chance(const struct comparison *c, const struct printer *p)
{
	if (c->nruns == SIDES)
		printer_paragraph(
			p, "",
			"One run each: whether a difference is more than chance cannot be told. Repeats tell: "
			"gaspbpf compare A1 A2 A3 vs B1 B2 B3.");
	else if (!sides_have_repeats(c))
		printer_paragraph(p, "",
				  "One run on one side: whether a difference is more than chance cannot be told.");
	else
		printer_paragraph(p, "",
				  "+-: standard deviation of the repeats. chance: how likely differences as large are "
				  "without a cause (Welch's t-test). *: more than chance: of the rows so marked in a "
				  "table 5 % are expected to be wrong, at most.");
}

void sides_print_runs(const struct comparison *c, const struct printer *p)
{
	print_runs(c, p);
	print_measure(c, p);
	print_sums(c, p);
	runs_print(c, p);
	print_models(c, p);
	print_chance(c, p);
}
