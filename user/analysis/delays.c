/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays.c - who causes the waiting, and what it does meanwhile.
 *
 * While one waits for another, that one does something: it computes, it is in a call, or it waits itself, for a third,
 * and so on. All waiting time is divided among what was done at the end of these chains (past.h). It is *direct* for
 * those who waited for that thread, and *passed on* for those who waited for somebody who waited. (Scalasca divides the
 * same time by another rule, by how much longer the late one has worked than its partner since they last met: Böhme et
 * al., Identifying the Root Causes of Wait States. Where all work is late alike, nothing is a delay there.)
 */
#include "analysis/analysis.h"
#include "analysis/index.h"
#include "analysis/past.h"
#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "util/array.h"
#include "util/log.h"

#define ROWS_MOST 65536 /* what is done beyond that is unknown */
#define ROWS_SHOWN 6
#define WORTH_SHARE 100 /* a finding: one in so many of all threads' time */
#define CHIEF_SHARE 5	/* and one in so many of all that is waited */

struct delay {
	UT_hash_handle hh;
	struct deed deed; /* compared as bytes: no padding */
	uint64_t direct, passed_on; /* ns */
	uint64_t waits;	  /* calls that waited for it, in part or in whole */
	uint64_t last;	  /* the last of these */
	struct people waiting;
	struct index by_victim; /* thread -> place in ns */
	uint64_t *ns;
	size_t nns, ns_room;
};

struct delays {
	const struct definitions *d;
	struct pasts *pasts;
	struct delay *table; /* uthash */
	size_t count;
	struct delay **sorted; /* largest first */
	uint64_t direct, passed_on, waits;
	uint32_t waiting; /* the thread that waits now */
	struct relations_counts counts;
};

_Static_assert(sizeof(struct deed) == 9 * sizeof(uint32_t), "a key has no padding");

static int begin(void **state, const struct definitions *d)
{
	struct delays *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->pasts = pasts_new(d);
	return s->pasts ? 0 : -ENOMEM;
}

static struct delay *delay_of(struct delays *s, const struct deed *deed)
{
	struct deed beyond = { deed->thread,
			       DOING_UNKNOWN,
			       NO_INDEX,
			       { NO_INDEX, NO_INDEX },
			       { NO_INDEX, NO_INDEX },
			       { NO_INDEX, NO_INDEX } };
	struct delay *delay;

	HASH_FIND(hh, s->table, deed, sizeof(*deed), delay);
	if (delay)
		return delay;
	if (s->count >= ROWS_MOST && deed->doing != DOING_UNKNOWN)
		return delay_of(s, &beyond);
	delay = calloc(1, sizeof(*delay));
	if (!delay)
		return NULL;
	delay->deed = *deed;
	HASH_ADD(hh, s->table, deed, sizeof(delay->deed), delay);
	if (!delay->hh.tbl) {
		free(delay);
		return NULL;
	}
	s->count++;
	return delay;
}

static int note(void *context, const struct deed *deed, uint64_t ns, bool passed_on)
{
	struct delays *s = context;
	struct delay *delay = delay_of(s, deed);
	struct index_slot *slot = delay ? index_find(&delay->by_victim, s->waiting) : NULL;

	if (!slot)
		return -ENOMEM;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&delay->ns, &delay->ns_room, delay->nns, sizeof(*delay->ns)) ||
		    people_add(&delay->waiting, s->waiting))
			return -ENOMEM;
		slot->value = delay->nns;
		delay->ns[delay->nns++] = 0;
	}
	delay->ns[slot->value] += ns;
	*(passed_on ? &delay->passed_on : &delay->direct) += ns;
	*(passed_on ? &s->passed_on : &s->direct) += ns;
	if (delay->last != s->waits) {
		delay->last = s->waits;
		delay->waits++;
	}
	return 0;
}

static int work(void *state, uint32_t thread, uint64_t start, uint64_t end, uint32_t inside, bool known)
{
	struct delays *s = state;

	return past_work(s->pasts, thread, start, end, inside, known);
}

static int call(void *state, const struct related_call *call, const struct waited *waited)
{
	struct delays *s = state;
	int error;

	if (waited) {
		s->waits++;
		s->waiting = call->thread;
		error = past_blame(s->pasts, call->start, waited, note, s);
		if (error)
			return error;
	}
	return past_call(s->pasts, call, waited);
}

static void related(void *state, const struct relations_counts *counts, const struct efficiencies *efficiencies)
{
	struct delays *s = state;

	s->counts = *counts;
}

static uint64_t all_of(const struct delay *delay)
{
	return delay->direct + delay->passed_on;
}

static int by_time(const void *a, const void *b)
{
	const struct delay *x = *(struct delay *const *)a, *y = *(struct delay *const *)b;

	if (all_of(x) != all_of(y))
		return all_of(x) > all_of(y) ? -1 : 1;
	return memcmp(&x->deed, &y->deed, sizeof(x->deed));
}

/* --- words ------------------------------------------------------------------ */

static void describe(const struct definitions *d, const struct deed *deed, char *text, size_t room)
{
	char label[LABEL_ROOM];

	switch (deed->doing) {
	case DOING_WORK:
		if (deed->inside == NO_INDEX)
			snprintf(text, room, "computes");
		else
			snprintf(text, room, "computes in %s",
				 event_label(&d->probes[deed->inside], false, label, sizeof(label)));
		return;
	case DOING_CALL:
	case DOING_WAIT:
		snprintf(text, room, "%s", event_label(&d->probes[deed->call.probe], false, label, sizeof(label)));
		return;
	default:
		snprintf(text, room, "not known");
	}
}

static const char *called_label(const struct definitions *d, const struct called *called, char *text, size_t room)
{
	if (called->site != NO_INDEX)
		return site_label(d, called->site, text, room);
	if (called->probe != NO_INDEX)
		return event_label(&d->probes[called->probe], false, text, room);
	return "?";
}

/* "a.c:10 to a.c:20 in main": from one call to the next. */
static void place(const struct definitions *d, const struct deed *deed, char *text, size_t room)
{
	char from[LABEL_ROOM], to[LABEL_ROOM];
	const char *after, *before;

	if (deed->doing != DOING_WORK) {
		snprintf(text, room, "%s", deed->doing == DOING_CALL ? called_label(d, &deed->call, to, sizeof(to)) : "");
		return;
	}
	after = called_label(d, &deed->after, from, sizeof(from));
	before = called_label(d, &deed->before, to, sizeof(to));
	if (deed->after.probe == NO_INDEX)
		snprintf(text, room, "until %s", before);
	else if (!strcmp(after, before))
		snprintf(text, room, "around %s", before);
	else
		snprintf(text, room, "%.*s to %s", (int)strcspn(after, " "), after, before);
}

/* --- findings ------------------------------------------------------------------ */

static int find(struct delays *s, struct report *r)
{
	char who[LABEL_ROOM], what[LABEL_ROOM], where[2 * LABEL_ROOM], victims[LABEL_ROOM], time[FORMAT_SIZE];
	int error = 0;

	for (size_t i = 0; i < s->count && !error; i++) {
		const struct delay *delay = s->sorted[i];
		struct finding finding = { .kind = "delay",
					   .event = NO_INDEX,
					   .thread = delay->deed.thread,
					   .weight = all_of(delay) };

		if (all_of(delay) < (s->direct + s->passed_on) / CHIEF_SHARE || all_of(delay) < r->wall / WORTH_SHARE)
			break;
		if (delay->deed.doing == DOING_UNKNOWN)
			continue;
		describe(s->d, &delay->deed, what, sizeof(what));
		place(s->d, &delay->deed, where, sizeof(where));
		error = report_add_finding(
			r, &finding, "%s %s (%s) while %s wait%s for it: %s of waiting in all, %.1f %% of all threads' time",
			thread_label(s->d, delay->deed.thread, who, sizeof(who)), what, where,
			people_label(s->d, &delay->waiting, victims, sizeof(victims)),
			people_count(&delay->waiting) == 1 ? "s" : "", format_time(time, all_of(delay)),
			percent(all_of(delay), r->wall));
	}
	return error;
}

static int end(void *state, struct report *r)
{
	struct delays *s = state;
	struct delay *delay, *next;
	size_t n = 0;

	pasts_free(s->pasts);
	s->pasts = NULL;
	s->sorted = calloc(s->count + 1, sizeof(*s->sorted));
	if (!s->sorted)
		return -ENOMEM;
	HASH_ITER (hh, s->table, delay, next)
		if (!thread_is_left_out(s->d, delay->deed.thread))
			s->sorted[n++] = delay;
	s->count = n;
	qsort(s->sorted, n, sizeof(*s->sorted), by_time);
	return find(s, r);
}

/* --- telling ------------------------------------------------------------------ */

static void print(void *state, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Who", .left = true, .shrinks = true },
		{ .title = "Does meanwhile", .left = true, .shrinks = true },
		{ .title = "Where", .left = true, .shrinks = true },
		{ .title = "Direct" },
		{ .title = "Passed on" },
		{ .title = "% waiting", .drop = 2 },
		{ .title = "Waiting", .left = true, .drop = 1 },
	};
	const struct delays *s = state;
	uint64_t all = s->direct + s->passed_on;
	size_t shown = p->whole ? printer_rows(p, s->count) : s->count < ROWS_SHOWN ? s->count : ROWS_SHOWN;
	char text[2 * LABEL_ROOM], time[FORMAT_SIZE];
	struct table t = { 0 };

	while (!p->whole && shown && all_of(s->sorted[shown - 1]) < all / 100)
		shown--;
	if (!shown)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct delay *delay = s->sorted[i];

		table_cell(&t, "%s", thread_label(s->d, delay->deed.thread, text, sizeof(text)));
		describe(s->d, &delay->deed, text, sizeof(text));
		table_cell(&t, "%s", text);
		place(s->d, &delay->deed, text, sizeof(text));
		table_cell(&t, "%s", text);
		table_cell(&t, "%s", printer_time(p, time, delay->direct));
		table_cell(&t, "%s", printer_time(p, time, delay->passed_on));
		table_cell(&t, "%.1f%%", percent(all_of(delay), all));
		table_cell(&t, "%s", people_label(s->d, &delay->waiting, text, sizeof(text)));
	}
	printer_heading(p, "  (what is done while others wait for it; passed on: they wait for one who waits for it)");
	printer_table(p, &t);
	printer_rest(p, shown, s->count, "causes");
}

static void put_called(struct json *j, const struct definitions *d, const char *key, const struct called *called)
{
	char *where;

	json_key(j, key);
	if (called->probe == NO_INDEX) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key_string(j, "event", d->probes[called->probe].event);
	where = called->site != NO_INDEX ? site_place(d, called->site) : NULL;
	json_key_string(j, "place", where);
	free(where);
	json_end_object(j);
}

static void put(void *state, const struct report *r, struct json *j)
{
	static const char *const doings[DOINGS] = { "computes", "calls", "waits", "unknown" };
	const struct delays *s = state;

	json_object(j);
	json_key_uint(j, "direct_ns", s->direct);
	json_key_uint(j, "passed_on_ns", s->passed_on);
	json_key(j, "causes");
	json_array(j);
	for (size_t i = 0; i < s->count; i++) {
		const struct delay *delay = s->sorted[i];
		const struct deed *deed = &delay->deed;

		json_object(j);
		put_thread_ids(j, r, deed->thread);
		json_key_string(j, "does", doings[deed->doing]);
		json_key_string(j, "inside", deed->inside == NO_INDEX ? NULL : s->d->probes[deed->inside].event);
		put_called(j, s->d, "call", &deed->call);
		put_called(j, s->d, "after", &deed->after);
		put_called(j, s->d, "before", &deed->before);
		json_key_uint(j, "direct_ns", delay->direct);
		json_key_uint(j, "passed_on_ns", delay->passed_on);
		json_key_uint(j, "waits", delay->waits);
		json_key(j, "waiting");
		json_array(j);
		for (uint32_t t = 0; t < s->d->nthreads; t++) {
			const struct index_slot *slot = index_known(&delay->by_victim, t);

			if (!slot)
				continue;
			json_object(j);
			put_thread_ids(j, r, t);
			json_key_uint(j, "ns", delay->ns[slot->value]);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void delays_free(void *state)
{
	struct delays *s = state;
	struct delay *delay, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->table, delay, next) {
		HASH_DEL(s->table, delay);
		people_free(&delay->waiting);
		free(delay->by_victim.slots);
		free(delay->ns);
		free(delay);
	}
	pasts_free(s->pasts);
	free(s->sorted);
	free(s);
}

static const struct relations_ops relations = { .work = work, .call = call };

const struct analysis analysis_delays = {
	.name = "delays",
	.title = "Who is waited for",
	.of_calls = true,
	.begin = begin,
	.relations = &relations,
	.related = related,
	.end = end,
	.print = print,
	.json = put,
	.free = delays_free,
};
