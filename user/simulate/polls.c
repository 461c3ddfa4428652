/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * polls.c - who asks whether something has come, again and again until it has.
 *
 * That one waits, from the first time it asked, if it does nothing else meanwhile. Calls that follow one another at
 * once are no doubt: nothing can be done between them. In a longer pause it may work, and then it does not wait; or it
 * sleeps, so as not to burn its processor, or had none. Which of these, no call says. But the kernel tells how long the
 * thread was on a processor in all, and how long it was queued for one: where its pauses are that, they are no work.
 * That is decided once for a thread, by the first reading.
 */
#include "simulate/parts.h"

#define AT_ONCE 10000 /* ns from one call to the next */
#define SHARE 90      /* percent of its pauses */

static uint64_t share(uint64_t ns)
{
	return ns / 100 * SHARE;
}

void polls_note(const struct sim *sim, const struct span *span)
{
	struct poll *poll = &sim->threads[span->thread].poll;
	const struct facts *facts = &sim->facts[span->probe];

	if (facts->test && poll->asks && span->start > poll->end + AT_ONCE)
		poll->paused += span->start - poll->end;
	poll->asks = facts->test && !call_found(facts, span);
	poll->end = span->end;
}

void polls_decide(struct sim *sim)
{
	for (size_t i = 0; i < sim->d->nthreads; i++) {
		const struct def_thread *def = &sim->d->threads[i];
		struct poll *poll = &sim->threads[i].poll;
		bool slept = def->observed && def->run + share(poll->paused) <= poll->paused;
		bool was_queued = def->observed && def->queue_known && def->queued >= share(poll->paused);

		*poll = (struct poll){ .rests = slept || was_queued };
	}
}

bool poll_goes_on(const struct poll *poll, uint64_t start)
{
	return poll->asks && (poll->rests || start <= poll->end + AT_ONCE);
}
