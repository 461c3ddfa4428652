/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks_held.c - who holds a lock, and who waits for that hold to end.
 *
 * When a hold ends, all who were waiting meanwhile have waited for it, from when they came, or from when they were
 * told of the hold before. So the time behind several holders (a lock for readers) is counted once, for the one that
 * left first, and what is left of it for the next. And a hold that goes on when a waiter gets the lock has kept nobody
 * out: whether a lock can be had by several is not asked.
 *
 * A release whose acquire was not seen (the observation began later) ends a hold, too: that much is known. When calls
 * of a thread are lost, or measurement of its process is switched off, its holds end as not known.
 */
#include "analysis/locks.h"

#include <errno.h>
#include <stdlib.h>

#define TOLD_MOST 256     /* waiters that a hold is charged to: the others only know that it ended */
#define HOLDERS_MOST 1024 /* of one lock at a time: of others it is not known that they hold it */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void most(uint64_t *maximum, uint64_t value)
{
	*maximum = later(*maximum, value);
}

/* --- holds ----------------------------------------------------------------- */

/* Counts the time up to now. */
void lock_advance(struct lock *lock, uint64_t time)
{
	uint64_t passed = time > lock->at ? time - lock->at : 0;

	if (lock->holds)
		lock->sums.of[LOCK_HELD] += passed;
	if (lock->holds || lock->first)
		lock->sums.of[LOCK_BUSY] += passed;
	lock->at += passed;
}

/* It is in the lists no more, and not free yet. */
static void unlink_hold(struct locks *s, struct lock_hold *hold)
{
	struct lock_hold **at = &s->locks[hold->lock].holds;

	while (*at != hold)
		at = &(*at)->next;
	*at = hold->next;
	*(hold->previous_of_thread ? &hold->previous_of_thread->next_of_thread
				   : &s->threads[hold->thread].holds) = hold->next_of_thread;
	if (hold->next_of_thread)
		hold->next_of_thread->previous_of_thread = hold->previous_of_thread;
	s->locks[hold->lock].nholds--;
}

static void free_hold(struct locks *s, struct lock_hold *hold)
{
	hold->next = s->free_holds;
	s->free_holds = hold;
}

/* What became of it was not seen after this time. */
void lock_forget_hold(struct locks *s, struct lock_hold *hold, uint64_t time)
{
	struct lock *lock = &s->locks[hold->lock];

	lock_advance(lock, time);
	lock->sums.of[LOCK_UNSEEN_END]++;
	unlink_hold(s, hold);
	free_hold(s, hold);
}

/* Measurement may have been off since. */
void lock_forget_old(struct locks *s, struct lock *lock)
{
	for (struct lock_hold *hold = lock->holds, *next; hold; hold = next) {
		uint32_t process = s->d->threads[hold->thread].process;

		next = hold->next;
		if (process < s->noff && hold->since < s->off[process])
			lock_forget_hold(s, hold, s->off[process]);
	}
}

static struct lock_hold *hold_of(const struct lock *lock, uint32_t thread)
{
	struct lock_hold *hold = lock->holds;

	while (hold && hold->thread != thread)
		hold = hold->next;
	return hold;
}

/* The oldest hold of another thread. */
static const struct lock_hold *others_hold(const struct lock *lock, uint32_t thread)
{
	const struct lock_hold *oldest = NULL;

	for (const struct lock_hold *hold = lock->holds; hold; hold = hold->next)
		if (hold->thread != thread && (!oldest || hold->since < oldest->since))
			oldest = hold;
	return oldest;
}

int lock_take(struct locks *s, uint32_t number, uint32_t thread, uint32_t site, uint64_t time, bool known)
{
	struct lock *lock = &s->locks[number];
	struct lock_hold *hold;

	if (s->sampled || !lock->key.apart)
		return 0;
	hold = hold_of(lock, thread);
	lock_advance(lock, time);
	if (hold) {
		hold->depth++;
		lock->sums.of[LOCK_NESTED]++;
		return 0;
	}
	if (lock->nholds == HOLDERS_MOST) {
		lock->sums.of[LOCK_UNSEEN_END]++;
		return 0;
	}
	hold = s->free_holds;
	if (hold)
		s->free_holds = hold->next;
	else
		hold = malloc(sizeof(*hold));
	if (!hold)
		return -ENOMEM;
	*hold = (struct lock_hold){ .next = lock->holds,
				    .next_of_thread = s->threads[thread].holds,
				    .lock = number,
				    .thread = thread,
				    .site = site,
				    .depth = 1,
				    .since = time,
				    .known = known };
	if (hold->next_of_thread)
		hold->next_of_thread->previous_of_thread = hold;
	lock->holds = s->threads[thread].holds = hold;
	most(&lock->sums.of[LOCK_HOLDERS], ++lock->nholds);
	return 0;
}

/* --- waits ------------------------------------------------------------------- */

static void note_pair(struct locks *s, uint32_t lock, uint32_t holder, uint32_t holder_site,
		      const struct lock_attempt *waiter, uint64_t ns)
{
	struct lock_part *pair = lock_part_of(s, &(struct lock_part_key){ .lock = lock,
									  .kind = PART_PAIR,
									  .a = holder,
									  .b = waiter->thread,
									  .c = holder_site,
									  .d = waiter->site });

	if (!pair) {
		s->left_out += ns;
		return;
	}
	pair->contended++;
	pair->wait += ns;
	most(&pair->wait_max, ns);
}

static void note_blamed(struct locks *s, uint32_t lock, uint32_t holder, uint32_t site, uint64_t ns)
{
	struct lock_part *at = site != NO_INDEX ? lock_site_part(s, lock, site) : NULL;

	if (at)
		at->blamed += ns;
	at = lock_thread_part(s, lock, holder);
	if (at)
		at->blamed += ns;
}

/* A hold is over: those who waited meanwhile have waited for it. */
static void charge(struct locks *s, uint32_t number, uint32_t holder, uint32_t site, uint64_t since, uint64_t time)
{
	struct lock *lock = &s->locks[number];
	unsigned told = 0;
	uint64_t all = 0;

	for (struct lock_attempt *a = lock->first; a && told < TOLD_MOST; a = a->next, told++) {
		uint64_t from = later(later(a->start, a->charged), since);

		if (a->thread == holder || from >= time)
			continue;
		a->behind += time - from;
		a->charged = time;
		all += time - from;
		note_pair(s, number, holder, site, a, time - from);
	}
	if (all)
		note_blamed(s, number, holder, site, all);
	most(&lock->last_release, time);
}

static bool others_wait(const struct lock *lock, uint32_t thread)
{
	return lock->first && (lock->first->thread != thread || lock->first != lock->last);
}

static void note_hold(struct locks *s, const struct lock_hold *hold, uint64_t time)
{
	uint64_t ns = time > hold->since ? time - hold->since : 0;
	struct lock_sums *sums = &s->locks[hold->lock].sums;
	struct lock_part *parts[] = { lock_site_part(s, hold->lock, hold->site), NULL };

	sums->of[LOCK_HOLDS]++;
	sums->of[LOCK_HOLD] += ns;
	most(&sums->of[LOCK_HOLD_MAX], ns);
	for (int i = 0; i < 2; i++) {
		struct lock_part *part = i ? lock_thread_part(s, hold->lock, hold->thread) : parts[0];

		if (!part)
			continue;
		part->holds++;
		part->hold += ns;
		most(&part->hold_max, ns);
	}
}

void lock_give_back(struct locks *s, uint32_t number, uint32_t thread, uint64_t time, bool all)
{
	struct lock *lock = &s->locks[number];
	struct lock_hold *hold;

	if (s->sampled || !lock->key.apart)
		return;
	hold = hold_of(lock, thread);
	if (!hold && lock->nholds == 1) {
		hold = lock->holds;
		lock->sums.of[LOCK_BY_OTHER]++;
	}
	if (hold && !all && --hold->depth)
		return;
	lock_advance(lock, time);
	if (hold) {
		unlink_hold(s, hold);
		if (hold->known)
			note_hold(s, hold, time);
		charge(s, number, hold->thread, hold->site, hold->since, time);
		free_hold(s, hold);
	} else {
		lock->sums.of[LOCK_UNSEEN_START]++;
		charge(s, number, thread, NO_INDEX, 0, time);
	}
	if (!lock->holds) {
		lock->sums.of[LOCK_RELEASED]++;
		lock->sums.of[LOCK_HANDED] += others_wait(lock, thread);
	}
}

/* It ends without the lock: who has it has kept it out until now. */
void lock_charge_in_vain(struct locks *s, uint32_t number, struct lock_attempt *a, uint64_t time)
{
	const struct lock_hold *hold = others_hold(&s->locks[number], a->thread);
	uint64_t from = hold ? later(later(a->start, a->charged), hold->since) : time;

	if (from >= time)
		return;
	a->behind += time - from;
	note_pair(s, number, hold->thread, hold->site, a, time - from);
	note_blamed(s, number, hold->thread, hold->site, time - from);
}
