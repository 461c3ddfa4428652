/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks.c - which locks are waited for, and who has them meanwhile.
 *
 * Calls are told in one order of time (analysis.h): a lock's state is who holds it (locks_held.c) and who is in a call
 * to take it. A wait for a condition gives its lock back at its start, and has it again at its end; how much of it was
 * waiting for the lock is not known.
 *
 * Where only a part of the calls is on the timeline (limits of cost) they tell nothing of holds. Then only calls are
 * counted.
 */
#include "analysis/locks.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/printer.h"
#include "util/array.h"

#define SOON 1000000 /* ns; one failed attempt and the next that come so soon are one spinning */

#define ROLES (ROLE_BIT(ROLE_ACQUIRE) | ROLE_BIT(ROLE_TRY) | ROLE_BIT(ROLE_RELEASE) | ROLE_BIT(ROLE_WAIT))

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void most(uint64_t *maximum, uint64_t value)
{
	*maximum = later(*maximum, value);
}

/* --- attempts ---------------------------------------------------------------- */

/* The thread tries again. */
static void note_next_try(struct locks *s, uint32_t lock, struct lock_thread *thread, uint64_t time)
{
	if (thread->failed_lock == lock && time >= thread->failed_end && time - thread->failed_end <= SOON)
		s->locks[lock].sums.of[LOCK_SPIN] += time - thread->failed_end;
	thread->failed_lock = NO_INDEX;
}

static int begin_attempt(struct locks *s, uint32_t number, const struct span *span)
{
	struct lock *lock = &s->locks[number];
	struct lock_thread *thread = &s->threads[span->thread];
	struct lock_attempt *a = s->free_attempts;

	lock_advance(lock, span->start);
	note_next_try(s, number, thread, span->start);
	if (a)
		s->free_attempts = a->next;
	else
		a = malloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct lock_attempt){ .previous = lock->last,
				    .next_of_thread = thread->attempts,
				    .lock = number,
				    .thread = span->thread,
				    .site = lock_site(s, span->site),
				    .start = span->start };
	if (lock->last)
		lock->last->next = a;
	else
		lock->first = a;
	lock->last = thread->attempts = a;
	return 0;
}

/* It is over, and in the lists no more; NULL: its start was not seen. */
static struct lock_attempt *end_attempt(struct locks *s, uint32_t number, uint32_t thread)
{
	struct lock_attempt **at = &s->threads[thread].attempts, *a;
	struct lock *lock = &s->locks[number];

	while (*at && (*at)->lock != number)
		at = &(*at)->next_of_thread;
	a = *at;
	if (!a)
		return NULL;
	*at = a->next_of_thread;
	*(a->previous ? &a->previous->next : &lock->first) = a->next;
	*(a->next ? &a->next->previous : &lock->last) = a->previous;
	return a;
}

static void note_attempt(struct locks *s, const struct lock_attempt *a, uint64_t ns, bool took, bool contended)
{
	for (int i = 0; i < 2; i++) {
		struct lock_part *part = i ? lock_thread_part(s, a->lock, a->thread)
					   : lock_site_part(s, a->lock, a->site);

		if (!part)
			continue;
		part->acquired += took;
		part->failed += !took;
		part->contended += contended;
		part->wait += contended ? ns : 0;
		if (contended)
			most(&part->wait_max, ns);
	}
}

static void conclude(struct locks *s, struct lock_attempt *a, const struct span *span, bool took, bool tries)
{
	uint64_t *of = s->locks[a->lock].sums.of, ns = span->end - a->start;
	bool over = span->reason == GB_END_RETURN || span->reason == GB_END_TAIL;
	bool contended = s->locks[a->lock].last_release > a->start;

	if (!took)
		lock_charge_in_vain(s, a->lock, a, span->end);
	if (!took && !over)
		of[LOCK_UNFINISHED]++;
	if (took) {
		of[LOCK_ACQUIRED]++;
	} else if (over) {
		of[LOCK_FAILED]++;
		of[LOCK_FAILED_WAIT] += ns;
		of[LOCK_SPIN] += ns;
	}
	contended = took ? contended : !over && a->behind;
	if (contended) {
		of[LOCK_CONTENDED]++;
		of[LOCK_WAIT] += ns;
		of[LOCK_BEHIND] += a->behind;
		most(&of[LOCK_WAIT_MAX], ns);
	} else if (took) {
		of[LOCK_UNCONTENDED] += ns;
		most(&of[LOCK_UNCONTENDED_MAX], ns);
	}
	if (took || over)
		note_attempt(s, a, ns, took, contended);
	if (!took && over && tries) {
		s->threads[a->thread].failed_lock = a->lock;
		s->threads[a->thread].failed_end = span->end;
	}
}

static int attempt_is_over(struct locks *s, const struct lock_facts *facts, uint32_t number, const struct span *span)
{
	const struct def_probe *probe = &s->d->probes[span->probe];
	struct lock *lock = &s->locks[number];
	struct lock_attempt *a, unseen = { .lock = number, .thread = span->thread, .start = span->start };
	bool took = facts->always ? span->reason == GB_END_RETURN || span->reason == GB_END_TAIL
				  : lock_call_took(probe, span);

	lock_advance(lock, span->end);
	a = end_attempt(s, number, span->thread);
	unseen.site = a ? a->site : lock_site(s, span->site);
	if (lock->probe == NO_INDEX)
		lock->probe = span->probe;
	conclude(s, a ?: &unseen, span, took, facts->does == LOCK_TRIES);
	if (a) {
		a->next = s->free_attempts;
		s->free_attempts = a;
	}
	return took ? lock_take(s, number, span->thread, unseen.site, span->end, true) : 0;
}

/* --- what is told ------------------------------------------------------------- */

static int note_controls(struct locks *s, uint64_t time)
{
	const struct definitions *d = s->d;

	for (; s->next_control < d->ncontrols && d->controls[s->next_control].time <= time; s->next_control++) {
		const struct def_control *control = &d->controls[s->next_control];

		if (control->value)
			continue;
		if (array_reach(&s->off, &s->noff, control->process + (size_t)1, sizeof(*s->off)))
			return -ENOMEM;
		most(&s->off[control->process], control->time);
	}
	return 0;
}

/* New ones hold nothing. */
static int reach_thread(struct locks *s, uint32_t thread)
{
	size_t before = s->nthreads;

	if (thread < s->nthreads)
		return 0;
	if (array_reach(&s->threads, &s->nthreads, thread + (size_t)1, sizeof(*s->threads)))
		return -ENOMEM;
	for (size_t i = before; i < s->nthreads; i++)
		s->threads[i].failed_lock = NO_INDEX;
	return 0;
}

/* The duration of the call is not known: it began, or it was over, at this time. */
static int moment(struct locks *s, const struct lock_facts *facts, uint32_t lock, const struct span *span)
{
	if (facts->does == LOCK_GIVES_BACK || facts->does == LOCK_LENDS)
		lock_give_back(s, lock, span->thread, span->start, facts->does == LOCK_LENDS);
	if (facts->does == LOCK_TAKES && facts->always)
		return lock_take(s, lock, span->thread, lock_site(s, span->site), span->start, false);
	return 0;
}

static int call(struct locks *s, const struct lock_facts *facts, uint32_t lock, const struct event *event)
{
	const struct span *span = event->span;
	bool starts = event->type == EVENT_START;

	if (event->type == EVENT_ATOMIC)
		return moment(s, facts, lock, span);
	switch (facts->does) {
	case LOCK_TAKES:
	case LOCK_TRIES:
		return starts ? begin_attempt(s, lock, span) : attempt_is_over(s, facts, lock, span);
	case LOCK_GIVES_BACK:
		if (starts)
			lock_give_back(s, lock, span->thread, span->start, false);
		return 0;
	case LOCK_LENDS:
		if (starts)
			lock_give_back(s, lock, span->thread, span->start, true);
		else if (span->reason == GB_END_RETURN || span->reason == GB_END_TAIL)
			s->locks[lock].sums.of[LOCK_LENT]++;
		else
			return 0;
		return starts ? 0 : lock_take(s, lock, span->thread, lock_site(s, span->site), span->end, true);
	default:
		return 0;
	}
}

static int locks_event(void *state, const struct definitions *d, const struct event *event)
{
	struct locks *s = state;
	const struct span *span = event->span;
	const struct lock_facts *facts = lock_facts_of(s, span->probe);
	uint32_t lock;
	int error;

	if (!facts)
		return -ENOMEM;
	if (facts->does == LOCK_NOTHING || thread_is_left_out(d, span->thread))
		return 0;
	error = reach_thread(s, span->thread) ?: note_controls(s, event->time) ?: lock_of_call(s, facts, span, &lock);
	if (error)
		return error;
	if (lock == NO_INDEX) {
		s->unknown_lock += event->type != EVENT_END;
		return 0;
	}
	if (s->noff)
		lock_forget_old(s, &s->locks[lock]);
	s->beyond += !s->locks[lock].key.apart && event->type != EVENT_END;
	return call(s, facts, lock, event) ?: s->error;
}

static int locks_gap(void *state, const struct definitions *d, const struct gap *gap)
{
	struct locks *s = state;

	if (reach_thread(s, gap->thread))
		return -ENOMEM;
	while (s->threads[gap->thread].holds)
		lock_forget_hold(s, s->threads[gap->thread].holds, gap->after);
	s->threads[gap->thread].failed_lock = NO_INDEX;
	return s->error;
}

/* --- begin and end -------------------------------------------------------------- */

/* Most calls that wait have no lock: of those alone there is nothing to tell. */
static bool locks_worth(const struct definitions *d, uint32_t probe)
{
	return lock_call_does(&d->probes[probe]) != LOCK_NOTHING;
}

static uint64_t sampled_calls(const struct definitions *d)
{
	uint64_t calls = 0;

	for (uint32_t i = 0; i < d->nsums; i++) {
		const struct def_sum *sum = &d->sums[i];
		enum lock_does does = lock_call_does(&d->probes[sum->probe]);

		if (does != LOCK_NOTHING && !thread_is_left_out(d, sum->thread))
			calls += sum->summed + sum->skipped;
	}
	return calls;
}

static int locks_begin(void **state, const struct definitions *d)
{
	struct locks *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*state = s;
	s->d = d;
	s->sampled = sampled_calls(d);
	s->several_jobs = lock_jobs_repeat(d);
	return 0;
}

static int locks_end(void *state, struct report *r)
{
	struct locks *s = state;
	int error;

	s->sampled = later(s->sampled, sampled_calls(r->d));
	s->wall = r->end > r->start ? r->end - r->start : 0;
	for (size_t i = 0; i < s->nlocks; i++) {
		struct lock *lock = &s->locks[i];

		lock_forget_old(s, lock);
		lock_advance(lock, r->end);
		lock->sums.of[LOCK_HELD_AT_END] += lock->nholds;
	}
	error = lock_classes_make(s, r);
	return error ?: s->error ?: lock_findings(s, r);
}

static void locks_free(void *state)
{
	struct locks *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->nthreads; i++) {
		while (s->threads[i].holds) {
			struct lock_hold *hold = s->threads[i].holds;

			s->threads[i].holds = hold->next_of_thread;
			free(hold);
		}
		while (s->threads[i].attempts) {
			struct lock_attempt *a = s->threads[i].attempts;

			s->threads[i].attempts = a->next_of_thread;
			free(a);
		}
	}
	for (struct lock_hold *hold = s->free_holds, *next; hold; hold = next) {
		next = hold->next;
		free(hold);
	}
	for (struct lock_attempt *a = s->free_attempts, *next; a; a = next) {
		next = a->next;
		free(a);
	}
	free(s->facts);
	free(s->threads);
	free(s->locks);
	free(s->by_name.slots);
	free(s->by_key.slots);
	free(s->parts);
	free(s->by_part.slots);
	free(s->sites);
	free(s->by_place.slots);
	free(s->off);
	free(s->classes);
	free(s->class_parts);
	free(s->order);
	free(s);
}

const struct analysis analysis_locks = {
	.name = "locks",
	.title = "Locks",
	.of_calls = true,
	.roles = ROLES,
	.worth = locks_worth,
	.begin = locks_begin,
	.event = locks_event,
	.gap = locks_gap,
	.end = locks_end,
	.print = locks_print,
	.json = locks_json,
	.free = locks_free,
};
