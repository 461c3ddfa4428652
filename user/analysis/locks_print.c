/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks_print.c - locks, as text and as JSON.
 */
#include "analysis/locks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/printer.h"
#include "analysis/put.h"
#include "util/format.h"

#define ROWS_SHOWN 3    /* where the section is one of many */
#define PAIRS_SHOWN 5   /* of each lock, in the section by itself */
#define UNEXPLAINED 100 /* one in so many of the threads' time, likewise */
#define WORTH 1000      /* one in so many of the threads' time: less is not shown in the whole report */

/* Is it known who held it? */
static bool knows_holds(const struct locks *s, const struct lock *lock)
{
	return !s->sampled && lock->key.apart;
}

static uint64_t mean(uint64_t sum, uint64_t count)
{
	return count ? sum / count : 0;
}

/* --- text: what was not seen -------------------------------------------------- */

struct unseen {
	uint64_t unseen_start, unseen_end, at_end, shared, by_other;
};

static struct unseen unseen_of(const struct locks *s)
{
	struct unseen u = { 0 };

	for (size_t i = 0; i < s->nlocks; i++) {
		const uint64_t *of = s->locks[i].sums.of;

		u.unseen_start += of[LOCK_UNSEEN_START];
		u.unseen_end += of[LOCK_UNSEEN_END];
		u.at_end += of[LOCK_HELD_AT_END];
		u.by_other += of[LOCK_BY_OTHER];
		u.shared += of[LOCK_HOLDERS] > 1;
	}
	return u;
}

static void say_count(const struct printer *p, uint64_t count, const char *what)
{
	char number[FORMAT_SIZE], text[500];

	if (!count)
		return;
	snprintf(text, sizeof(text), "%s %s", format_count(number, count), what);
	printer_paragraph(p, "", text);
}

static void say_unseen(const struct locks *s, const struct printer *p)
{
	struct unseen u = unseen_of(s);

	say_count(
		p, s->sampled,
		"calls of locks were counted only, to keep the cost low. So who held a lock is not known, and neither "
		"are waits and holds.");
	if (!p->whole)
		return;
	say_count(
		p, u.unseen_start,
		"releases of locks that nobody was seen to take: the thread had it already, or the call was lost. How "
		"long it was held is not known.");
	say_count(
		p, u.unseen_end,
		"holds whose end was not seen, as calls of the thread were lost or measurement was off: how long they "
		"lasted is not known.");
	say_count(p, u.at_end, "locks were held when the observation ended.");
	say_count(
		p, u.shared,
		"locks were held by several threads at a time: locks for readers, or releases that were not seen. A call "
		"tells no reader from a writer.");
	say_count(p, u.by_other, "times another thread gave a lock back than the one that took it.");
	say_count(p, s->unknown_lock,
		  "calls of which it is not known which lock they were for: they are not in the table.");
	say_count(p, s->beyond,
		  "calls were for further locks than can be told apart: of these nothing is known but "
		  "their number.");
}

/* --- text: the table ----------------------------------------------------------- */

/* A class by its line, a lock by its name. */
static char *row_label(const struct locks *s, const struct lock *lock, bool is_class, char *text, size_t room)
{
	char where[LABEL_ROOM], number[FORMAT_SIZE];

	if (!is_class || lock->site == NO_INDEX)
		return lock_label(s, lock, text, room);
	site_label(s->d, lock->site, where, sizeof(where));
	if (lock->locks > 1)
		snprintf(text, room, "%s (%s locks)", where, format_count(number, lock->locks));
	else
		snprintf(text, room, "%s", where);
	return text;
}

static void print_row(const struct locks *s, const struct printer *p, struct table *t, const struct lock *lock,
		      bool is_class)
{
	const uint64_t *of = lock->sums.of;
	uint64_t held = lock->locks > 1 ? lock->longest_held : of[LOCK_HELD];
	char label[LABEL_ROOM + 64], text[FORMAT_SIZE];
	bool holds = knows_holds(s, lock);

	table_cell(t, "%s%s", is_class ? "" : "  ", row_label(s, lock, is_class, label, sizeof(label)));
	table_cell(t, "%s", format_count(text, of[LOCK_ACQUIRED]));
	if (!holds) {
		for (int i = 0; i < 6; i++)
			table_cell(t, "?");
	} else {
		table_cell(t, "%.0f%%", percent(of[LOCK_CONTENDED], of[LOCK_ACQUIRED] + of[LOCK_UNFINISHED]));
		table_cell(t, "%s", printer_time(p, text, of[LOCK_WAIT]));
		table_cell(t, "%s", printer_time(p, text, of[LOCK_WAIT_MAX]));
		table_cell(t, "%s", of[LOCK_HOLDS] ? printer_time(p, text, mean(of[LOCK_HOLD], of[LOCK_HOLDS])) : "?");
		table_cell(t, "%.0f%%", percent(of[LOCK_HANDED], of[LOCK_RELEASED]));
		table_cell(t, "%.1f%%", percent(held, s->wall));
	}
	table_cell(t, "%s", of[LOCK_FAILED] ? format_count(text, of[LOCK_FAILED]) : "-");
}

static void print_pairs(const struct locks *s, const struct printer *p, uint32_t class)
{
	char holder[LABEL_ROOM], waiter[LABEL_ROOM], taken[LABEL_ROOM + 16], waits[LABEL_ROOM], ns[FORMAT_SIZE],
		label[LABEL_ROOM + 64];
	size_t count;
	const struct lock_part *rows = lock_rows(s->class_parts, s->nclass_parts, class, PART_PAIR, &count);
	size_t shown = p->whole ? PAIRS_SHOWN : 1;

	for (size_t i = 0; i < count && i < shown; i++) {
		const struct lock_part_key *key = &rows[i].key;
		struct paragraph item = printer_item(p, "-");

		strcpy(taken, ", taken at ");
		site_label(s->d, key->c, taken + strlen(taken), LABEL_ROOM);
		paragraph_words(&item, "%s: %s waited %s at %s while %s held it%s",
				i ? "and" : lock_label(s, &s->classes[class], label, sizeof(label)),
				thread_label(s->d, key->b, waiter, sizeof(waiter)), format_time(ns, rows[i].wait),
				site_label(s->d, key->d, waits, sizeof(waits)),
				thread_label(s->d, key->a, holder, sizeof(holder)), key->c != NO_INDEX ? taken : "");
		paragraph_end(&item);
	}
	if (p->whole && count > shown)
		printer_rest(p, shown, count, "pairs of a holder and a waiter");
}

/* Long calls, and nobody was seen to have the lock. */
static void say_unexplained(const struct locks *s, const struct printer *p, const struct lock *class)
{
	const uint64_t *of = class->sums.of;
	char label[LABEL_ROOM + 64], ns[FORMAT_SIZE], text[LABEL_ROOM + 400];

	if (!knows_holds(s, class) || !of[LOCK_UNCONTENDED] || of[LOCK_UNCONTENDED] < p->r->wall / UNEXPLAINED)
		return;
	snprintf(text, sizeof(text),
		 "%s: calls took %s in which nobody was seen to give the lock back: it may be free and slow to take, "
		 "or who held it was not seen%s.",
		 row_label(s, class, true, label, sizeof(label)), format_time(ns, of[LOCK_UNCONTENDED]),
		 class->key.process == NO_INDEX ? ", as the lock has another name in each process" : "");
	printer_paragraph(p, "-", text);
}

static bool is_worth(const struct locks *s, const struct printer *p, const struct lock *class)
{
	const uint64_t *of = class->sums.of;

	if (p->whole)
		return true;
	return of[LOCK_WAIT] + of[LOCK_SPIN] && of[LOCK_WAIT] + of[LOCK_SPIN] >= p->r->wall / WORTH;
}

/* Of a class with many locks those that are waited for. */
static void print_locks_of(const struct locks *s, const struct printer *p, struct table *t, uint32_t class)
{
	size_t shown = 0;

	if (!p->whole || s->classes[class].locks < 2)
		return;
	for (size_t i = 0; i < s->nlocks && shown < PAIRS_SHOWN; i++) {
		const struct lock *lock = &s->locks[s->order[i]];

		if (lock->class != class || !lock->sums.of[LOCK_WAIT])
			continue;
		print_row(s, p, t, lock, false);
		shown++;
	}
}

void locks_print(void *state, const struct printer *p)
{
	static const struct column columns[] = {
		{ .title = "Lock", .left = true, .shrinks = true },
		{ .title = "Taken" },
		{ .title = "Contended", .legend = "contended: another thread's hold ended within the call" },
		{ .title = "Wait" },
		{ .title = "Max", .drop = 2 },
		{ .title = "Mean hold" },
		{ .title = "Handed on", .drop = 1, .legend = "handed on: releases at which somebody waited already" },
		{ .title = "Serial", .legend = "serial: of the time observed, held by somebody" },
		{ .title = "Failed", .drop = 3 },
	};
	const struct locks *s = state;
	struct table t = { 0 };
	size_t worth = 0, shown;

	while (worth < s->nclasses && is_worth(s, p, &s->classes[worth]))
		worth++;
	shown = p->whole || worth < ROWS_SHOWN ? worth : ROWS_SHOWN;
	shown = p->whole ? printer_rows(p, shown) : shown;
	if (!shown) {
		if (p->whole && (s->sampled || s->nlocks)) {
			printer_heading(p, "");
			say_unseen(s, p);
		}
		return;
	}
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		print_row(s, p, &t, &s->classes[i], true);
		print_locks_of(s, p, &t, i);
	}
	printer_titled_table(p, "", &t);
	printer_rest(p, shown, worth, "classes of locks");
	for (size_t i = 0; i < (p->whole ? shown : 1); i++)
		print_pairs(s, p, i);
	for (size_t i = 0; i < shown; i++)
		say_unexplained(s, p, &s->classes[i]);
	say_unseen(s, p);
}

/* --- JSON ------------------------------------------------------------------------ */

static const char *const figure_names[LOCK_FIGURES] = {
	[LOCK_ACQUIRED] = "acquired",
	[LOCK_CONTENDED] = "contended",
	[LOCK_WAIT] = "wait_ns",
	[LOCK_BEHIND] = "behind_ns",
	[LOCK_UNCONTENDED] = "uncontended_ns",
	[LOCK_UNFINISHED] = "unfinished",
	[LOCK_FAILED] = "failed",
	[LOCK_FAILED_WAIT] = "failed_ns",
	[LOCK_SPIN] = "spin_ns",
	[LOCK_HOLDS] = "holds",
	[LOCK_HOLD] = "hold_ns",
	[LOCK_RELEASED] = "released",
	[LOCK_HANDED] = "handed_on",
	[LOCK_HELD] = "held_ns",
	[LOCK_BUSY] = "busy_ns",
	[LOCK_NESTED] = "nested",
	[LOCK_LENT] = "lent",
	[LOCK_BY_OTHER] = "given_back_by_another",
	[LOCK_UNSEEN_START] = "holds_without_start",
	[LOCK_UNSEEN_END] = "holds_without_end",
	[LOCK_HELD_AT_END] = "held_at_end",
	[LOCK_WAIT_MAX] = "wait_max_ns",
	[LOCK_HOLD_MAX] = "hold_max_ns",
	[LOCK_UNCONTENDED_MAX] = "uncontended_max_ns",
	[LOCK_HOLDERS] = "holders_at_a_time",
};

/* Can it be known only where holds are? */
static bool is_of_holds(enum lock_figure figure)
{
	switch (figure) {
	case LOCK_ACQUIRED:
	case LOCK_UNFINISHED:
	case LOCK_FAILED:
	case LOCK_FAILED_WAIT:
	case LOCK_SPIN:
		return false;
	default:
		return true;
	}
}

static void put_share(struct json *j, const char *key, uint64_t part, uint64_t whole)
{
	json_key(j, key);
	if (whole)
		json_double(j, (double)part / whole);
	else
		json_null(j);
}

static void put_figures(const struct locks *s, struct json *j, const struct lock *lock)
{
	bool known = knows_holds(s, lock);
	const uint64_t *of = lock->sums.of;
	uint64_t held = lock->locks > 1 ? lock->longest_held : of[LOCK_HELD],
		 busy = lock->locks > 1 ? lock->longest_busy : of[LOCK_BUSY];

	for (enum lock_figure i = 0; i < LOCK_FIGURES; i++)
		json_key_uint_known(j, figure_names[i], of[i], known || !is_of_holds(i));
	json_key_uint_known(j, "hold_mean_ns", mean(of[LOCK_HOLD], of[LOCK_HOLDS]), known && of[LOCK_HOLDS]);
	put_share(j, "contended_share", of[LOCK_CONTENDED], known ? of[LOCK_ACQUIRED] + of[LOCK_UNFINISHED] : 0);
	put_share(j, "handed_on_share", of[LOCK_HANDED], known ? of[LOCK_RELEASED] : 0);
	put_share(j, "serial_share", held, known ? s->wall : 0);
	put_share(j, "busy_share", busy, known ? s->wall : 0);
}

static void put_site(const struct locks *s, struct json *j, const char *key, uint32_t site)
{
	put_call_site(j, key, s->d, site);
}

static void put_part(struct json *j, const struct lock_part *part, bool known)
{
	json_key_uint(j, "acquired", part->acquired);
	json_key_uint(j, "failed", part->failed);
	json_key_uint_known(j, "contended", part->contended, known);
	json_key_uint_known(j, "wait_ns", part->wait, known);
	json_key_uint_known(j, "wait_max_ns", part->wait_max, known);
	json_key_uint_known(j, "holds", part->holds, known);
	json_key_uint_known(j, "hold_ns", part->hold, known);
	json_key_uint_known(j, "hold_max_ns", part->hold_max, known);
	json_key_uint_known(j, "blamed_ns", part->blamed, known);
}

static void put_thread(const struct locks *s, const struct report *r, struct json *j, const char *key, uint32_t thread)
{
	const struct def_process *process = thread_process(s->d, thread);

	json_key(j, key);
	json_object(j);
	put_thread_ids(j, r, thread);
	json_key_uint_known(j, "rank", process ? process->rank : 0, process && process->rank >= 0);
	json_end_object(j);
}

static void put_parts(const struct locks *s, const struct report *r, struct json *j, const struct lock_part *parts,
		      size_t nparts, uint32_t lock, bool known)
{
	static const char *const keys[] = { "sites", "threads", "pairs" };

	for (enum lock_part_kind kind = PART_SITE; kind <= PART_PAIR; kind++) {
		size_t count;
		const struct lock_part *rows = lock_rows(parts, nparts, lock, kind, &count);

		json_key(j, keys[kind]);
		if (kind == PART_PAIR && !known) {
			json_null(j);
			continue;
		}
		json_array(j);
		for (size_t i = 0; i < count; i++) {
			json_object(j);
			if (kind == PART_SITE)
				put_site(s, j, "site", rows[i].key.a);
			if (kind == PART_THREAD)
				put_thread(s, r, j, "thread", rows[i].key.a);
			if (kind == PART_PAIR) {
				put_thread(s, r, j, "holder", rows[i].key.a);
				put_thread(s, r, j, "waiter", rows[i].key.b);
				put_site(s, j, "taken_at", rows[i].key.c);
				put_site(s, j, "waits_at", rows[i].key.d);
				json_key_uint(j, "holds", rows[i].contended);
				json_key_uint(j, "wait_ns", rows[i].wait);
				json_key_uint(j, "wait_max_ns", rows[i].wait_max);
			} else {
				put_part(j, &rows[i], known);
			}
			json_end_object(j);
		}
		json_end_array(j);
	}
}

static void put_lock(const struct locks *s, struct json *j, const struct lock *lock)
{
	const struct def_probe *probe = &s->d->probes[lock->probe];
	bool in_process = lock->key.process < s->d->nprocesses;
	char name[32];

	snprintf(name, sizeof(name), "%#llx", (unsigned long long)lock->key.value);
	json_key_string(j, "lock", lock->key.event == NO_INDEX && lock->key.apart ? name : NULL);
	json_key_string(j, "event", probe->event);
	json_key_string(j, "model", probe->model);
	json_key_uint_known(j, "pid", in_process ? s->d->processes[lock->key.process].pid : 0, in_process);
	json_key_int_known(j, "peer", lock->key.peer, lock->key.peer >= 0);
}

/* Of a class with many those of which there is something to say. */
static bool is_told(const struct locks *s, const struct lock *lock)
{
	const uint64_t *of = lock->sums.of;

	return s->classes[lock->class].locks == 1 || of[LOCK_CONTENDED] || of[LOCK_FAILED];
}

void locks_json(void *state, const struct report *r, struct json *j)
{
	const struct locks *s = state;

	json_object(j);
	json_key_uint(j, "observed_ns", s->wall);
	json_key_uint(j, "threads_ns", r->wall);
	json_key_uint(j, "only_counted", s->sampled);
	json_key_uint(j, "of_unknown_lock", s->unknown_lock);
	json_key_uint(j, "not_told_apart", s->beyond);
	json_key_uint(j, "without_pair_ns", s->left_out);
	json_key(j, "classes");
	json_array(j);
	for (size_t i = 0; i < s->nclasses; i++) {
		json_object(j);
		json_key_string(j, "event", s->d->probes[s->classes[i].probe].event);
		json_key_string(j, "model", s->d->probes[s->classes[i].probe].model);
		json_key_uint(j, "locks", s->classes[i].locks);
		put_figures(s, j, &s->classes[i]);
		put_parts(s, r, j, s->class_parts, s->nclass_parts, i, knows_holds(s, &s->classes[i]));
		json_end_object(j);
	}
	json_end_array(j);
	json_key(j, "locks");
	json_array(j);
	for (size_t i = 0; i < s->nlocks; i++) {
		const struct lock *lock = &s->locks[s->order[i]];

		if (lock->class == NO_INDEX || !is_told(s, lock))
			continue;
		json_object(j);
		put_lock(s, j, lock);
		json_key_uint(j, "class", lock->class);
		put_figures(s, j, lock);
		put_parts(s, r, j, s->parts, s->nparts, s->order[i], knows_holds(s, lock));
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}
