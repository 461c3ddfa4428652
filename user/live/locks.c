/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks.c - which locks are waited for, and who has them.
 *
 * Time in a call that acquires a lock is taken to be waiting: without others it is next to nothing. A lock belongs to
 * the process, or to the job where the runtime's threads are ranks, and is known by the word that calls name it by.
 * Calls of different threads are told in any order, so who has it is decided by their times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/private.h"
#include "recording/lock_calls.h"
#include "util/array.h"

#define LOCKS_MOST 16384 /* from here on those that nobody used in the interval are forgotten */

struct lock_key {
	uint64_t lock;
	uint32_t process; /* definition; NO_INDEX: the job's */
	uint32_t parent;  /* pid, of the job's; 0: there is only one job */
};

struct lock {
	struct lock_key key;
	struct live_lock is;
	struct live_lock_figures open; /* the interval that goes on */
	uint64_t acquired;             /* ns; by is.holder, or whoever had it last */
	UT_hash_handle hh;
};

static struct lock *lock_of(struct live *live, const struct live_probe *p, const struct span *span, uint64_t value)
{
	uint32_t process = live->d->threads[span->thread].process;
	const struct def_process *def = &live->d->processes[process];
	bool job = p->ranks && def->rank >= 0;
	struct lock_key key;
	struct lock *lock;

	memset(&key, 0, sizeof(key));
	key.lock = value;
	key.process = job ? NO_INDEX : process;
	key.parent = job && live->by_parent ? def->parent : 0;
	HASH_FIND(hh, live->locks, &key, sizeof(key), lock);
	if (lock)
		return lock;
	lock = calloc(1, sizeof(*lock));
	if (!lock)
		return NULL;
	lock->key = key;
	lock->is = (struct live_lock){
		.probe = span->probe, .process = key.process, .lock = value, .holder = NO_INDEX, .site = NO_INDEX
	};
	HASH_ADD(hh, live->locks, key, sizeof(lock->key), lock);
	if (lock->hh.tbl)
		return lock;
	free(lock);
	return NULL;
}

static void acquire(struct lock *lock, const struct span *span)
{
	if (span->site != NO_INDEX)
		lock->is.site = span->site;
	if (span->end < lock->acquired || span->reason != GB_END_RETURN)
		return;
	lock->acquired = span->end;
	lock->is.holder = span->thread;
}

static void release(struct lock *lock, const struct span *span)
{
	if (span->thread == lock->is.holder && span->start >= lock->acquired)
		lock->is.holder = NO_INDEX;
}

int locks_take(struct live *live, const struct live_probe *p, const struct span *span, uint64_t part, bool ended)
{
	enum role role = live->d->probes[span->probe].role;
	struct lock *lock;
	int64_t value;

	if (!live_value(live, span, p->lock, &value))
		return 0;
	lock = lock_of(live, p, span, value);
	if (!lock)
		return -ENOMEM;
	switch (role) {
	case ROLE_ACQUIRE:
		lock->is.probe = span->probe;
		lock->open.wait += part;
		lock->open.calls += ended;
		if (ended)
			acquire(lock, span);
		else
			lock->is.waiting++;
		break;
	case ROLE_TRY:
		if (ended && lock_call_took(&live->d->probes[span->probe], span))
			acquire(lock, span);
		break;
	default:
		release(lock, span);
	}
	return 0;
}

void locks_begin_look(struct live *live)
{
	struct lock *lock, *next;

	HASH_ITER (hh, live->locks, lock, next)
		lock->is.waiting = 0;
}

static int by_wait(const void *a, const void *b)
{
	const struct live_lock *x = a, *y = b;

	if (x->now.wait != y->now.wait)
		return x->now.wait > y->now.wait ? -1 : 1;
	if (x->all.wait != y->all.wait)
		return x->all.wait > y->all.wait ? -1 : 1;
	return x->lock < y->lock ? -1 : x->lock > y->lock;
}

/* Who waits for something else has given back, for that time, what goes with it (pthread_cond_wait). */
static bool may_hold(const struct live *live, uint32_t thread)
{
	const struct live_state *s = thread < live->nstates ? live->states[thread] : NULL;

	return s && s->alive && (s->is.in.probe == NO_INDEX || live->d->probes[s->is.in.probe].role != ROLE_WAIT);
}

int locks_end_look(struct live *live)
{
	bool many = HASH_COUNT(live->locks) > LOCKS_MOST;
	struct lock *lock, *next;

	live->nwaited = 0;
	HASH_ITER (hh, live->locks, lock, next) {
		lock->is.now = lock->open;
		lock->is.all.calls += lock->open.calls;
		lock->is.all.wait += lock->open.wait;
		memset(&lock->open, 0, sizeof(lock->open));
		if (many && !lock->is.now.wait) {
			HASH_DEL(live->locks, lock);
			free(lock);
			continue;
		}
		if (!lock->is.all.calls && !lock->is.waiting)
			continue;
		if (array_one_more(&live->waited, &live->waited_room, live->nwaited, sizeof(*live->waited)))
			return -ENOMEM;
		live->waited[live->nwaited] = lock->is;
		if (lock->is.holder != NO_INDEX && !may_hold(live, lock->is.holder))
			live->waited[live->nwaited].holder = NO_INDEX;
		live->nwaited++;
	}
	if (live->nwaited)
		qsort(live->waited, live->nwaited, sizeof(*live->waited), by_wait);
	return 0;
}

size_t live_locks(const struct live *live)
{
	return live->nwaited;
}

const struct live_lock *live_lock(const struct live *live, size_t index)
{
	return &live->waited[index];
}

void locks_free(struct live *live)
{
	struct lock *lock, *next;

	HASH_ITER (hh, live->locks, lock, next) {
		HASH_DEL(live->locks, lock);
		free(lock);
	}
	free(live->waited);
}
