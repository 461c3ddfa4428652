/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.c - how long the calls of each event took: a few figures and a picture.
 *
 * The kernel counts durations by powers of two, so a percentile is only known to lie below one: "<" stands before it,
 * "<=" before the longest of all. All events share one axis, so that they can be compared by eye. The height of a
 * column is its share of the event's calls, but a column that has any call at all is seen: what matters in a parallel
 * job is often the one call in a million.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <stdlib.h>
#include <string.h>

#include "util/log.h"

#define LEVELS 8
#define MARK 4 /* most bytes of a mark, and the end */

static const char blocks[LEVELS][MARK] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char letters[LEVELS][MARK] = { ".", ":", "-", "=", "+", "*", "#", "@" };

static bool terminal_knows_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value) /* the first that is set decides */
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* The columns that any event has calls in: [*first, *end). */
static void find_axis(const struct printer *p, int *first, int *end)
{
	*first = GB_BUCKETS;
	*end = 0;
	for (size_t e = 0; e < printer_rows(p, p->r->nevents); e++) {
		for (int i = 0; i < GB_BUCKETS; i++) {
			if (!p->r->events[e].tally.bucket[i])
				continue;
			*first = i < *first ? i : *first;
			*end = i >= *end ? i + 1 : *end;
		}
	}
}

/* The duration that so large a part of the calls stays below. */
static void percentile_cell(const struct printer *p, struct table *t, const struct tally *tally, double part)
{
	uint64_t calls = 0, all = 0, bound;
	char text[FORMAT_SIZE];
	int i;

	for (i = 0; i < GB_BUCKETS; i++)
		all += tally->bucket[i];
	for (i = 0; i < GB_BUCKETS - 1; i++) {
		calls += tally->bucket[i];
		if (calls >= part * all)
			break;
	}
	bound = 2ull << i;
	if (bound <= tally->max && i < GB_BUCKETS - 1)
		table_cell(t, "<%s", printer_time(p, text, bound));
	else
		table_cell(t, "%s%s", part * all > all - 1 ? "" : "<=", printer_time(p, text, tally->max));
}

static void picture_cell(struct table *t, const struct tally *tally, int first, int end, const char marks[LEVELS][MARK])
{
	char picture[GB_BUCKETS * MARK + 1] = "";
	uint64_t most = 0;

	for (int i = first; i < end; i++)
		most = tally->bucket[i] > most ? tally->bucket[i] : most;
	while (end > first && !tally->bucket[end - 1])
		end--;
	for (int i = first; i < end; i++) {
		double share = most ? (double)tally->bucket[i] / most : 0;

		strcat(picture, tally->bucket[i] ? marks[(int)(share * (LEVELS - 1) + 0.5)] : " ");
	}
	table_cell(t, "%s", picture);
}

static void print_histogram(void *state, const struct printer *p)
{
	char from[FORMAT_SIZE], to[FORMAT_SIZE], title[2 * FORMAT_SIZE + 8], text[FORMAT_SIZE], label[LABEL_ROOM];
	bool utf8 = terminal_knows_utf8();
	struct table t = { 0 };
	int first, end;

	find_axis(p, &first, &end);
	if (first >= end)
		return;
	snprintf(title, sizeof(title), "%s .. %s", printer_time(p, from, first ? 1ull << first : 0),
		 printer_time(p, to, 1ull << end));
	table_column(&t, &(struct column){ .title = "Event", .left = true, .shrinks = true });
	table_column(&t, &(struct column){ .title = "Min", .drop = 3 });
	table_column(&t, &(struct column){ .title = "Median" });
	table_column(&t, &(struct column){ .title = "90%", .drop = 2 });
	table_column(&t, &(struct column){ .title = "99%" });
	table_column(&t, &(struct column){ .title = "99.9%", .drop = 1 });
	table_column(&t, &(struct column){ .title = "Max" });
	table_column(&t, &(struct column){ .title = title, .left = true });
	for (size_t e = 0; e < printer_rows(p, p->r->nevents); e++) {
		const struct tally *tally = &p->r->events[e].tally;

		if (!tally->timed)
			continue;
		table_cell(&t, "%s", report_event_label(p->r, p->r->events[e].event, label, sizeof(label)));
		table_cell(&t, "%s", printer_time(p, text, tally->min));
		percentile_cell(p, &t, tally, 0.5);
		percentile_cell(p, &t, tally, 0.9);
		percentile_cell(p, &t, tally, 0.99);
		percentile_cell(p, &t, tally, 0.999);
		table_cell(&t, "%s", printer_time(p, text, tally->max));
		picture_cell(&t, tally, first, end, utf8 ? blocks : letters);
	}
	printer_heading(p, "  (how many calls took how long: one column for each power of two)");
	printer_table(p, &t);
}

const struct analysis analysis_histogram = {
	.name = "histogram",
	.title = "Durations",
	.asked = true,
	.print = print_histogram,
};
