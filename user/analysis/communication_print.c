/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication_print.c - the section `Communication`: for few ranks the matrix, else the heaviest pairs, and what
 * stands out in a line each.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/communication.h"
#include "analysis/printer.h"

#define MATRIX_RANKS 8  /* so many ranks and less have a matrix */
#define MATRIX_COLUMN 9 /* columns of the text */
#define NAME_COLUMN 8
#define PAIRS_SHOWN 3

/* --- the matrix ----------------------------------------------------------- */

/* The processes that take part, by rank. How many; more than MATRIX_RANKS: no matrix. */
static size_t list_ranks(const struct communication *c, uint32_t ranks[MATRIX_RANKS])
{
	size_t count = 0;

	for (uint32_t i = 0; i < c->d->nprocesses; i++) {
		if (c->d->processes[i].left_out || (!c->processes[i].out.operations && !c->processes[i].in.operations))
			continue;
		if (count == MATRIX_RANKS)
			return MATRIX_RANKS + 1;
		size_t at = count++;

		while (at && c->d->processes[ranks[at - 1]].rank > c->d->processes[i].rank) {
			ranks[at] = ranks[at - 1];
			at--;
		}
		ranks[at] = i;
	}
	return count;
}

/* All that is named is a process of the recording. */
static bool is_whole(const struct communication *c)
{
	for (size_t i = 0; i < c->nby_bytes; i++)
		if (c->pairs[c->by_bytes[i]].target == NO_INDEX)
			return false;
	return true;
}

static const struct comm_pair *find_pair(const struct communication *c, uint32_t process, uint32_t target)
{
	for (size_t i = 0; i < c->nby_bytes; i++) {
		const struct comm_pair *pair = &c->pairs[c->by_bytes[i]];

		if (pair->process == process && pair->target == target)
			return pair;
	}
	return NULL;
}

static void flow_cell(struct table *t, const struct flow *flow)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s",
		   flow->operations ? printer_bytes(text, flow->bytes, flow->operations - flow->unknown, flow->unknown)
				    : "-");
}

static void print_matrix(const struct communication *c, const struct printer *p, const uint32_t *ranks, size_t count)
{
	char names[MATRIX_RANKS][LABEL_ROOM];
	struct table t = { 0 };

	table_column(&t, &(struct column){ .title = "Bytes from", .left = true, .shrinks = true });
	for (size_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "to %ld", c->d->processes[ranks[i]].rank);
		table_column(&t, &(struct column){ .title = names[i] });
	}
	table_column(&t, &(struct column){ .title = "Operations", .drop = 1 });
	for (size_t i = 0; i < count; i++) {
		char text[LABEL_ROOM];

		table_cell(&t, "%s", process_label(c->d, ranks[i], text, sizeof(text)));
		for (size_t k = 0; k < count; k++) {
			const struct comm_pair *pair = find_pair(c, ranks[i], ranks[k]);
			const struct flow none = { 0 };

			flow_cell(&t, pair ? &pair->all : &none);
		}
		table_cell(&t, "%s", format_count(text, c->processes[ranks[i]].out.operations));
	}
	printer_table(p, &t);
}

/* --- pairs ---------------------------------------------------------------- */

static void print_pairs(const struct communication *c, const struct printer *p, size_t shown)
{
	static const struct column columns[] = {
		{ .title = "From", .left = true, .shrinks = true },
		{ .title = "To", .left = true, .shrinks = true },
		{ .title = "Operations" },
		{ .title = "Bytes" },
		{ .title = "Mean" },
		{ .title = "Time", .drop = 1 },
		{ .title = "Of all bytes", .drop = 2 },
	};
	struct table t = { 0 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct comm_pair *pair = &c->pairs[c->by_bytes[i]];
		uint64_t known = pair->all.operations - pair->all.unknown;
		char text[LABEL_ROOM];

		table_cell(&t, "%s", process_label(c->d, pair->process, text, sizeof(text)));
		table_cell(&t, "%s", communication_name(c, pair->target, pair->rank, text, sizeof(text)));
		table_cell(&t, "%s", format_count(text, pair->all.operations));
		flow_cell(&t, &pair->all);
		table_cell(
			&t, "%s",
			printer_bytes(text, known ? pair->all.bytes / known : 0, known, pair->all.unknown && !known));
		table_cell(&t, "%s", printer_time(p, text, pair->time));
		table_cell(&t, "%.1f%%", percent(pair->all.bytes, c->all.bytes));
	}
	printer_table(p, &t);
}

/* --- lines ---------------------------------------------------------------- */

static void print_sizes(const struct communication *c, const struct printer *p)
{
	static const struct {
		unsigned to; /* column of sizes, not included */
		const char *name;
	} ranges[] = { { 7, "64 B" }, { 11, "1 KiB" }, { 17, "64 KiB" }, { 21, "1 MiB" }, { SIZES, NULL } };
	uint64_t all = 0, known = c->all.operations - c->all.unknown;
	char text[400], part[100], mean[FORMAT_SIZE];
	const char *before = NULL;
	unsigned at = 0;

	for (unsigned i = 0; i < SIZES; i++)
		all += c->sizes[i];
	snprintf(text, sizeof(text), "mean %s",
		 printer_bytes(mean, known ? c->all.bytes / known : 0, known, c->all.unknown && !known));
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		uint64_t some = 0;

		for (; at < ranges[i].to; at++)
			some += c->sizes[at];
		if (!before)
			snprintf(part, sizeof(part), ", %.0f%% below %s", percent(some, all), ranges[i].name);
		else if (ranges[i].name)
			snprintf(part, sizeof(part), ", %.0f%% from %s to %s", percent(some, all), before,
				 ranges[i].name);
		else
			snprintf(part, sizeof(part), ", %.0f%% from %s on", percent(some, all), before);
		if (some)
			strncat(text, part, sizeof(text) - strlen(text) - 1);
		before = ranges[i].name;
	}
	snprintf(part, sizeof(part), ", of %s not known", format_count(mean, c->all.unknown));
	if (c->all.unknown)
		strncat(text, part, sizeof(text) - strlen(text) - 1);
	printer_paragraph(p, "Sizes:", text);
}

static void print_hot(const struct communication *c, const struct printer *p)
{
	uint64_t all = 0;
	char text[LABEL_ROOM];

	if (c->hot == NO_INDEX)
		return;
	for (size_t i = 0; i < c->d->nprocesses; i++)
		all += c->processes[i].in.operations - c->processes[i].own.operations;
	fprintf(p->out, "Hot target: %s, of %.0f%% of the operations between %u ranks\n",
		process_label(c->d, c->hot, text, sizeof(text)), percent(c->hot_operations, all), c->ranks);
}

/* "begun by 1,280 calls of GASP_MPI_STARTALL and 3 calls of GASP_MPI_START": of messages described before. */
static void print_described(const struct communication *c, const struct printer *p)
{
	struct paragraph paragraph = printer_item(p, "");
	char label[LABEL_ROOM], count[FORMAT_SIZE];
	uint64_t left = c->described;

	if (!left)
		return;
	paragraph_words(&paragraph, "Persistent requests, not in the above: begun by");
	for (size_t i = 0; i < p->r->nevents && left; i++) {
		const struct report_event *event = &p->r->events[i];

		if (!probe_begins_described(&c->d->probes[p->r->profile->events[event->event].probe]))
			continue;
		left -= event->tally.calls;
		paragraph_words(&paragraph, "%s call%s of %s%s", format_count(count, event->tally.calls),
				plural(event->tally.calls),
				report_event_label(p->r, event->event, label, sizeof(label)), left ? " and" : ",");
	}
	paragraph_words(&paragraph, "which %s not say whom each message goes to, or its bytes",
			c->described == 1 ? "does" : "do");
	paragraph_end(&paragraph);
}

static void print_others(const struct communication *c, const struct printer *p)
{
	struct flow own = { 0 }, others = { 0 }, unknown = { 0 };
	char count[FORMAT_SIZE], bytes[FORMAT_SIZE];

	for (size_t i = 0; i < c->d->nprocesses; i++) {
		if (c->d->processes[i].left_out)
			continue;
		flow_add(&own, &c->processes[i].own);
		flow_add(&others, &c->processes[i].others);
		flow_add(&unknown, &c->processes[i].unknown);
	}
	if (own.operations || others.operations)
		printer_line(p, "One-sided: %s of the own part, %s of other ranks' (%.0f%%)%s",
			     format_count(count, own.operations), format_count(bytes, others.operations),
			     percent(others.operations, own.operations + others.operations),
			     c->d->loss.near ? "; accesses of the own part are left out of this recording" : "");
	if (c->collective.operations)
		printer_line(p, "Collectives, not in the above: %s calls, %s",
			     format_count(count, c->collective.operations),
			     printer_bytes(bytes, c->collective.bytes, c->collective.operations - c->collective.unknown,
					   c->collective.unknown));
	if (unknown.operations)
		printer_line(
			p, "To ranks that are not known, not in the above: %s operations, %s",
			format_count(count, unknown.operations),
			printer_bytes(bytes, unknown.bytes, unknown.operations - unknown.unknown, unknown.unknown));
	print_described(c, p);
	if (c->missing)
		printer_line(p, "Not on the timeline, so not in the above: %s calls", format_count(count, c->missing));
}

/* --- habits --------------------------------------------------------------- */

static void print_small(const struct communication *c, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Small messages from", .left = true, .shrinks = true },
		{ .title = "Event", .left = true, .shrinks = true },
		{ .title = "Messages" },
		{ .title = "Mean" },
		{ .title = "Runs", .drop = 1 },
		{ .title = "Would do", .drop = 2 },
		{ .title = "Time" },
		{ .title = "No waiting", .drop = 3 },
		{ .title = "Saves" },
	};
	size_t shown = p->style->top ? printer_rows(p, c->nsmall) : c->nsmall;
	struct table t = { 0 };

	if (!c->nsmall)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct comm_habit *habit = &c->small[i];
		char text[LABEL_ROOM];

		table_cell(&t, "%s", habit->place);
		table_cell(&t, "%s", report_event_label(p->r, habit->event, text, sizeof(text)));
		table_cell(&t, "%s", format_count(text, habit->messages));
		table_cell(&t, "%s", format_bytes(text, habit->bytes / habit->messages));
		table_cell(&t, "%s", format_count(text, habit->runs));
		table_cell(&t, "%s", format_count(text, habit->together));
		table_cell(&t, "%s", printer_time(p, text, habit->time));
		table_cell(&t, "%s", printer_time(p, text, habit->quick));
		table_cell(&t, ">= %s", printer_time(p, text, habit->gain));
	}
	fputc('\n', p->out);
	printer_table(p, &t);
	printer_rest(p, shown, c->nsmall, "places");
}

static void print_idle(const struct communication *c, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Waits without overlap at", .left = true, .shrinks = true },
		{ .title = "Event", .left = true, .shrinks = true },
		{ .title = "For", .left = true, .shrinks = true, .drop = 1 },
		{ .title = "Waits" },
		{ .title = "Without" },
		{ .title = "Time" },
		{ .title = "Could hide" },
	};
	size_t shown = p->style->top ? printer_rows(p, c->nidle) : c->nidle;
	struct table t = { 0 };

	if (!c->nidle)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct comm_habit *habit = &c->idle[i];
		char text[LABEL_ROOM];

		table_cell(&t, "%s", habit->place);
		table_cell(&t, "%s", report_event_label(p->r, habit->event, text, sizeof(text)));
		table_cell(&t, "%s", report_event_label(p->r, habit->begun_event, text, sizeof(text)));
		table_cell(&t, "%s", format_count(text, habit->waits));
		table_cell(&t, "%s", format_count(text, habit->idle));
		table_cell(&t, "%s", printer_time(p, text, habit->wait_time));
		table_cell(&t, "<= %s", printer_time(p, text, habit->idle_time));
	}
	fputc('\n', p->out);
	printer_table(p, &t);
	printer_rest(p, shown, c->nidle, "places");
}

/* --- all of it ------------------------------------------------------------ */

static bool fits(const struct printer *p, size_t ranks)
{
	return ranks <= MATRIX_RANKS && (!p->style->width || ranks * MATRIX_COLUMN + NAME_COLUMN <= p->style->width);
}

void communication_print(void *state, const struct printer *p)
{
	const struct communication *c = state;
	uint32_t ranks[MATRIX_RANKS];
	size_t count = list_ranks(c, ranks), shown = p->whole ? c->nby_bytes : PAIRS_SHOWN;
	char all[FORMAT_SIZE], bytes[FORMAT_SIZE], note[200];
	bool matrix = is_whole(c) && fits(p, count);

	if (!c->nby_bytes && !c->described && !p->whole)
		return;
	if (p->style->top)
		shown = printer_rows(p, c->nby_bytes);
	if (shown > c->nby_bytes)
		shown = c->nby_bytes;
	snprintf(note, sizeof(note), "  (%s operations, %s; from: who calls, to: whom the call names%s%s)",
		 format_count(all, c->all.operations),
		 printer_bytes(bytes, c->all.bytes, c->all.operations - c->all.unknown, c->all.unknown),
		 matrix ? "" : "; the heaviest pairs",
		 p->r->calls > p->r->delivered ? "; of the calls on the timeline" : "");
	printer_heading(p, note);
	if (c->nby_bytes && matrix)
		print_matrix(c, p, ranks, count);
	if (c->nby_bytes && (!matrix || p->whole)) {
		print_pairs(c, p, shown);
		printer_rest(p, shown, c->nby_bytes, "pairs");
	}
	if (c->nby_bytes)
		print_sizes(c, p);
	print_hot(c, p);
	print_others(c, p);
	if (p->whole) {
		print_small(c, p);
		print_idle(c, p);
	}
}
