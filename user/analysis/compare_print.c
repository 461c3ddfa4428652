/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare_print.c - two sides, for people.
 */
#include "analysis/compare_data.h"
#include "analysis/printer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

#define WINDOWS_ALIKE 0.02 /* by so much lengths may differ that are called the same */
#define LEAST_POINTS 0.05  /* percent: below it reads 0.0 */
#define NAMES_TOLD 8

static const char *const side_names[SIDES] = { "before", "after" };

static bool has_repeats(const struct comparison *c)
{
	return c->of_side[SIDE_BEFORE] > 1 && c->of_side[SIDE_AFTER] > 1;
}

static const struct run *first_of(const struct comparison *c, int side)
{
	size_t i = 0;

	while (i < c->nruns && c->runs[i].side != (enum compared_side)side)
		i++;
	return &c->runs[i];
}

/* --- figures ---------------------------------------------------------------------- */

/* "12.3%", or a time. */
static char *metric_text(const struct printer *p, char *text, double value, bool by_share)
{
	if (!by_share)
		return printer_time(p, text, whole(value));
	snprintf(text, FORMAT_SIZE, "%.1f%%", value);
	return text;
}

/* "+1.2 s", "-3.4": points of percent. */
static void difference_cell(const struct printer *p, struct table *t, double value, bool by_share)
{
	char text[FORMAT_SIZE];

	if (by_share)
		table_cell(t, "%+.1f", fabs(value) < LEAST_POINTS ? 0.0 : value);
	else
		table_cell(t, "%s%s", value < 0 ? "-" : "+", printer_time(p, text, whole(fabs(value))));
}

static void ratio_cell(struct table *t, double before, double after)
{
	if (before > 0 && after / before < 1000)
		table_cell(t, "x%.2f", after / before);
	else
		table_cell(t, "-");
}

static char *likely_text(char *text, double likely)
{
	if (likely < 0)
		snprintf(text, FORMAT_SIZE, "-");
	else if (likely < 0.0005)
		snprintf(text, FORMAT_SIZE, "<0.1%%");
	else
		snprintf(text, FORMAT_SIZE, "%.1f%%", 100 * likely);
	return text;
}

static void likely_cell(struct table *t, const struct difference *d)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s%s", likely_text(text, d->likely), d->marked ? "*" : " ");
}

/* Mean, and where there are repeats how far they scatter. */
static void sample_cells(const struct printer *p, struct table *t, const struct comparison *c,
			 const struct difference *d, int side, bool by_share, const char *about)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s%s", about, metric_text(p, text, d->of[side].mean, by_share));
	if (has_repeats(c))
		table_cell(t, "%s", metric_text(p, text, sample_deviation(&d->of[side]), by_share));
}

static void side_columns(struct table *t, const struct comparison *c, const char *title)
{
	table_column(t, &(struct column){ .title = title });
	if (has_repeats(c))
		table_column(t, &(struct column){ .title = "+-" });
	table_column(t, &(struct column){ .title = "after" });
	if (has_repeats(c))
		table_column(t, &(struct column){ .title = "+-" });
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

static void print_measure(const struct comparison *c, const struct printer *p)
{
	const char *parts = c->all_whole        ? ""
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
		snprintf(
			text, sizeof(text),
			"Up to %.1f %% of a run's calls are not on its timeline: figures with ~ are estimated for them.",
			percent(missing, calls));
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
	else if (!has_repeats(c))
		printer_paragraph(p, "",
				  "One run on one side: whether a difference is more than chance cannot be told.");
	else
		printer_paragraph(p, "",
				  "+-: standard deviation of the repeats. chance: how likely differences as large are "
				  "without a cause (Welch's t-test). *: more than chance: of the rows so marked in a "
				  "table 5 % are expected to be wrong, at most.");
}

/* --- tables -------------------------------------------------------------------------- */

static void print_time(const struct comparison *c, const struct printer *p)
{
	double before = c->time.of[SIDE_BEFORE].mean, after = c->time.of[SIDE_AFTER].mean;
	char from[FORMAT_SIZE], to[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE], chance[FORMAT_SIZE], text[400];
	size_t length;

	if (!c->all_whole || !before || !after)
		return;
	printer_time(p, from, whole(before));
	printer_time(p, to, whole(after));
	if (has_repeats(c)) {
		printer_time(p, low, whole(sample_deviation(&c->time.of[SIDE_BEFORE])));
		printer_time(p, high, whole(sample_deviation(&c->time.of[SIDE_AFTER])));
		length = snprintf(text, sizeof(text), "Run time: %s (+- %s) -> %s (+- %s), x%.2f", from, low, to, high,
				  after / before);
		snprintf(text + length, sizeof(text) - length, ": %s (chance: %s).",
			 c->time.marked ? "more than chance" : "no more than chance does",
			 likely_text(chance, c->time.likely));
	} else {
		snprintf(text, sizeof(text), "Run time: %s -> %s, x%.2f.", from, to, after / before);
	}
	fputc('\n', p->out);
	printer_paragraph(p, "", text);
}

static void heading(const struct printer *p, const char *title, const char *note)
{
	struct printer with = *p;

	with.title = title;
	printer_heading(&with, note);
}

static void print_spent(const struct comparison *c, const struct printer *p)
{
	struct table t = { 0 };

	heading(p, "Threads' time", "  (% of it, by outermost call; outside: in no probed call)");
	table_column(&t, &(struct column){ .title = "", .left = true });
	side_columns(&t, c, "before");
	table_column(&t, &(struct column){ .title = "points" });
	if (has_repeats(c))
		table_column(&t, &(struct column){ .title = "chance " });
	for (size_t k = 0; k < KINDS_OF_TIME; k++) {
		const struct difference *d = &c->spent[k];

		if (d->of[SIDE_BEFORE].mean < LEAST_POINTS && d->of[SIDE_AFTER].mean < LEAST_POINTS)
			continue;
		table_cell(&t, "%s", kind_of_time(k));
		for (int side = 0; side < SIDES; side++)
			sample_cells(p, &t, c, d, side, true, "");
		difference_cell(p, &t, difference_of(d), true);
		if (has_repeats(c))
			likely_cell(&t, d);
	}
	printer_table(p, &t);
}

/* "13,394 -> 6,698"; what reads alike stands once. */
static void pair_cell(struct table *t, char text[SIDES][2 * FORMAT_SIZE])
{
	if (strcmp(text[SIDE_BEFORE], text[SIDE_AFTER]))
		table_cell(t, "%s -> %s", text[SIDE_BEFORE], text[SIDE_AFTER]);
	else
		table_cell(t, "%s", text[SIDE_BEFORE]);
}

static void calls_cell(struct table *t, const struct comparison *c, const struct compared_event *e)
{
	char text[SIDES][2 * FORMAT_SIZE], number[FORMAT_SIZE];

	for (int side = 0; side < SIDES; side++) {
		if (e->calls[side] <= 0)
			strcpy(number, "-");
		else if (c->by_share)
			format_rate(number, e->calls[side]);
		else
			format_count(number, whole(e->calls[side]));
		snprintf(text[side], sizeof(text[side]), "%s%s", number, e->partly && e->calls[side] > 0 ? "+" : "");
	}
	pair_cell(t, text);
}

static void per_call_cell(const struct printer *p, struct table *t, const struct compared_event *e)
{
	char text[SIDES][2 * FORMAT_SIZE], time[FORMAT_SIZE];

	for (int side = 0; side < SIDES; side++)
		snprintf(text[side], sizeof(text[side]), "%s%s", e->per_call[side] >= 0 && e->estimated ? "~" : "",
			 e->per_call[side] >= 0 ? printer_time(p, time, whole(e->per_call[side])) : "-");
	pair_cell(t, text);
}

static void share_cell(struct table *t, const struct compared_event *e)
{
	char text[SIDES][2 * FORMAT_SIZE];

	for (int side = 0; side < SIDES; side++) {
		strcpy(text[side], "-");
		if (e->known[side])
			snprintf(text[side], sizeof(text[side]), "%s%.1f%%", e->estimated ? "~" : "", e->share[side]);
	}
	pair_cell(t, text);
}

static void print_event(const struct comparison *c, const struct printer *p, struct table *t,
			const struct compared_event *e)
{
	bool both = e->known[SIDE_BEFORE] && e->known[SIDE_AFTER];

	table_cell(t, "%s", e->label);
	calls_cell(t, c, e);
	per_call_cell(p, t, e);
	if (!c->by_share)
		share_cell(t, e);
	for (int side = 0; side < SIDES; side++) {
		if (e->known[side]) {
			sample_cells(p, t, c, &e->value, side, c->by_share, e->estimated ? "~" : "");
			continue;
		}
		table_cell(t, "-");
		if (has_repeats(c))
			table_cell(t, "-");
	}
	if (both)
		difference_cell(p, t, difference_of(&e->value), c->by_share);
	else
		table_cell(t, "-");
	if (e->calls[SIDE_BEFORE] <= 0)
		table_cell(t, "new");
	else if (e->calls[SIDE_AFTER] <= 0)
		table_cell(t, "gone");
	else if (both)
		ratio_cell(t, e->value.of[SIDE_BEFORE].mean, e->value.of[SIDE_AFTER].mean);
	else
		table_cell(t, "-");
	if (has_repeats(c))
		likely_cell(t, &e->value);
}

static void print_events(const struct comparison *c, const struct printer *p)
{
	size_t shown = printer_rows(p, c->nevents);
	struct table t = { 0 };
	bool marked = false;

	if (!c->nevents)
		return;
	heading(p, "Events by difference",
		c->by_share ? "  (calls a second; % of the threads' time, without calls inside; diff in points)"
			    : "  (self: without calls inside, of all threads)");
	table_column(&t, &(struct column){ .title = "Event", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = c->by_share ? "Rate" : "Calls", .drop = 3 });
	table_column(&t, &(struct column){ .title = "Per call", .drop = 2 });
	if (!c->by_share)
		table_column(&t, &(struct column){ .title = "% wall", .drop = 4 });
	side_columns(&t, c, c->by_share ? "% wall" : "Self");
	table_column(&t, &(struct column){ .title = "diff" });
	table_column(&t, &(struct column){ .title = "ratio", .drop = 1 });
	if (has_repeats(c))
		table_column(&t, &(struct column){ .title = "chance " });
	for (size_t i = 0; i < shown; i++)
		print_event(c, p, &t, &c->events[i]);
	printer_table(p, &t);
	printer_rest(p, shown, c->nevents, "events");
	for (size_t i = 0; i < c->nevents; i++)
		marked |= c->events[i].value.marked;
	if (has_repeats(c) && !marked)
		fputs("No event differs by more than chance does.\n", p->out);
}

/* --- findings ------------------------------------------------------------------------ */

/* "in 2 of 3 runs, ", where it is not in all. */
static void say_runs(const struct comparison *c, const struct compared_finding *f, int side, char *text, size_t room)
{
	if (c->of_side[side] == 1 || f->runs[side] == c->of_side[side])
		*text = '\0';
	else
		snprintf(text, room, ", in %zu of %zu runs", f->runs[side], c->of_side[side]);
}

static void print_finding(const struct comparison *c, const struct printer *p, const struct compared_finding *f)
{
	struct paragraph paragraph = printer_item(p, "-");
	char runs[SIDES][64];

	for (int side = 0; side < SIDES; side++)
		say_runs(c, f, side, runs[side], sizeof(runs[side]));
	if (!f->runs[SIDE_BEFORE])
		paragraph_words(&paragraph, "new (%.1f %% of the threads' time%s): %s", f->share[SIDE_AFTER],
				runs[SIDE_AFTER], f->example->text);
	else if (!f->runs[SIDE_AFTER])
		paragraph_words(&paragraph, "gone (it was %.1f %% of the threads' time%s): %s", f->share[SIDE_BEFORE],
				runs[SIDE_BEFORE], f->example->text);
	else
		paragraph_words(&paragraph, "in both (%.1f %%%s -> %.1f %% of the threads' time%s): %s",
				f->share[SIDE_BEFORE], runs[SIDE_BEFORE], f->share[SIDE_AFTER], runs[SIDE_AFTER],
				f->example->text);
	paragraph_end(&paragraph);
}

static void print_findings(const struct comparison *c, const struct printer *p)
{
	size_t shown = printer_rows(p, c->nfindings);

	heading(p, "Findings", "");
	if (!c->nfindings)
		fputs("Neither side has any.\n", p->out);
	for (size_t i = 0; i < shown; i++)
		print_finding(c, p, &c->findings[i]);
	printer_rest(p, shown, c->nfindings, "findings");
}

void sides_print(const struct comparison *c, const struct printer *p)
{
	print_runs(c, p);
	print_measure(c, p);
	runs_print(c, p);
	print_models(c, p);
	print_chance(c, p);
	print_time(c, p);
	print_spent(c, p);
	print_events(c, p);
	print_findings(c, p);
}
