/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays_own.c - who is late (delays.c) by what it does, and who since it had no processor, or is observed.
 *
 * The kernel tells how long a thread was queued in all of its life, not when. So what it was queued more than the
 * others is taken to be what it takes longer, as far as it goes: if that is all of it, nearly, nothing is to be blamed.
 *
 * Nor is it where it lacked a processor at all, could be longer by that, and is so by less than a quarter.
 *
 * Where all lack processors that says too little. Who does three times the work is queued three times as long in it.
 * The others, who wait for it, are queued while they wait: by that they lose nothing, it does not count (queued.c), and
 * the late one is the only one that seems to have been held up. Its work is longer nevertheless where one of these is
 * so:
 *
 *   - It takes a quarter longer even if all that it was queued, wherever that was, was in this work, and nothing of
 *     what the others were was in theirs.
 *   - It hardly ever takes less than 1.5 times what half of the others need in one of four times, and that is less than
 *     0.8 ms. A thread that runs is left alone until the next tick, which come 1 ms apart or more, unless somebody else
 *     is woken. So of work that is shorter a part is done in one go, however many want the processor: if it took no
 *     longer than theirs, some of it would be as quick. Of longer work each piece may be interrupted. So may all work
 *     of a thread that shares its processor with one that is woken all the time, and comes first. It counts only where
 *     the thread might have used other processors, too, and was interrupted no more often than those others.
 *   - It takes as long as another one of which this is known, and was queued as long.
 */
#include "analysis/delays.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/scheduling.h"
#include "util/format.h"

#define LONGER 1.05
#define ANYWAY 1.25   /* times what the others take */
#define EXPLAINED 0.8 /* of what it took longer */
#define AS_LONG 1.25  /* times, at most: about as long */
#define QUICKER 1.5   /* times what the others' quick ones take */
#define OFTENER 1.5   /* times, at most: about as often */
#define MANY 100      /* times, so that its quickest ones tell something */
#define HARDLY 1      /* percent */
#define QUICK 25      /* percent */
#define SLICE 800000  /* ns */

int delays_find_taken(struct delays *s, const struct report *r)
{
	s->taken = calloc(s->d->nthreads + 1, sizeof(*s->taken));
	s->taken_most = calloc(s->d->nthreads + 1, sizeof(*s->taken_most));
	if (!s->taken || !s->taken_most)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->d->nthreads; i++) {
		if (!scheduling_queue_is_known(&s->d->threads[i]))
			continue;
		s->taken[i] = scheduling_lost(r, i);
		s->taken_most[i] = scheduling_queued(&s->d->threads[i]);
	}
	for (size_t i = 0; i < r->nthreads; i++) {
		s->taken[r->threads[i].thread] += r->threads[i].cost;
		s->taken_most[r->threads[i].thread] += r->threads[i].cost;
	}
	return 0;
}

/* Where it lacked a processor, and that could be why, a little is as it happens: whom it was queued behind, and where.
 */
static bool is_little(const struct delays *s, const struct delay *delay, const struct others *others, double longer)
{
	uint32_t thread = delay->deed.thread;

	return others->threads && scheduling_lacks_processor(&s->d->threads[thread]) &&
	       s->taken[thread] >= EXPLAINED * longer && delay_mean(delay) < ANYWAY * others->mean;
}

/*
 * How much it was held up is known of all its time only: what it is more than of the others that do the same, or of
 * those that wait for it, against what it took longer. It is all of that, nearly, or without it the thread does not
 * take clearly longer than the others. Within a call of a runtime there is nothing else to be blamed.
 */
static bool seems_taken(const struct delays *s, const struct delay *delay, const struct others *others)
{
	double longer = others->threads ? delay->lasted - others->mean * delay->times
					: delay_all(delay) / delay->nsuffered;
	double chance = others->threads ? (LONGER - 1) * others->mean * delay->times : 0, usual = others->taken, taken;

	for (uint32_t i = 0; i < s->d->nthreads && !others->threads; i++)
		usual += index_known(&delay->by_victim, i) ? s->taken[i] / delay->nsuffered : 0;
	if (delay->deed.doing == DOING_CALL)
		usual = 0;
	taken = s->taken[delay->deed.thread] - usual;
	return longer > 0 &&
	       (taken >= EXPLAINED * longer || longer - taken <= chance || is_little(s, delay, others, longer));
}

/* Even if it had lost all of its time there. */
static bool is_longer_without(const struct delays *s, const struct delay *delay, const struct others *others)
{
	return delay->lasted - s->taken_most[delay->deed.thread] >= ANYWAY * others->mean * delay->times;
}

/* Times that it was taken from a processor in each ns that it ran. */
static double interruptions(const struct def_thread *thread)
{
	return (double)thread->preempted / (scheduling_ran(thread) ?: 1);
}

/* Nobody was in the way of this one alone: it might run wherever the other did, and was interrupted about as often. */
static bool is_as_free(const struct def_thread *thread, const struct def_thread *other)
{
	return scheduling_queue_is_known(thread) && scheduling_queue_is_known(other) && thread->cpus > 1 &&
	       thread->cpus >= other->cpus && interruptions(thread) <= OFTENER * interruptions(other);
}

/* Some of what one thread does is never as quick as what half of the others do now and then. */
static bool is_never_as_quick(const struct delays *s, const struct delay *row, struct delay_quickest *quick)
{
	double times = 0, quicker = 0;

	*quick = (struct delay_quickest){ 0 };
	if (row->quickest.count < MANY)
		return false;
	quick->its = quickest_at_least(&row->quickest, HARDLY);
	for (size_t i = 0; i < s->room; i++) {
		const struct delay *other = s->table[i];
		uint64_t takes;

		if (!other || other == row || !deed_is_same(&other->deed, &row->deed))
			continue;
		times += other->times;
		if (other->quickest.count < MANY ||
		    !is_as_free(&s->d->threads[row->deed.thread], &s->d->threads[other->deed.thread]))
			continue;
		takes = quickest_at_most(&other->quickest, QUICK);
		if (takes > SLICE || (double)quick->its < QUICKER * takes)
			continue;
		quicker += other->times;
		quick->others = takes > quick->others ? takes : quick->others;
	}
	return quicker && quicker * 2 >= times;
}

/* Of most of its time. */
bool delay_is_never_as_quick(const struct delays *s, const struct delay *delay, struct delay_quickest *quick)
{
	struct delay_quickest one;
	uint64_t lasted = 0;

	*quick = (struct delay_quickest){ 0 };
	if (!delay->nparts)
		return is_never_as_quick(s, delay, quick);
	for (size_t i = 0; i < delay->nparts; i++) {
		if (!is_never_as_quick(s, delay->parts[i], &one))
			continue;
		if (!lasted)
			*quick = one;
		lasted += delay->parts[i]->lasted;
	}
	return lasted * 2 > delay->lasted;
}

/* By itself. */
static bool is_taken(const struct delays *s, const struct delay *delay, const struct others *others)
{
	struct delay_quickest quick;

	if (!seems_taken(s, delay, others))
		return false;
	return delay->deed.doing != DOING_WORK || !others->threads || others->only_alike ||
	       (!is_longer_without(s, delay, others) && !delay_is_never_as_quick(s, delay, &quick));
}

/* About as long, and it was held up as long. */
static bool is_as(const struct delays *s, const struct delay *delay, const struct delay *blamed)
{
	double its = delay_mean(delay), theirs = delay_mean(blamed);

	return delay != blamed && deed_is_same(&delay->deed, &blamed->deed) && its <= AS_LONG * theirs &&
	       theirs <= AS_LONG * its && s->taken[delay->deed.thread] <= AS_LONG * s->taken[blamed->deed.thread];
}

/* As another one that takes longer by what it does. Of what was joined, what is waited for most tells it. */
static bool is_as_one_to_blame(const struct delays *s, const struct delay *delay)
{
	const struct delay *row = delay->nparts ? delay->parts[0] : delay;

	for (size_t i = 0; i < s->room; i++) {
		struct others others;

		if (!s->table[i] || !is_as(s, row, s->table[i]))
			continue;
		others = delay_others(s, s->table[i]);
		if (delay_takes_longer(s->table[i], &others) && !is_taken(s, s->table[i], &others))
			return true;
	}
	return false;
}

bool delay_is_taken(const struct delays *s, const struct delay *delay, const struct others *others)
{
	return is_taken(s, delay, others) && (delay->deed.doing != DOING_WORK || others->only_alike ||
					      !others->threads || !is_as_one_to_blame(s, delay));
}

size_t delays_longer(const struct delays *s, const struct same_work *work, struct delay **longer)
{
	size_t count = 0, blamed;

	for (size_t i = 0; i < work->threads; i++) {
		struct others others = same_work_others(s, work, work->rows[i]);

		if (delay_takes_longer(work->rows[i], &others) && !is_taken(s, work->rows[i], &others))
			longer[count++] = work->rows[i];
	}
	blamed = count;
	for (size_t i = 0; i < work->threads && blamed; i++) {
		struct others others = same_work_others(s, work, work->rows[i]);

		if (!delay_takes_longer(work->rows[i], &others) || !is_taken(s, work->rows[i], &others))
			continue;
		for (size_t k = 0; k < blamed; k++) {
			if (is_as(s, work->rows[i], longer[k])) {
				longer[count++] = work->rows[i];
				break;
			}
		}
	}
	if (count)
		qsort(longer, count, sizeof(*longer), delays_by_time);
	return count;
}

const char *delay_quickest_text(const struct delay_quickest *quick, char *text, size_t room)
{
	char its[FORMAT_SIZE], theirs[FORMAT_SIZE];

	snprintf(
		text, room,
		"99 times of 100 at least %s, where others are through in %s 1 time in 4: no lack of a CPU explains that",
		format_time(its, quick->its), format_time(theirs, quick->others));
	return text;
}
