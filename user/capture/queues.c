/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queues.c - when threads waited for a processor: a look at all of them each second.
 *
 * The kernel keeps the sums of each thread anyway. A look takes one walk over the machine's threads in the kernel, some
 * 0.1 us for each, whoever it is of. Only intervals in which a thread really waited are kept, so that of a job with
 * enough processors nothing is. Of one that runs for days without them the looks become rarer: after so many entries
 * each interval is twice as long.
 */
#include "capture/session.h"
#include "util/clock.h"
#include "util/log.h"

#define EVERY_NS 1000000000ULL
#define ENTRIES (1u << 14) /* then twice as long */
#define WORTH 100          /* one in so many of the interval */

static uint64_t interval(const struct capture_session *s)
{
	size_t doublings = s->d->nqueues / ENTRIES;

	return EVERY_NS << (doublings < 16 ? doublings : 16);
}

/* The thread that is known by this number now; NULL: none, or it is between two threads. */
static struct captured_thread *thread_of(const struct capture_session *s, const struct gb_queue *shown)
{
	struct captured_thread *t = shown->tid < s->threads.room ? s->threads.by_number[shown->tid] : NULL;

	return t && t->pid == shown->pid && !t->ends && !t->successor && !t->left_out ? t : NULL;
}

static void note(struct capture_session *s, struct captured_thread *t, const struct gb_queue *shown)
{
	struct gb_queue last = { .born = shown->born, .time = shown->born };
	uint32_t index;

	if (t->queue.born == shown->born)
		last = t->queue;
	t->queue = *shown;
	if (shown->queued - last.queued < (shown->time - last.time) / WORTH)
		return;
	index = definitions_add_queue(s->d);
	if (index == NO_INDEX)
		return;
	s->d->queues[index] = (struct def_queue){ .thread = t->index,
						  .from = last.time,
						  .to = shown->time,
						  .queued = shown->queued - last.queued,
						  .run = shown->run - last.run };
}

static void take(void *context, const void *record)
{
	const struct gb_queue *shown = record;
	struct capture_session *s = context;
	struct captured_thread *t = thread_of(s, shown);

	if (t)
		note(s, t, shown);
}

void session_end_queue(struct capture_session *s, struct captured_thread *t, const struct gb_life *life)
{
	const struct gb_queue shown = {
		.born = life->born, .time = life->born + life->observed, .run = life->run, .queued = life->queued
	};

	if (s->queues.wanted && life->kind == GB_LIFE_THREAD && life->queued != GB_UNKNOWN && !t->left_out)
		note(s, t, &shown);
}

void capture_follow_queues(struct capture_session *s)
{
	s->queues.wanted = true;
}

void capture_look_at_queues(struct capture_session *s, bool last)
{
	uint64_t now = clock_monotonic();

	if (!s->queues.wanted || (!last && now - s->queues.looked < interval(s)))
		return;
	s->queues.looked = now;
	if (!kernel_show_queues(s->kernel, take, s))
		s->d->run.queues_until = now;
	log_debug("a look at the run queues took %llu us", (unsigned long long)(clock_monotonic() - now) / 1000);
}
