/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_sums.c - brings the kernel's sums of calls that became no span to the threads that made them.
 *
 * The kernel knows a thread by its number and the time of its first call, for numbers are used again. Here a thread is
 * known by its number as long as it lives. The two meet when the thread ends, or the observation does: the
 * kernel's last word on it says when it was born. Before that, an entry is taken to be of the thread that has its
 * number now, unless the end of one with this number has been told and not been applied yet: then the entry is left for
 * the next look.
 *
 * An entry of a thread that has ended is read for the last time and then removed, so that the kernel's map need only
 * hold what living threads, and those of the last moments, have lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define ENDED_MOST \
	8192 /* entries of ended threads for which a look of its own is worth while; an eighth of the kernel's map */

/* A thread as the kernel names it. */
struct thread_name {
	uint64_t born; /* ns */
	uint64_t tid;
};

struct sum_thread {
	struct thread_name name;
	uint32_t thread; /* index in definitions */
	bool ended;
	UT_hash_handle hh;
};

struct sum_place {
	uint32_t thread, site; /* site: with GB_SUM_INNER, as in gb_sum_place */
};

struct sum_record {
	struct sum_place place;
	uint32_t sum; /* index in definitions */
	UT_hash_handle hh;
};

/* One look at the kernel's map. */
struct look {
	struct capture_session *s;
	struct entry {
		struct gb_sum_place place;
		struct gb_sum sum;
	} * unknown; /* whose threads are not known by birth yet */
	size_t nunknown, unknown_room;
	struct gb_sum_place *ended; /* to be removed */
	size_t nended, ended_room;
	bool failed; /* no memory */
};

static struct sum_thread *find_thread(struct capture_session *s, uint64_t born, uint32_t tid)
{
	struct thread_name name = { born, tid };
	struct sum_thread *known;

	HASH_FIND(hh, s->sums.threads, &name, sizeof(name), known);
	return known;
}

static struct sum_thread *add_thread(struct capture_session *s, uint64_t born, struct captured_thread *t)
{
	struct sum_thread *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return NULL;
	fresh->name = (struct thread_name){ born, t->tid };
	fresh->thread = t->index;
	HASH_ADD(hh, s->sums.threads, name, sizeof(fresh->name), fresh);
	if (!fresh->hh.tbl) {
		free(fresh);
		return NULL;
	}
	t->born = born;
	return fresh;
}

void session_sum_thread(struct capture_session *s, struct captured_thread *t, const struct gb_life *life)
{
	struct sum_thread *known;

	if (!life->sums || s->sums.left)
		return;
	known = find_thread(s, life->born, life->tid) ?: add_thread(s, life->born, t);
	if (!known) {
		s->err = -ENOMEM;
		return;
	}
	if (life->kind == GB_LIFE_THREAD && !known->ended) {
		known->ended = true;
		s->sums.ended += life->sums;
	}
}

bool session_fit_calls(struct captured_thread *t, uint32_t site)
{
	return !array_reach(&t->calls, &t->ncalls, (size_t)site + 1, sizeof(*t->calls));
}

/* --- one entry --------------------------------------------------------- */

static struct def_sum *definition_of(struct capture_session *s, uint32_t thread, uint32_t site)
{
	struct sum_place place = { thread, site };
	struct sum_record *record;
	uint32_t probe;

	HASH_FIND(hh, s->sums.records, &place, sizeof(place), record);
	if (record)
		return &s->d->sums[record->sum];
	probe = session_any_probe(s, site & ~GB_SUM_INNER);
	if (site & GB_SUM_INNER && probe != NO_INDEX)
		probe = session_inner_probe(s, site & ~GB_SUM_INNER, probe);
	record = probe == NO_INDEX ? NULL : calloc(1, sizeof(*record));
	if (!record)
		return NULL;
	record->place = place;
	record->sum = definitions_add_sum(s->d);
	if (record->sum == NO_INDEX) {
		free(record);
		return NULL;
	}
	s->d->sums[record->sum].thread = thread;
	s->d->sums[record->sum].probe = probe;
	HASH_ADD(hh, s->sums.records, place, sizeof(record->place), record);
	if (!record->hh.tbl) {
		free(record);
		return NULL;
	}
	return &s->d->sums[record->sum];
}

/* What has been added since the last look goes into the totals, and to the thread while it lives. */
static void count_new(struct capture_session *s, const struct def_sum *def, uint32_t site, const struct gb_sum *now,
		      struct captured_thread *t)
{
	uint64_t lost = now->lost - def->lost, summed = now->summed - def->summed,
		 skipped = now->skipped - def->skipped;
	uint64_t calls = lost + summed + skipped;
	double gap = calls ? (double)s->sums.elapsed / calls : 0;

	s->totals.lost += lost;
	s->totals.summed += summed;
	s->totals.skipped += skipped;
	if (t && t->index != def->thread)
		t = NULL;
	session_price(s, t, site, lost + summed, false, gap);
	session_price(s, t, site, skipped, true, gap);
	if (!t)
		return;
	if (site >= t->ncalls && !session_fit_calls(t, site))
		return;
	t->calls[site].lost += lost;
	t->calls[site].summed += summed;
	t->calls[site].skipped += skipped;
}

static bool apply(struct capture_session *s, const struct sum_thread *thread, const struct gb_sum_place *place,
		  const struct gb_sum *sum)
{
	struct def_sum *def = definition_of(s, thread->thread, place->probe);

	if (!def)
		return false;
	count_new(s, def, place->probe & ~GB_SUM_INNER, sum,
		  place->tid < s->threads.room ? s->threads.by_number[place->tid] : NULL);
	def->lost = sum->lost;
	def->summed = sum->summed;
	def->skipped = sum->skipped;
	def->timed = sum->timed;
	def->total = sum->total;
	def->min = sum->min;
	def->max = sum->max;
	memcpy(def->bucket, sum->bucket, sizeof(def->bucket));
	return true;
}

/* The thread is over, and so is what was kept to add to its sum. */
static void forget(struct capture_session *s, const struct sum_thread *thread, uint32_t site)
{
	struct sum_place place = { thread->thread, site };
	struct sum_record *record;

	HASH_FIND(hh, s->sums.records, &place, sizeof(place), record);
	if (!record)
		return;
	HASH_DEL(s->sums.records, record);
	free(record);
}

static void take_entry(void *context, const struct gb_sum_place *place, const struct gb_sum *sum)
{
	struct look *look = context;
	struct capture_session *s = look->s;
	struct sum_thread *thread = find_thread(s, place->born, place->tid);

	if ((place->probe & ~GB_SUM_INNER) >= s->probes.count)
		return; /* of our own trial */
	if (!thread) {
		if (array_one_more(&look->unknown, &look->unknown_room, look->nunknown, sizeof(*look->unknown)))
			look->failed = true;
		else
			look->unknown[look->nunknown++] = (struct entry){ *place, *sum };
		return;
	}
	if (!apply(s, thread, place, sum)) {
		look->failed = true;
		return;
	}
	if (!thread->ended)
		return;
	if (array_one_more(&look->ended, &look->ended_room, look->nended, sizeof(*look->ended)))
		look->failed = true;
	else
		look->ended[look->nended++] = *place;
}

/* --- entries of threads not known by birth yet -------------------------- */

/* The thread that the number means now. NULL: it cannot be told yet. */
static struct sum_thread *meet(struct capture_session *s, const struct entry *entry)
{
	struct captured_thread *t;

	if (session_end_is_told(s, entry->place.tid))
		return NULL;
	t = session_thread(s, entry->sum.pid, entry->place.tid, CAPTURE_NOW);
	if (t && t->born && t->born < entry->place.born) {
		session_end_thread(s, t); /* its end was lost */
		t = session_thread(s, entry->sum.pid, entry->place.tid, CAPTURE_NOW);
	}
	if (!t || t->born)
		return NULL;
	return add_thread(s, entry->place.born, t);
}

static void take_unknown(struct look *look)
{
	struct capture_session *s = look->s;

	session_drain_control(s); /* whatever ended before the look is told by now */
	for (size_t i = 0; i < look->nunknown; i++) {
		const struct entry *entry = &look->unknown[i];
		struct sum_thread *thread = find_thread(s, entry->place.born, entry->place.tid) ?: meet(s, entry);

		if (thread && !apply(s, thread, &entry->place, &entry->sum))
			look->failed = true;
	}
}

static void remove_ended(struct look *look)
{
	struct capture_session *s = look->s;
	struct sum_thread *thread, *next;

	for (size_t i = 0; i < look->nended; i++) {
		thread = find_thread(s, look->ended[i].born, look->ended[i].tid);
		if (thread)
			forget(s, thread, look->ended[i].probe);
		kernel_forget_sum(s->kernel, &look->ended[i],
				  0); /* shares are of a whole machine, whose sums are not read here */
	}
	HASH_ITER (hh, s->sums.threads, thread, next) {
		if (!thread->ended)
			continue;
		HASH_DEL(s->sums.threads, thread);
		free(thread);
	}
	s->sums.ended = 0;
}

int capture_read_sums(struct capture_session *s)
{
	struct look look = { .s = s };
	uint64_t now = clock_monotonic();
	int err;

	if (s->sums.left)
		return 0;
	s->sums.elapsed = s->sums.time ? now - s->sums.time : 0;
	s->sums.time = now;
	err = kernel_read_sums(s->kernel, take_entry, &look, NULL);
	take_unknown(&look);
	if (!err)
		remove_ended(&look);
	free(look.unknown);
	free(look.ended);
	return err ? err : look.failed ? -ENOMEM : 0;
}

void capture_leave_sums(struct capture_session *s)
{
	s->sums.left = true;
}

void session_make_room(struct capture_session *s)
{
	int err = s->sums.ended >= ENDED_MOST ? capture_read_sums(s) : 0;

	if (err)
		log_debug("sums cannot be read: %s", strerror(-err));
}

void session_free_sums(struct capture_session *s)
{
	struct sum_thread *thread, *next;
	struct sum_record *record, *after;

	HASH_ITER (hh, s->sums.threads, thread, next) {
		HASH_DEL(s->sums.threads, thread);
		free(thread);
	}
	HASH_ITER (hh, s->sums.records, record, after) {
		HASH_DEL(s->sums.records, record);
		free(record);
	}
}
