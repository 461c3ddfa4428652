/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by_print.c - calls summed up by what the user wants, as text and as JSON.
 */
#include "analysis/by.h"

#include <stdio.h>

#include "analysis/printer.h"
#include "analysis/put.h"

static bool spreads(const struct by *s)
{
	for (unsigned i = 0; i < s->grouping.count; i++)
		if (s->grouping.by[i] == BY_THREAD || s->grouping.by[i] == BY_RANK)
			return false;
	for (size_t i = 0; i < s->ngroups; i++)
		if (s->groups[i].processes > 1)
			return true;
	return false;
}

static bool moves(const struct by *s)
{
	for (size_t i = 0; i < s->ngroups; i++)
		if (s->groups[i].sums.known_bytes || s->groups[i].sums.unknown_bytes)
			return true;
	return false;
}

static bool estimates(const struct by *s)
{
	for (size_t i = 0; i < s->ngroups; i++)
		if (s->groups[i].sums.estimated)
			return true;
	return false;
}

static void time_cell(const struct printer *p, struct table *t, const struct by_sums *sums, uint64_t ns)
{
	char text[FORMAT_SIZE];

	if (sums->timed)
		table_cell(t, "%s%s", sums->estimated ? "~" : "", printer_time(p, text, ns));
	else
		table_cell(t, "-");
}

/* "0.98 ms..1.53 ms (rank 3)": who has most of it. */
static void spread_cell(const struct by *s, const struct printer *p, struct table *t, const struct by_group *group)
{
	char least[FORMAT_SIZE], most[FORMAT_SIZE], label[LABEL_ROOM];

	if (group->processes < 2 || !group->sums.timed)
		table_cell(t, "%s", "");
	else
		table_cell(t, "%s..%s (%s)", printer_time(p, least, group->least), printer_time(p, most, group->most),
			   by_label(s, BY_RANK, group->most_process, label, sizeof(label)));
}

static void print_row(const struct by *s, const struct printer *p, struct table *t, const struct by_group *group,
		      bool bytes, bool spread)
{
	const struct by_sums *sums = &group->sums;
	double share = percent(sums->self, p->r->wall);
	char text[FORMAT_SIZE], label[LABEL_ROOM], bar[BAR_ROOM];

	for (unsigned i = 0; i < s->grouping.count; i++)
		table_cell(t, "%s", by_label(s, s->grouping.by[i], group->key[i], label, sizeof(label)));
	table_cell(t, "%s", format_count(text, sums->calls));
	time_cell(p, t, sums, sums->total);
	time_cell(p, t, sums, sums->self);
	if (sums->timed)
		table_cell(t, "%s%.1f%%", sums->estimated ? "~" : "", share);
	else
		table_cell(t, "-");
	if (printer_has_bars(p))
		table_cell(t, "%s", printer_bar(p, bar, share));
	if (bytes)
		table_cell(t, "%s", printer_bytes(text, sums->bytes, sums->known_bytes, sums->unknown_bytes));
	if (spread)
		spread_cell(s, p, t, group);
}

static void fill_table(const struct by *s, const struct printer *p, size_t shown, struct table *t)
{
	static const char *const titles[GROUPED_BYS] = {
		[BY_THREAD] = "Thread", [BY_RANK] = "Rank", [BY_NODE] = "Node", [BY_EVENT] = "Event",
		[BY_LINE] = "Line",     [BY_LOCK] = "Lock", [BY_PEER] = "Peer", [BY_PHASE] = "Phase",
	};
	bool bytes = moves(s), spread = spreads(s);

	for (unsigned i = 0; i < s->grouping.count; i++)
		table_column(t, &(struct column){ .title = titles[s->grouping.by[i]], .left = true, .shrinks = true });
	table_column(t, &(struct column){ .title = "Calls" });
	table_column(t, &(struct column){ .title = "Total", .drop = 1 });
	table_column(t, &(struct column){ .title = "Self" });
	table_column(t, &(struct column){ .title = "% wall", .legend = "% wall: self, of all threads' time" });
	if (printer_has_bars(p))
		table_column(t, &(struct column){ .title = "", .left = true, .drop = 4, .paint = p->bar_paint });
	if (bytes)
		table_column(t, &(struct column){ .title = "Bytes", .drop = 2 });
	if (spread)
		table_column(t, &(struct column){ .title = "Self by rank", .left = true, .drop = 3 });
	for (size_t i = 0; i < shown; i++)
		print_row(s, p, t, &s->groups[i], bytes, spread);
}

static void say_calls(const struct printer *p, uint64_t calls, const char *what)
{
	char number[FORMAT_SIZE], text[300];

	if (!calls)
		return;
	snprintf(text, sizeof(text), "%s %s", format_count(number, calls), what);
	printer_paragraph(p, "", text);
}

static void print_rest(const struct by *s, const struct printer *p)
{
	const struct report *r = p->r;

	say_calls(p, s->others.calls, "calls name none: they are not in the table.");
	say_calls(p, s->beyond.calls, "calls are not in the table: there are too many rows.");
	if (s->by_calls && r->calls > r->delivered)
		say_calls(p, r->calls - r->delivered,
			  "calls are not in the table: they are not on the timeline (--by event has all).");
}

void by_print(void *state, const struct printer *p)
{
	const struct by *s = state;
	struct printer titled = *p;
	char title[100];
	struct table t = { 0 };
	size_t shown = printer_rows(p, s->ngroups), length = snprintf(title, sizeof(title), "By");

	for (unsigned i = 0; i < s->grouping.count; i++)
		length += snprintf(title + length, sizeof(title) - length, "%s %s", i ? "," : "",
				   grouped_by_name(s->grouping.by[i]));
	titled.title = title;
	if (s->ngroups) {
		fill_table(s, p, shown, &t);
		printer_titled_table(&titled,
				     estimates(s) ? "by self time; ~ estimated, for calls that are not on the timeline"
						  : "by self time",
				     &t);
	} else {
		printer_heading(&titled, "");
		printer_paragraph(p, "", "No call was observed that has one.");
	}
	printer_rest(p, shown, s->ngroups, "rows");
	print_rest(s, p);
}

/* --- JSON ------------------------------------------------------------------------ */

static void put_process(struct json *j, const struct definitions *d, uint32_t process)
{
	const struct def_process *p = process < d->nprocesses ? &d->processes[process] : NULL;

	json_key_uint_known(j, "pid", p ? p->pid : 0, p);
	json_key_uint_known(j, "rank", p ? (uint64_t)p->rank : 0, p && p->rank >= 0);
}

static void put_key(const struct by *s, struct json *j, enum grouped_by by, uint64_t key)
{
	char label[LABEL_ROOM];

	by_label(s, by, key, label, sizeof(label));
	switch (by) {
	case BY_RANK:
		json_key_string(j, "process", label);
		put_process(j, s->r->d, (uint32_t)key);
		break;
	case BY_THREAD:
		json_key_string(j, "thread", label);
		json_key_uint(j, "tid", s->r->d->threads[key].tid);
		break;
	case BY_PEER:
		json_key_string(j, "peer", label);
		json_key_uint_known(j, "peer_rank", key, key < BY_NOBODY);
		break;
	case BY_PHASE:
		json_key_string(j, "phase", label);
		json_key_uint_known(j, "from_ns", key < s->r->nphases ? s->r->phases[key].from : 0,
				    key < s->r->nphases);
		json_key_uint_known(j, "to_ns", key < s->r->nphases ? s->r->phases[key].to : 0, key < s->r->nphases);
		break;
	default:
		json_key_string(j, grouped_by_name(by), key >= BY_NOBODY && by != BY_PEER ? NULL : label);
	}
}

static void put_sums(struct json *j, const struct report *r, const struct by_sums *sums)
{
	json_key_uint(j, "calls", sums->calls);
	json_key_uint_known(j, "total_ns", sums->total, sums->timed);
	json_key_uint_known(j, "self_ns", sums->self, sums->timed);
	json_key(j, "self_percent");
	if (sums->timed)
		json_double(j, percent(sums->self, r->wall));
	else
		json_null(j);
	json_key_bool(j, "estimated", sums->estimated);
	json_key_uint_known(j, "bytes", sums->bytes, sums->known_bytes);
	json_key_uint(j, "calls_without_bytes", sums->unknown_bytes);
}

static void put_end(const struct by *s, struct json *j, const char *name, uint32_t process, uint64_t self, bool timed)
{
	char key[40], label[LABEL_ROOM];

	snprintf(key, sizeof(key), "%s_self_ns", name);
	json_key_uint_known(j, key, self, timed);
	snprintf(key, sizeof(key), "%s_process", name);
	json_key_string(j, key, timed ? by_label(s, BY_RANK, process, label, sizeof(label)) : NULL);
}

void by_put(void *state, const struct report *r, struct json *j)
{
	const struct by *s = state;

	json_object(j);
	json_key(j, "grouping");
	json_array(j);
	for (unsigned i = 0; i < s->grouping.count; i++)
		json_string(j, grouped_by_name(s->grouping.by[i]));
	json_end_array(j);
	json_key(j, "rows");
	json_array(j);
	for (size_t i = 0; i < s->ngroups; i++) {
		const struct by_group *group = &s->groups[i];

		json_object(j);
		for (unsigned k = 0; k < s->grouping.count; k++)
			put_key(s, j, s->grouping.by[k], group->key[k]);
		put_sums(j, r, &group->sums);
		json_key_uint(j, "processes", group->processes);
		put_end(s, j, "least", group->least_process, group->least, group->sums.timed);
		put_end(s, j, "most", group->most_process, group->most, group->sums.timed);
		json_end_object(j);
	}
	json_end_array(j);
	json_key_uint(j, "calls_of_none", s->others.calls);
	json_key_uint(j, "calls_beyond", s->beyond.calls);
	json_key_uint(j, "calls_not_on_timeline", s->by_calls && r->calls > r->delivered ? r->calls - r->delivered : 0);
	json_end_object(j);
}
