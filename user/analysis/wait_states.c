/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_states.c - how long calls waited for another thread, by Scalasca's patterns, and for whom.
 */
#include "analysis/analysis.h"
#include "analysis/index.h"
#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "analysis/split_phase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define PAIRS_MOST (1u << 20)
#define ROWS_SHOWN 8

/* One more: the part of an early wait in which the awaited one does not access anything any more. */
#define LATE_COMPLETE WAIT_STATES
#define STATES (WAIT_STATES + 1)

/* Calls of one probe in one state. */
struct state_row {
	unsigned state;
	uint32_t probe;
	uint64_t waits, time, longest; /* ns */
	struct people waiting, awaited;
};

/* Who waited for whom, in one state. */
struct pair {
	unsigned state;
	uint32_t waiting, awaited;
	uint64_t waits, time; /* ns */
};

struct wait_states {
	const struct definitions *d;
	struct state_row *rows;
	size_t nrows, rows_room;
	struct index by_state; /* state and probe -> rows */
	struct pair *pairs;
	size_t npairs, pairs_room;
	struct index by_pair[STATES]; /* waiting and awaited -> pairs */
	uint64_t time, beyond;        /* ns; beyond: of pairs that are in no row */
	struct relations_counts counts;
	struct split_phase split;
};

static const char *const names[STATES] = {
	[WAIT_LATE_SENDER] = "Late sender",       [WAIT_LATE_RECEIVER] = "Late receiver",
	[WAIT_AT_BARRIER] = "Wait at barrier",    [WAIT_AT_NXN] = "Wait at N x N",
	[WAIT_LATE_BROADCAST] = "Late broadcast", [WAIT_EARLY_REDUCE] = "Early reduce",
	[WAIT_FOR_LOCK] = "Wait for a lock",      [WAIT_AT_FENCE] = "Wait at fence",
	[WAIT_LATE_POST] = "Late post",           [WAIT_EARLY_WAIT] = "Early wait",
	[WAIT_LATE_NOTIFY] = "Late notify",       [WAIT_FOR_PROGRESS] = "Wait for progress",
	[LATE_COMPLETE] = "Late complete",
};

static const char *const keys[STATES] = {
	[WAIT_LATE_SENDER] = "late_sender",       [WAIT_LATE_RECEIVER] = "late_receiver",
	[WAIT_AT_BARRIER] = "wait_at_barrier",    [WAIT_AT_NXN] = "wait_at_nxn",
	[WAIT_LATE_BROADCAST] = "late_broadcast", [WAIT_EARLY_REDUCE] = "early_reduce",
	[WAIT_FOR_LOCK] = "wait_for_lock",        [WAIT_AT_FENCE] = "wait_at_fence",
	[WAIT_LATE_POST] = "late_post",           [WAIT_EARLY_WAIT] = "early_wait",
	[WAIT_LATE_NOTIFY] = "late_notify",       [WAIT_FOR_PROGRESS] = "wait_for_progress",
	[LATE_COMPLETE] = "late_complete",
};

static int begin(void **state, const struct definitions *d)
{
	struct wait_states *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	return 0;
}

static struct state_row *row_of(struct wait_states *s, unsigned state, uint32_t probe)
{
	struct index_slot *slot = index_find(&s->by_state, index_key(state, probe));

	if (!slot)
		return NULL;
	if (slot->value != INDEX_FREE)
		return &s->rows[slot->value];
	if (array_one_more(&s->rows, &s->rows_room, s->nrows, sizeof(*s->rows)))
		return NULL;
	slot->value = s->nrows;
	s->rows[s->nrows] = (struct state_row){ .state = state, .probe = probe };
	return &s->rows[s->nrows++];
}

static int note_pair(struct wait_states *s, const struct related_call *call, const struct waited *waited,
		     unsigned state, uint64_t time)
{
	struct index *index = &s->by_pair[state];
	uint64_t key = index_key(call->thread, waited->of.thread);
	struct index_slot *slot;

	if (s->npairs == PAIRS_MOST && !index_known(index, key)) {
		s->beyond += time;
		return 0;
	}
	slot = index_find(index, key);
	if (!slot)
		return -ENOMEM;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&s->pairs, &s->pairs_room, s->npairs, sizeof(*s->pairs)))
			return -ENOMEM;
		slot->value = s->npairs;
		s->pairs[s->npairs++] = (struct pair){ .state = state,
						       .waiting = call->thread,
						       .awaited = waited->of.thread };
	}
	s->pairs[slot->value].waits++;
	s->pairs[slot->value].time += time;
	return 0;
}

static int note(struct wait_states *s, const struct related_call *call, const struct waited *waited, unsigned state,
		uint64_t time)
{
	struct state_row *row = row_of(s, state, call->probe);

	if (!row || people_add(&row->waiting, call->thread) || people_add(&row->awaited, waited->of.thread))
		return -ENOMEM;
	row->waits++;
	row->time += time;
	if (time > row->longest)
		row->longest = time;
	s->time += time;
	return note_pair(s, call, waited, state, time);
}

static int call(void *state, const struct related_call *call, const struct waited *waited)
{
	struct wait_states *s = state;
	uint64_t from;
	int error;

	if (thread_is_left_out(s->d, call->thread))
		return 0;
	error = split_call(&s->split, s->d, call);
	if (!waited || error)
		return error;
	from = waited->until;
	if (waited->state == WAIT_EARLY_WAIT && waited->accessed && waited->accessed < waited->until) {
		from = waited->accessed > call->start ? waited->accessed : call->start;
		error = note(s, call, waited, LATE_COMPLETE, waited->until - from);
	}
	return error || from <= call->start ? error : note(s, call, waited, waited->state, from - call->start);
}

static void related(void *state, const struct relations_counts *counts, const struct efficiencies *efficiencies)
{
	struct wait_states *s = state;

	s->counts = *counts;
}

static int rows_by_time(const void *a, const void *b)
{
	const struct state_row *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->probe < y->probe ? -1 : x->probe > y->probe;
}

static int pairs_by_time(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	if (x->waiting != y->waiting)
		return x->waiting < y->waiting ? -1 : 1;
	return x->awaited < y->awaited ? -1 : x->awaited > y->awaited;
}

static int end(void *state, struct report *r)
{
	struct wait_states *s = state;

	if (s->nrows)
		qsort(s->rows, s->nrows, sizeof(*s->rows), rows_by_time);
	if (s->npairs)
		qsort(s->pairs, s->npairs, sizeof(*s->pairs), pairs_by_time);
	return split_end(&s->split, r);
}

static bool figure(void *state, const struct report *r, const char *name, double *value)
{
	const struct wait_states *s = state;

	if (strcmp(name, "waiting"))
		return false;
	*value = percent(s->time, r->wall);
	return true;
}

/* --- text ------------------------------------------------------------------------ */

static void print_states(const struct wait_states *s, const struct printer *p, size_t shown)
{
	static const struct column columns[] = {
		{ .title = "State", .left = true },
		{ .title = "Event", .left = true, .shrinks = true },
		{ .title = "Waits" },
		{ .title = "Waited" },
		{ .title = "% wall", .legend = "% wall: of all threads' time" },
		{ .title = "Longest", .drop = 1 },
		{ .title = "Waiting", .left = true, .drop = 2 },
		{ .title = "For", .left = true, .drop = 2 },
	};
	char text[LABEL_ROOM];
	struct table t = { 0 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct state_row *row = &s->rows[i];

		table_cell(&t, "%s", names[row->state]);
		table_cell(&t, "%s", event_label(&s->d->probes[row->probe], false, text, sizeof(text)));
		table_cell(&t, "%s", format_count(text, row->waits));
		table_cell(&t, "%s", printer_time(p, text, row->time));
		table_cell(&t, "%.1f%%", percent(row->time, p->r->wall));
		table_cell(&t, "%s", printer_time(p, text, row->longest));
		table_cell(&t, "%s", people_label(s->d, &row->waiting, text, sizeof(text)));
		table_cell(&t, "%s", people_label(s->d, &row->awaited, text, sizeof(text)));
	}
	printer_titled_table(p, "time in calls, and in asking again and again, before what they waited for began", &t);
}

static void print_pairs(const struct wait_states *s, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Waiting", .left = true, .shrinks = true },
		{ .title = "For", .left = true, .shrinks = true },
		{ .title = "State", .left = true },
		{ .title = "Waits" },
		{ .title = "Waited" },
	};
	size_t shown = printer_rows(p, s->npairs);
	char text[LABEL_ROOM];
	struct table t = { 0 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct pair *pair = &s->pairs[i];

		table_cell(&t, "%s", thread_label(s->d, pair->waiting, text, sizeof(text)));
		table_cell(&t, "%s", thread_label(s->d, pair->awaited, text, sizeof(text)));
		table_cell(&t, "%s", names[pair->state]);
		table_cell(&t, "%s", format_count(text, pair->waits));
		table_cell(&t, "%s", printer_time(p, text, pair->time));
	}
	fputs("\n", p->out);
	printer_table(p, &t);
	printer_rest(p, shown, s->npairs, "pairs");
}

static void print_unknown(const struct wait_states *s, const struct printer *p)
{
	char a[FORMAT_SIZE], text[400];

	if (s->counts.alone) {
		snprintf(text, sizeof(text), "Not known for %s sends and receives: the other side was not observed.",
			 format_count(a, s->counts.alone));
		printer_paragraph(p, "", text);
	}
	if (s->counts.incomplete) {
		snprintf(
			text, sizeof(text),
			"Not known for %s calls of barriers and collective operations: not all others were observed, or "
			"they had begun before.",
			format_count(a, s->counts.incomplete));
		printer_paragraph(p, "", text);
	}
	if (s->counts.untold) {
		snprintf(
			text, sizeof(text),
			"Not known for %s calls of one-sided epochs and notifications: who had to let them go on was not "
			"observed, or cannot be told.",
			format_count(a, s->counts.untold));
		printer_paragraph(p, "", text);
	}
	if (s->counts.lossy) {
		snprintf(text, sizeof(text),
			 "Calls of %s process%s are lost: whom they waited for, and who waited for them, is not known.",
			 format_count(a, s->counts.lossy), s->counts.lossy == 1 ? "" : "es");
		printer_paragraph(p, "", text);
	}
}

static bool has_unknown(const struct wait_states *s)
{
	return s->counts.alone || s->counts.incomplete || s->counts.untold || s->counts.lossy;
}

static void print(void *state, const struct printer *p)
{
	const struct wait_states *s = state;
	size_t shown = p->whole || s->nrows < ROWS_SHOWN ? s->nrows : ROWS_SHOWN;

	while (!p->whole && shown && s->rows[shown - 1].time < p->r->wall / 1000)
		shown--;
	if (!shown && !s->counts.lossy && !p->whole)
		return;
	if (shown)
		print_states(s, p, shown);
	else if (has_unknown(s))
		printer_heading(p, "");
	printer_rest(p, shown, s->nrows, "wait states");
	if (p->whole && s->npairs)
		print_pairs(s, p);
	print_unknown(s, p);
}

/* --- JSON ------------------------------------------------------------------------ */

static void put(void *state, const struct report *r, struct json *j)
{
	const struct wait_states *s = state;

	json_object(j);
	json_key_uint(j, "waited_ns", s->time);
	json_key_uint(j, "messages", s->counts.messages);
	json_key_uint(j, "meetings", s->counts.meetings);
	json_key_uint(j, "unmatched", s->counts.alone);
	json_key_uint(j, "incomplete", s->counts.incomplete);
	json_key_uint(j, "untold", s->counts.untold);
	json_key_uint(j, "lossy_processes", s->counts.lossy);
	json_key(j, "states");
	json_array(j);
	for (size_t i = 0; i < s->nrows; i++) {
		json_object(j);
		json_key_string(j, "state", keys[s->rows[i].state]);
		json_key_string(j, "event", s->d->probes[s->rows[i].probe].event);
		json_key_uint(j, "waits", s->rows[i].waits);
		json_key_uint(j, "waited_ns", s->rows[i].time);
		json_key_uint(j, "longest_ns", s->rows[i].longest);
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "pairs");
	json_array(j);
	for (size_t i = 0; i < s->npairs; i++) {
		const struct pair *pair = &s->pairs[i];

		json_object(j);
		json_key_string(j, "state", keys[pair->state]);
		json_key(j, "waiting");
		json_object(j);
		put_thread_ids(j, r, pair->waiting);
		json_end_object(j);
		json_key(j, "for");
		json_object(j);
		put_thread_ids(j, r, pair->awaited);
		json_end_object(j);
		json_key_uint(j, "waits", pair->waits);
		json_key_uint(j, "waited_ns", pair->time);
		json_end_object(j);
	}
	json_end_array(j);
	json_key_uint(j, "in_no_pair_ns", s->beyond);
	json_key(j, "split_phase");
	split_put(&s->split, s->d, j);
	json_end_object(j);
}

static void states_free(void *state)
{
	struct wait_states *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->nrows; i++) {
		people_free(&s->rows[i].waiting);
		people_free(&s->rows[i].awaited);
	}
	for (int i = 0; i < STATES; i++)
		free(s->by_pair[i].slots);
	split_free(&s->split);
	free(s->by_state.slots);
	free(s->rows);
	free(s->pairs);
	free(s);
}

static const struct relations_ops relations = { .call = call };

const struct analysis analysis_wait_states = {
	.name = "wait_states",
	.title = "Wait states",
	.of_calls = true,
	.of_waiting = true,
	.begin = begin,
	.relations = &relations,
	.related = related,
	.end = end,
	.figure = figure,
	.print = print,
	.json = put,
	.free = states_free,
};
