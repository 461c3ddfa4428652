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

#define LEAST_POINTS 0.05 /* percent: below it reads 0.0 */

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
	if (sides_have_repeats(c))
		table_cell(t, "%s", metric_text(p, text, sample_deviation(&d->of[side]), by_share));
}

static void side_columns(struct table *t, const struct comparison *c, const char *title)
{
	table_column(t, &(struct column){ .title = title });
	if (sides_have_repeats(c))
		table_column(t, &(struct column){ .title = "+-" });
	table_column(t, &(struct column){ .title = "after" });
	if (sides_have_repeats(c))
		table_column(t, &(struct column){ .title = "+-" });
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
	if (sides_have_repeats(c)) {
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
	if (sides_have_repeats(c))
		table_column(&t, &(struct column){ .title = "chance " });
	for (size_t k = 0; k < KINDS_OF_TIME; k++) {
		const struct difference *d = &c->spent[k];

		if (d->of[SIDE_BEFORE].mean < LEAST_POINTS && d->of[SIDE_AFTER].mean < LEAST_POINTS)
			continue;
		table_cell(&t, "%s", kind_of_time(k));
		for (int side = 0; side < SIDES; side++)
			sample_cells(p, &t, c, d, side, true, "");
		difference_cell(p, &t, difference_of(d), true);
		if (sides_have_repeats(c))
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
		if (sides_have_repeats(c))
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
	if (sides_have_repeats(c))
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
	if (sides_have_repeats(c))
		table_column(&t, &(struct column){ .title = "chance " });
	for (size_t i = 0; i < shown; i++)
		print_event(c, p, &t, &c->events[i]);
	printer_table(p, &t);
	printer_rest(p, shown, c->nevents, "events");
	for (size_t i = 0; i < c->nevents; i++)
		marked |= c->events[i].value.marked;
	if (sides_have_repeats(c) && !marked)
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
	sides_print_runs(c, p);
	print_time(c, p);
	print_spent(c, p);
	print_events(c, p);
	print_findings(c, p);
}
