/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - which events of which processes have series of their own.
 *
 * First come, first served, within a share for each user (docs/security-shares.md), and nobody is moved afterwards: a
 * row that has begun to count in an overflow series goes on there. What is in the overflow series is all that the
 * event's total has and no other series has, or had until its process was forgotten: rows beyond the limit, processes
 * that are not kept apart, that had ended before anybody looked, or of which the end was not seen. So nothing vanishes:
 * the sum of all that ever was in these series is the total. And no series ever goes back.
 */
#include "metrics/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "util/array.h"

struct key {
	uint64_t start; /* of the process */
	uint32_t pid, event;
};

struct place {
	struct key key;
	uint64_t generation; /* the last look at which it was there */
	size_t series;       /* 0: it is in the overflow series */
	struct brief last;   /* with series: what they show */
	uint32_t uid;
	UT_hash_handle hh;
};

/* Series of one user's processes. */
struct holding {
	uint32_t uid;
	size_t series;
	UT_hash_handle hh;
};

static void hold(struct rows *rows, uint32_t uid, size_t more, size_t less)
{
	struct holding *h;

	HASH_FIND_INT(rows->holdings, &uid, h);
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return; /* his share is larger than it should be: the limit holds */
		h->uid = uid;
		HASH_ADD_INT(rows->holdings, uid, h);
		if (!h->hh.tbl) {
			free(h);
			return;
		}
	}
	h->series += more;
	h->series -= less > h->series ? h->series : less;
	if (h->series)
		return;
	HASH_DEL(rows->holdings, h);
	free(h);
}

/* No user has more series than are left for all others. */
static bool is_within_share(const struct rows *rows, uint32_t uid, size_t more)
{
	struct holding *h;

	if (rows->used + more > rows->limit)
		return false;
	HASH_FIND_INT(rows->holdings, &uid, h);
	return rows->limit < SHARED_LEAST || (h ? h->series : 0) + more + rows->used + more <= rows->limit;
}

static struct place *find(const struct rows *rows, const struct key *key)
{
	struct place *place;

	HASH_FIND(hh, rows->places, key, sizeof(*key), place);
	return place;
}

static struct key key_of(const struct monitor_process *process, const struct monitor_process_event *event)
{
	return (struct key){ .start = process->start_time, .pid = process->pid, .event = event->event };
}

static struct brief brief_of(const struct monitor_amounts *amounts)
{
	return (struct brief){ amounts->calls, amounts->ns, amounts->bytes, amounts->sized };
}

static void add(struct brief *to, const struct brief *more)
{
	to->calls += more->calls;
	to->ns += more->ns;
	to->bytes += more->bytes;
	to->sized += more->sized;
}

/* What is left when some of it is known. A process's calls may be known to be its own only after they were counted:
 * never less than before. */
static void keep_rest(uint64_t *rest, uint64_t total, uint64_t known)
{
	if (total > known && total - known > *rest)
		*rest = total - known;
}

static void mark_those_that_live(struct rows *rows, const struct monitor_snapshot *snapshot)
{
	for (size_t p = 0; p < snapshot->nprocesses; p++) {
		for (size_t e = 0; e < snapshot->processes[p].nevents; e++) {
			struct key key = key_of(&snapshot->processes[p], &snapshot->processes[p].events[e]);
			struct place *place = find(rows, &key);

			if (place)
				place->generation = rows->generation;
		}
	}
}

static void forget_those_that_ended(struct rows *rows)
{
	struct place *place, *next;

	HASH_ITER (hh, rows->places, place, next) {
		if (place->generation == rows->generation)
			continue;
		add(&rows->gone[place->key.event], &place->last);
		rows->used -= place->series;
		hold(rows, place->uid, 0, place->series);
		HASH_DEL(rows->places, place);
		free(place);
	}
}

static struct place *new_place(struct rows *rows, const struct key *key, uint32_t uid, size_t series)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	place->key = *key;
	place->generation = rows->generation;
	place->uid = uid;
	place->series = is_within_share(rows, uid, series) ? series : 0;
	HASH_ADD(hh, rows->places, key, sizeof(place->key), place);
	if (!place->hh.tbl) {
		free(place);
		return NULL;
	}
	rows->used += place->series;
	hold(rows, uid, place->series, 0);
	return place;
}

static int show(struct rows *rows, const struct monitor_process *process, const struct monitor_event *event,
		const struct monitor_amounts *amounts)
{
	struct row *row;

	if (array_one_more(&rows->shown, &rows->room, rows->nshown, sizeof(*rows->shown)))
		return -ENOMEM;
	row = &rows->shown[rows->nshown++];
	*row = (struct row){ .process = process, .event = event, .amounts = amounts };
	snprintf(row->pid, sizeof(row->pid), "%d", (int)process->pid);
	if (process->rank >= 0)
		snprintf(row->rank, sizeof(row->rank), "%ld", process->rank);
	return 0;
}

static int place_row(struct rows *rows, const struct monitor_snapshot *snapshot, const struct monitor_process *process,
		     const struct monitor_process_event *event, size_t (*series)(const struct monitor_event *event))
{
	const struct monitor_event *what = &snapshot->events[event->event];
	const struct monitor_amounts *amounts = &event->amounts;
	struct key key = key_of(process, event);
	struct place *place = find(rows, &key);

	if (!place)
		place = new_place(rows, &key, process->uid, series(what));
	if (!place)
		return -ENOMEM;
	if (!place->series) {
		rows->over++;
		return 0;
	}
	place->last = brief_of(amounts);
	add(&rows->known[event->event], &place->last);
	return show(rows, process, what, amounts);
}

static int reach_events(struct rows *rows, size_t nevents)
{
	size_t gone = rows->nevents, known = rows->nevents, overflow = rows->nevents;

	if (array_reach(&rows->gone, &gone, nevents, sizeof(*rows->gone)) ||
	    array_reach(&rows->known, &known, nevents, sizeof(*rows->known)) ||
	    array_reach(&rows->overflow, &overflow, nevents, sizeof(*rows->overflow)))
		return -ENOMEM;
	rows->nevents = overflow;
	return 0;
}

static void find_overflow(struct rows *rows, const struct monitor_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->nevents; i++) {
		struct brief total = brief_of(&snapshot->events[i].total), *rest = &rows->overflow[i],
			     *known = &rows->known[i];

		keep_rest(&rest->calls, total.calls, known->calls);
		keep_rest(&rest->ns, total.ns, known->ns);
		keep_rest(&rest->bytes, total.bytes, known->bytes);
		keep_rest(&rest->sized, total.sized, known->sized);
	}
}

int rows_update(struct rows *rows, const struct monitor_snapshot *snapshot,
		size_t (*series)(const struct monitor_event *event))
{
	int err = reach_events(rows, snapshot->nevents);

	if (err)
		return err;
	rows->generation++;
	rows->nshown = rows->over = 0;
	mark_those_that_live(rows, snapshot);
	forget_those_that_ended(rows);
	for (size_t i = 0; i < rows->nevents; i++)
		rows->known[i] = rows->gone[i];
	for (size_t p = 0; !err && p < snapshot->nprocesses; p++)
		for (size_t e = 0; !err && e < snapshot->processes[p].nevents; e++)
			err = place_row(rows, snapshot, &snapshot->processes[p], &snapshot->processes[p].events[e],
					series);
	if (!err)
		find_overflow(rows, snapshot);
	return err;
}

void rows_free(struct rows *rows)
{
	struct place *place, *next;
	struct holding *h, *after;

	HASH_ITER (hh, rows->places, place, next) {
		HASH_DEL(rows->places, place);
		free(place);
	}
	HASH_ITER (hh, rows->holdings, h, after) {
		HASH_DEL(rows->holdings, h);
		free(h);
	}
	free(rows->shown);
	free(rows->gone);
	free(rows->known);
	free(rows->overflow);
}
