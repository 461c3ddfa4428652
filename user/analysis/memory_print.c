/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory_print.c - heaps and the places that fill them, as text and as JSON.
 */
#include "analysis/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/printer.h"
#include "analysis/put.h"
#include "util/json.h"
#include "util/log.h"
#include "util/text.h"

#define SUSPECTS_SHOWN 3

static const char *heap_name(const struct memory *m, const struct heap *heap)
{
	return m->d->probes[heap->probe].model ?: "?";
}

static const char *byte_rate(char *text, size_t room, double bytes)
{
	char number[FORMAT_SIZE];

	snprintf(text, room, "%s/s", format_bytes(number, bytes > 0 ? (uint64_t)bytes : 0));
	return text;
}

/* --- heaps: those of one model are one row, unless all is wanted ----------------------- */

struct heap_row {
	struct people who;
	const struct heap *some; /* one of them */
	uint64_t live_least, live_most, peak_least, peak_most, peak_time, blocks, before;
	double trend_least, trend_most;
	bool exact, known;
};

static int add_heap(const struct memory *m, struct heap_row *row, const struct heap *heap)
{
	uint32_t thread = heap_thread(m, heap);
	double trend = heap->grows ? heap->trend : 0;

	if (!row->some) {
		*row = (struct heap_row){ .some = heap,
					  .live_least = heap->live,
					  .peak_least = heap->peak,
					  .trend_least = trend,
					  .trend_most = trend,
					  .exact = true };
	}
	if (heap->live < row->live_least)
		row->live_least = heap->live;
	if (heap->live > row->live_most)
		row->live_most = heap->live;
	if (heap->peak < row->peak_least)
		row->peak_least = heap->peak;
	if (heap->peak >= row->peak_most) {
		row->peak_most = heap->peak;
		row->peak_time = heap->peak_time;
	}
	if (trend < row->trend_least)
		row->trend_least = trend;
	if (trend > row->trend_most)
		row->trend_most = trend;
	row->blocks += heap->blocks_given;
	row->before += heap->from_before;
	row->exact &= heap->exact;
	row->known |= heap_is_known(heap);
	return thread == NO_INDEX ? 0 : people_add(&row->who, thread);
}

static void range_cell(struct table *t, uint64_t least, uint64_t most, bool exact)
{
	char from[FORMAT_SIZE], to[FORMAT_SIZE];
	const char *about = exact ? "" : "~";

	format_bytes(from, least);
	format_bytes(to, most);
	if (!strcmp(from, to))
		table_cell(t, "%s%s", about, to);
	else
		table_cell(t, "%s%s..%s", about, from, to);
}

static void heap_cells(const struct memory *m, const struct printer *p, struct table *t, const struct heap_row *row)
{
	char text[LABEL_ROOM], most[FORMAT_SIZE * 2];
	uint64_t at = row->peak_time > p->r->start ? row->peak_time - p->r->start : 0;

	table_cell(t, "%s", memory_who(m->d, &row->who, text, sizeof(text)));
	table_cell(t, "%s", log_safe(heap_name(m, row->some)));
	if (row->known) {
		range_cell(t, row->live_least, row->live_most, row->exact);
		range_cell(t, row->peak_least, row->peak_most, row->exact);
		table_cell(t, "%s", printer_time(p, text, at));
	} else {
		for (int i = 0; i < 3; i++)
			table_cell(t, "not known");
	}
	byte_rate(text, sizeof(text), row->trend_least);
	byte_rate(most, sizeof(most), row->trend_most);
	if (!strcmp(text, most))
		table_cell(t, "%s", row->trend_most > 0 ? most : "-");
	else
		table_cell(t, "%s..%s", text, most);
	table_cell(t, "%s", format_count(text, row->blocks));
	table_cell(t, "%s", format_count(text, row->before));
}

static bool same_row(const struct memory *m, const struct heap *a, const struct heap *b)
{
	return same_text(heap_name(m, a), heap_name(m, b)) && (a->process == NO_INDEX) == (b->process == NO_INDEX);
}

static void print_heaps(const struct memory *m, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Who", .left = true, .shrinks = true },
		{ .title = "Heap", .left = true },
		{ .title = "Live at end" },
		{ .title = "High water" },
		{ .title = "At", .drop = 2 },
		{ .title = "Growth" },
		{ .title = "Blocks", .drop = 1 },
		{ .title = "Freed from before", .drop = 3 },
	};
	struct table t = { 0 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0, rows = 0; i < m->norder && (!p->style->top || rows < p->style->top); i++) {
		const struct heap *heap = &m->heaps[m->order[i]];
		struct heap_row row = { 0 };
		bool shown = false;

		for (size_t k = 0; k < i && !shown && !p->whole; k++)
			shown = same_row(m, &m->heaps[m->order[k]], heap);
		if (shown)
			continue;
		for (size_t k = i; k < (p->whole ? i + 1 : m->norder); k++)
			if (same_row(m, &m->heaps[m->order[k]], heap) && add_heap(m, &row, &m->heaps[m->order[k]]))
				*p->error = *p->error ?: -ENOMEM;
		heap_cells(m, p, &t, &row);
		people_free(&row.who);
		rows++;
	}
	printer_table(p, &t);
}

/* --- places ------------------------------------------------------------------------------ */

static void print_suspects(const struct memory *m, const struct printer *p)
{
	bool *done = calloc(m->nsorted + 1, sizeof(*done));
	char who[LABEL_ROOM], where[LABEL_ROOM], bytes[FORMAT_SIZE], count[FORMAT_SIZE], text[3 * LABEL_ROOM];
	char rate[FORMAT_SIZE * 2];

	if (!done)
		*p->error = *p->error ?: -ENOMEM;
	for (size_t i = 0, shown = 0; done && i < m->nsorted && (p->whole || shown < SUSPECTS_SHOWN); i++) {
		const struct memory_site *site = &m->sites[m->sorted[i]];
		struct memory_group group;

		if (site->verdict != VERDICT_SUSPECT)
			break;
		if (done[i])
			continue;
		if (memory_group_of(m, i, &group, done)) {
			*p->error = *p->error ?: -ENOMEM;
			break;
		}
		snprintf(text, sizeof(text), "leak suspected: %s, %s: %s in %s blocks that nobody has freed, %s",
			 site_label(m->d, site->site, where, sizeof(where)),
			 memory_who(m->d, &group.who, who, sizeof(who)), format_bytes(bytes, group.bytes),
			 format_count(count, group.blocks), byte_rate(rate, sizeof(rate), group.rate));
		printer_paragraph(p, "-", text);
		people_free(&group.who);
		shown++;
	}
	free(done);
}

static const char *verdict_text(const struct memory *m, const struct memory_site *site)
{
	const struct heap *heap = &m->heaps[site->heap];

	if (site->verdict == VERDICT_SUSPECT)
		return "leak?";
	if (site->verdict == VERDICT_UNKNOWN)
		return "not known";
	if (!site_live(site))
		return "";
	return memory_slot_of(m, site->newest) < heap->first + (heap->last + 1 - heap->first) / 5 ? "since start" : "";
}

static void print_sites(const struct memory *m, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Allocated at", .left = true, .shrinks = true },
		{ .title = "Who", .left = true, .shrinks = true },
		{ .title = "Blocks" },
		{ .title = "Alive" },
		{ .title = "Live" },
		{ .title = "Oldest", .drop = 2 },
		{ .title = "Newest", .drop = 3 },
		{ .title = "Short-lived", .drop = 1 },
		{ .title = "Their time", .drop = 1 },
		{ .title = "", .left = true },
	};
	size_t shown = printer_rows(p, m->nsorted);
	char text[LABEL_ROOM];
	struct table t = { 0 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct memory_site *site = &m->sites[m->sorted[i]];
		uint32_t process = m->heaps[site->heap].process;
		bool alive = site->blocks > site->freed;

		table_cell(&t, "%s",
			   site->site == NO_INDEX ? "(site not known)"
						  : site_label(m->d, site->site, text, sizeof(text)));
		table_cell(&t, "%s", process == NO_INDEX ? "all" : process_label(m->d, process, text, sizeof(text)));
		table_cell(&t, "%s", format_count(text, site->blocks));
		table_cell(&t, "%s", format_count(text, site->blocks - site->freed));
		table_cell(&t, "%s", format_bytes(text, site_live(site)));
		table_cell(&t, "%s", alive ? printer_time(p, text, m->end - site->oldest) : "-");
		table_cell(&t, "%s", alive ? printer_time(p, text, m->end - site->newest) : "-");
		table_cell(&t, "%s", format_count(text, site->churned));
		table_cell(&t, "%s", printer_time(p, text, site_churn(site)));
		table_cell(&t, "%s", verdict_text(m, site));
	}
	printer_table(p, &t);
	printer_rest(p, shown, m->nsorted, "places");
}

/* --- what was not seen ---------------------------------------------------------------------- */

static void print_unseen(const struct memory *m, const struct printer *p)
{
	uint64_t missing = 0, beyond = m->crowded, unknown = 0, again = 0;
	char text[200], count[FORMAT_SIZE];
	bool out = false, exact = true;

	for (size_t i = 0; i < m->norder; i++) {
		const struct heap *heap = &m->heaps[m->order[i]];

		missing += heap->missing;
		beyond += heap->beyond;
		unknown += heap->unplaced + heap->unsized;
		again += heap->again;
		out |= heap->out;
		exact &= heap->exact;
	}
	if (exact && !p->whole)
		return;
	if (missing) {
		snprintf(text, sizeof(text),
			 "%s calls were lost or only counted: what is live is not exact, and no "
			 "leak is claimed.",
			 format_count(count, missing));
		printer_paragraph(p, "", text);
	}
	if (out)
		printer_paragraph(p, "",
				  "For a part of the time calls were not seen: what is live then is not exact, "
				  "and no leak is claimed there.");
	if (beyond) {
		snprintf(text, sizeof(text), "%s blocks more were alive than are followed; no leak is claimed.",
			 format_count(count, beyond));
		printer_paragraph(p, "", text);
	}
	if (again) {
		snprintf(text, sizeof(text),
			 "%s blocks were freed by calls that nobody saw: their addresses were "
			 "given out again.",
			 format_count(count, again));
		printer_paragraph(p, "", text);
	}
	if (unknown) {
		snprintf(text, sizeof(text), "Of %s calls the block or its size is not known.",
			 format_count(count, unknown));
		printer_paragraph(p, "", text);
	}
}

void memory_print(void *state, const struct printer *p)
{
	const struct memory *m = state;

	if (!m->norder)
		return;
	printer_heading(p, "  (blocks allocated while it was observed; growth: where it is steady)");
	print_heaps(m, p);
	print_suspects(m, p);
	if (p->whole)
		print_sites(m, p);
	print_unseen(m, p);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_process(struct json *j, const struct memory *m, const struct heap *heap)
{
	const struct def_process *process = heap->process < m->d->nprocesses ? &m->d->processes[heap->process] : NULL;

	json_key_uint_known(j, "pid", process ? process->pid : 0, process);
	json_key_int_known(j, "rank", process ? process->rank : 0, process && process->rank >= 0);
	json_key_string(j, "heap", heap_name(m, heap));
}

static void put_heap(struct json *j, const struct memory *m, const struct heap *heap)
{
	json_object(j);
	put_process(j, m, heap);
	json_key_bool(j, "exact", heap->exact);
	json_key_uint_known(j, "live_bytes", heap->live, heap_is_known(heap));
	json_key_uint_known(j, "live_blocks", heap->blocks.count, heap_is_known(heap));
	json_key_uint_known(j, "high_water_bytes", heap->peak, heap_is_known(heap));
	json_key_uint_known(j, "high_water_ns", heap->peak_time, heap_is_known(heap));
	json_key_uint(j, "blocks", heap->blocks_given);
	json_key_uint(j, "bytes", heap->bytes_given);
	json_key_uint(j, "freed", heap->blocks_freed);
	json_key_uint(j, "freed_from_before", heap->from_before);
	json_key_uint(j, "failed", heap->failed);
	json_key_uint(j, "steady_from_ns", heap->steady_from);
	json_key_uint(j, "steady_live_bytes", heap->steady_live);
	json_key(j, "trend_bytes_per_s");
	json_double(j, heap->trend);
	json_key_bool(j, "grows", heap->grows);
	json_key_uint(j, "missing_calls", heap->missing);
	json_key_bool(j, "unseen_for_a_while", heap->out);
	json_key_uint(j, "blocks_of_unknown_bytes", heap->unsized);
	json_key_uint(j, "calls_of_unknown_block", heap->unplaced);
	json_key_uint(j, "given_while_alive", heap->again);
	json_key_uint(j, "beyond", heap->beyond);
	json_end_object(j);
}

static void put_site(struct json *j, const struct memory *m, const struct memory_site *site)
{
	static const char *const verdicts[] = { "none", "suspected", "unknown" };
	bool alive = site->blocks > site->freed;

	json_object(j);
	put_process(j, m, &m->heaps[site->heap]);
	put_call_site(j, "place", m->d, site->site);
	json_key_string(j, "event", m->d->probes[site->probe].event);
	json_key_uint(j, "blocks", site->blocks);
	json_key_uint(j, "bytes", site->bytes);
	json_key_uint(j, "live_blocks", site->blocks - site->freed);
	json_key_uint(j, "live_bytes", site_live(site));
	json_key_uint_known(j, "oldest_ns", m->end - site->oldest, alive);
	json_key_uint_known(j, "newest_ns", m->end - site->newest, alive);
	json_key_string(j, "leak", verdicts[site->verdict]);
	json_key(j, "live_bytes_per_s");
	json_double(j, memory_site_rate(m, site));
	json_key_uint(j, "short_lived_blocks", site->churned);
	json_key_uint(j, "short_lived_bytes", site->churned_bytes);
	json_key_uint(j, "short_lived_ns", site_churn(site));
	json_end_object(j);
}

void memory_json(void *state, const struct report *r, struct json *j)
{
	const struct memory *m = state;

	json_object(j);
	json_key(j, "heaps");
	json_array(j);
	for (size_t i = 0; i < m->norder; i++)
		put_heap(j, m, &m->heaps[m->order[i]]);
	json_end_array(j);
	json_key(j, "sites");
	json_array(j);
	for (size_t i = 0; i < m->nsorted; i++)
		put_site(j, m, &m->sites[m->sorted[i]]);
	json_end_array(j);
	json_end_object(j);
}
