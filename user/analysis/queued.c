/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queued.c - what a thread lost by waiting for a processor: see scheduling.h.
 *
 * The kernel tells how long a thread could have run and had no processor, not in which calls. In a call that waits for
 * another thread some runtimes ask again and again whether that one has come, and give the processor away between two
 * questions (sched_yield). Where there are fewer processors than threads such a thread is queued for most of its wait,
 * and loses nothing by that: what it waits for comes no earlier.
 *
 * When calls waited for others is known (simulate/relations.h). A thread that sleeps is taken to sleep in these waits,
 * as far as they go; for the rest of them it was awake, and may have been queued all the time. What it was queued
 * beyond that is lost. It is worked out for each interval in which the kernel was asked, and for the rest of its life
 * together, so that a wait excuses nothing that was queued at another time.
 *
 * Where calls of such kinds are missing, waits are not put together. There all time in calls in which one waits stands
 * for them.
 */
#include "analysis/analyses.h"
#include "analysis/scheduling.h"

#include <errno.h>
#include <stdlib.h>

/* Of the intervals of one thread, in the order of time. */
struct own {
	size_t first, count; /* in queued.order */
	size_t next;         /* the first that is not over when its last wait began */
	uint64_t waited;     /* ns, all its life */
};

struct queued {
	const struct definitions *d;
	uint32_t *order;  /* intervals by thread and time */
	struct own *own;  /* by thread */
	uint64_t *waited; /* ns, by interval */
	uint64_t *lost, *lost_in;
	size_t nthreads, nqueues;
};

static int by_thread_and_time(const void *a, const void *b, void *context)
{
	const struct def_queue *queues = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct def_queue *x = &queues[i], *y = &queues[k];

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void forget(void *state)
{
	struct queued *s = state;

	if (!s)
		return;
	free(s->order);
	free(s->own);
	free(s->waited);
	free(s->lost);
	free(s->lost_in);
	free(s);
}

static int begin(void **state, const struct definitions *d)
{
	struct queued *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->nthreads = d->nthreads;
	s->nqueues = d->nqueues;
	s->order = calloc(s->nqueues + 1, sizeof(*s->order));
	s->waited = calloc(s->nqueues + 1, sizeof(*s->waited));
	s->lost_in = calloc(s->nqueues + 1, sizeof(*s->lost_in));
	s->own = calloc(s->nthreads + 1, sizeof(*s->own));
	s->lost = calloc(s->nthreads + 1, sizeof(*s->lost));
	if (!s->order || !s->waited || !s->lost_in || !s->own || !s->lost)
		return -ENOMEM;
	for (size_t i = 0; i < s->nqueues; i++)
		s->order[i] = i;
	qsort_r(s->order, s->nqueues, sizeof(*s->order), by_thread_and_time, d->queues);
	for (size_t i = 0; i < s->nqueues; i++) {
		struct own *own = &s->own[d->queues[s->order[i]].thread];

		own->first = own->count ? own->first : i;
		own->count++;
	}
	return 0;
}

/* The n-th interval of the thread: up to the next one at most, whatever a recording says. */
static uint64_t end_of(const struct queued *s, const struct own *own, size_t n)
{
	uint64_t to = s->d->queues[s->order[own->first + n]].to;
	uint64_t next = n + 1 < own->count ? s->d->queues[s->order[own->first + n + 1]].from : UINT64_MAX;

	return to < next ? to : next;
}

/* Those of one thread come in the order of time. */
static void waits(struct queued *s, uint32_t thread, uint64_t start, uint64_t end)
{
	struct own *own = &s->own[thread];

	if (end <= start)
		return;
	own->waited += end - start;
	while (own->next < own->count && end_of(s, own, own->next) <= start)
		own->next++;
	for (size_t n = own->next; n < own->count; n++) {
		uint32_t number = s->order[own->first + n];
		uint64_t from = s->d->queues[number].from, to = end_of(s, own, n);

		if (from >= end)
			break;
		from = from > start ? from : start;
		to = to < end ? to : end;
		s->waited[number] += to > from ? to - from : 0;
	}
}

static int call(void *state, const struct related_call *call, const struct waited *waited)
{
	if (waited)
		waits(state, call->thread, call->start, waited->until);
	return 0;
}

static int work(void *state, const struct related_work *work)
{
	if (work->waits)
		waits(state, work->thread, work->start, work->end);
	return 0;
}

static uint64_t less(uint64_t ns, uint64_t by)
{
	return ns > by ? ns - by : 0;
}

/* Of these ns in which it was queued what its waits do not excuse; lasted: all time that they are of. */
static uint64_t beyond(uint64_t queued, uint64_t run, uint64_t waited, uint64_t lasted)
{
	uint64_t asleep = less(less(lasted, run), queued);

	return less(queued, less(waited, asleep));
}

static bool may_wait(enum group group)
{
	return group == GROUP_BARRIER || group == GROUP_WAIT || group == GROUP_COLLECTIVE || group == GROUP_DATA ||
	       group == GROUP_LOCK;
}

/* Then nothing is put together of that process, nor of those that have to do with it. */
static bool calls_are_missing(const struct report *r)
{
	for (size_t i = 0; i < r->d->nsums; i++) {
		const struct def_sum *sum = &r->d->sums[i];

		if (sum->lost + sum->summed + sum->skipped && may_wait(group_of_role(r->d->probes[sum->probe].role)))
			return true;
	}
	return false;
}

/* In calls of such kinds one waits; whether it did is not known. */
static uint64_t may_have_waited(const struct report_thread *t)
{
	uint64_t ns = 0;

	for (enum group group = 0; group < GROUPS; group++)
		ns += may_wait(group) ? t->likely_group[group] : 0;
	return ns;
}

static void sum_up(struct queued *s, const struct report_thread *t, bool missing)
{
	const struct def_thread *thread = &s->d->threads[t->thread];
	const struct own *own = &s->own[t->thread];
	uint64_t queued = scheduling_queued(thread), run = scheduling_ran(thread), lasted = thread->observed,
		 waited = own->waited, lost = 0;

	if (missing) {
		if (waited < may_have_waited(t))
			waited = may_have_waited(t);
		s->lost[t->thread] = beyond(queued, run, waited, lasted);
		return;
	}
	for (size_t n = 0; n < own->count; n++) {
		uint32_t number = s->order[own->first + n];
		const struct def_queue *queue = &s->d->queues[number];
		uint64_t length = less(end_of(s, own, n), queue->from);

		s->lost_in[number] = beyond(queue->queued, queue->run, s->waited[number], length);
		lost += s->lost_in[number];
		queued = less(queued, queue->queued);
		run = less(run, queue->run);
		waited = less(waited, s->waited[number]);
		lasted = less(lasted, length);
	}
	lost += beyond(queued, run, waited, lasted);
	s->lost[t->thread] = lost < scheduling_queued(thread) ? lost : scheduling_queued(thread);
}

static int end(void *state, struct report *r)
{
	struct queued *s = state;
	bool missing = calls_are_missing(r);

	for (size_t i = 0; i < r->nthreads; i++)
		if (r->threads[i].thread < s->nthreads)
			sum_up(s, &r->threads[i], missing);
	r->queue_lost = s->lost;
	r->nqueue_lost = s->nthreads;
	r->queue_lost_in = s->lost_in;
	r->nqueue_lost_in = s->nqueues;
	return 0;
}

/* Those who tell who had no processor, also as a warning (printer.c). */
static bool serves(const struct analysis *is)
{
	return is == &analysis_scheduling || is == &analysis_threads || is->of_waiting;
}

static bool possible(const struct definitions *d)
{
	for (size_t i = 0; i < d->nthreads; i++)
		if (scheduling_queue_is_known(&d->threads[i]) && scheduling_queued(&d->threads[i]))
			return true;
	return false;
}

static const struct relations_ops relations = { .call = call, .work = work };

const struct analysis analysis_queued = {
	.name = "queued",
	.serves = serves,
	.possible = possible,
	.begin = begin,
	.relations = &relations,
	.end = end,
	.free = forget,
};
