/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - locks: who had it before.
 *
 * Who takes a lock waits for the one who had it before, and the order stays that of the recording. That order is
 * known once all threads have been fed up to then. So acquires are *settled* as soon as each thread that goes on has
 * been fed beyond them, and one chunk of the recording later whatever threads make no calls meanwhile. A release that
 * comes only after the next acquire was over (a lock for readers, a lock that another thread gives back) was not waited
 * for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "recording/lock_calls.h"
#include "simulate/parts.h"

struct lock_key {
	uint64_t value;
	uint32_t process, model; /* process NO_INDEX: the same lock in all */
};

struct lock {
	UT_hash_handle hh;
	struct lock_key key;
	uint64_t number;
	struct hold *last; /* the latest that is settled */
	struct hold *unsettled;
	bool listed;
	struct lock *next; /* in locks.dirty */
};

#define RECENT_LOCKS 256 /* a power of two */

struct locks {
	struct lock *table, *dirty;
	struct lock *recent[RECENT_LOCKS]; /* by a few bits of their keys */
};

int locks_open(struct sim *sim)
{
	sim->locks = calloc(1, sizeof(*sim->locks));
	return sim->locks ? 0 : -ENOMEM;
}

void hold_leave(struct hold *hold)
{
	while (hold && !--hold->users) {
		struct hold *previous = hold->previous;

		free(hold);
		hold = previous;
	}
}

void locks_close(struct sim *sim)
{
	struct lock *lock, *next;

	if (!sim->locks)
		return;
	for (size_t i = 0; sim->threads && i < sim->d->nthreads; i++)
		while (sim->threads[i].held) {
			struct hold *hold = sim->threads[i].held;

			sim->threads[i].held = hold->next_held;
			hold_leave(hold);
		}
	HASH_ITER (hh, sim->locks->table, lock, next) {
		HASH_DEL(sim->locks->table, lock);
		while (lock->unsettled) {
			struct hold *hold = lock->unsettled;

			lock->unsettled = hold->next;
			hold_leave(hold);
		}
		hold_leave(lock->last);
		free(lock);
	}
	free(sim->locks);
	sim->locks = NULL;
}

static struct lock *lock_at(struct sim *sim, const struct op *op, int64_t value)
{
	struct lock_key key = { .value = (uint64_t)value, .model = op->facts->model };
	struct lock **recent = &sim->locks->recent[(key.value >> 4 ^ key.value >> 12) & (RECENT_LOCKS - 1)];
	struct lock *lock = *recent;

	key.process = op->facts->global_locks ? NO_INDEX : sim->d->threads[op->thread].process;
	if (lock && !memcmp(&lock->key, &key, sizeof(key)))
		return lock;
	HASH_FIND(hh, sim->locks->table, &key, sizeof(key), lock);
	if (lock) {
		*recent = lock;
		return lock;
	}
	lock = calloc(1, sizeof(*lock));
	if (!lock)
		return NULL;
	lock->key = key;
	lock->number = HASH_COUNT(sim->locks->table);
	HASH_ADD(hh, sim->locks->table, key, sizeof(lock->key), lock);
	if (lock->hh.tbl)
		return lock;
	free(lock);
	return NULL;
}

static struct hold *take(struct sim *sim, struct lock *lock, const struct op *op)
{
	struct sim_thread *thread = &sim->threads[op->thread];
	struct hold *hold = calloc(1, sizeof(*hold));

	if (!hold)
		return NULL;
	*hold = (struct hold){ .lock = lock,
			       .users = 2,
			       .thread = op->thread,
			       .taken = op->end,
			       .takes = { op->thread, op->probe, op->site, op->start, op->end },
			       .next = lock->unsettled,
			       .next_held = thread->held };
	thread->held = hold;
	lock->unsettled = hold;
	if (!lock->listed) {
		lock->listed = true;
		lock->next = sim->locks->dirty;
		sim->locks->dirty = lock;
	}
	sim->counts.locks++;
	return hold;
}

/* NULL: the thread does not have it. The thread's hold passes to the caller. */
static struct hold *give_back(struct sim_thread *thread, const struct lock *lock, const struct op *op)
{
	for (struct hold **at = &thread->held; *at; at = &(*at)->next_held) {
		struct hold *hold = *at;

		if (hold->lock != lock)
			continue;
		*at = hold->next_held;
		hold->release = op->start;
		hold->gives = op_call(op);
		hold->released_fed = true;
		return hold;
	}
	return NULL;
}

int locks_feed(struct sim *sim, struct op *op, const struct span *span)
{
	struct lock *lock;
	int64_t value;

	if (!fact_number(op->facts, WANT_LOCK, span, &value)) {
		if (!op->facts->family)
			return 0;
		value = (int64_t)op->facts->family;
	}
	lock = lock_at(sim, op, value);
	if (!lock)
		return -ENOMEM;
	op->lock_number = lock->number;
	if (op->kind == KIND_ACQUIRE || op->kind == KIND_TRY) {
		if (!lock_call_took(&sim->d->probes[span->probe], span))
			return 0;
		op->hold = take(sim, lock, op);
		if (!op->hold)
			return -ENOMEM;
		op->hold->users++;
		return 0;
	}
	/* A release; or a wait that gives the lock back meanwhile and has it again at its end. */
	op->hold = give_back(&sim->threads[op->thread], lock, op);
	if (op->kind == KIND_WAIT && op->hold)
		return take(sim, lock, op) ? 0 : -ENOMEM;
	return 0;
}

/* --- the order ------------------------------------------------------------ */

/* Which holds are known: all that were taken until then. Of a thread nothing comes that began before what it was fed
 * last. */
static uint64_t known_until(const struct sim *sim)
{
	uint64_t until = UINT64_MAX;

	for (size_t i = 0; i < sim->d->nthreads && !sim->all_fed; i++) {
		const struct sim_thread *thread = &sim->threads[i];

		if (thread->fed < thread->last && thread->fed <= until)
			until = thread->fed ? thread->fed - 1 : 0;
	}
	return until > sim->settled ? until : sim->settled;
}

/* The unsettled hold that was taken first, if it was until then. */
static struct hold *next_settled(struct lock *lock, uint64_t until)
{
	struct hold **best = NULL, *hold;

	for (struct hold **at = &lock->unsettled; *at; at = &(*at)->next)
		if (!best || (*at)->taken <= (*best)->taken) /* of two the one that was fed first, which stands last */
			best = at;
	if (!best || (*best)->taken > until)
		return NULL;
	hold = *best;
	*best = hold->next;
	return hold;
}

static int by_taken(const void *a, const void *b)
{
	const struct hold *x = *(struct hold *const *)a, *y = *(struct hold *const *)b;

	if (x->taken != y->taken)
		return x->taken < y->taken ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void settle(struct sim *sim, struct lock *lock, struct hold *hold)
{
	hold->settled = true;
	if (lock->last) {
		if (lock->last->thread != hold->thread) {
			hold->previous = lock->last; /* with the lock's use of it */
		} else {
			hold_leave(lock->last);
		}
	}
	lock->last = hold; /* the list's use of it passes to the lock */
	schedule_wake(sim, hold->thread);
}

/* Many holds of one lock: sorted once. */
static void settle_many(struct sim *sim, struct lock *lock, size_t count, uint64_t until)
{
	struct hold **holds = calloc(count, sizeof(*holds)), *rest = NULL;
	size_t n = 0;

	if (!holds) {
		sim->error = -ENOMEM;
		return;
	}
	while (lock->unsettled) {
		holds[n++] = lock->unsettled;
		lock->unsettled = lock->unsettled->next;
	}
	qsort(holds, n, sizeof(*holds), by_taken);
	for (size_t i = 0; i < n; i++) {
		if (holds[i]->taken <= until) {
			settle(sim, lock, holds[i]);
		} else {
			holds[i]->next = rest;
			rest = holds[i];
		}
	}
	lock->unsettled = rest;
	free(holds);
}

void locks_settle(struct sim *sim)
{
	uint64_t until = sim->locks->dirty ? known_until(sim) : 0;
	struct lock *lock, *next, *kept = NULL;

	for (lock = sim->locks->dirty; lock; lock = next) {
		size_t count = 0;
		struct hold *hold;

		next = lock->next;
		for (hold = lock->unsettled; hold; hold = hold->next)
			count++;
		if (count > 4)
			settle_many(sim, lock, count, until);
		else
			while ((hold = next_settled(lock, until)))
				settle(sim, lock, hold);
		lock->listed = lock->unsettled;
		if (lock->listed) {
			lock->next = kept;
			kept = lock;
		}
	}
	sim->locks->dirty = kept;
}

bool lock_is_ready(struct sim *sim, struct op *op)
{
	struct hold *hold = op->hold, *previous;

	if (!hold)
		return true;
	if (!hold->settled)
		return false;
	previous = hold->previous;
	if (!previous)
		return true;
	if (!previous->released_fed) {
		if (!sim->all_fed && sim->threads[previous->thread].fed <= hold->taken)
			return false; /* looked at again when more has been fed */
	} else if (previous->release <= hold->taken) {
		if (!previous->released)
			previous->next_op = op;
		return previous->released;
	}
	hold->previous = NULL;
	hold_leave(previous);
	return true;
}
