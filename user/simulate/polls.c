/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * polls.c - who asks whether something has come, again and again until it has.
 *
 * That one waits, from the first time it asked, if it does nothing else meanwhile. Between two calls that follow one
 * another at once little can be done; but who asks after each small piece of work works. So what it did between all of
 * its calls, without what the probes take there, must be less than half of what it was in them.
 *
 * In a longer pause it may work, and then it does not wait; or it sleeps, so as not to burn its processor, or had none.
 * Which of these, no call says. But the kernel tells how long the thread was on a processor in all, and how long it was
 * queued for one: where its pauses are that, they are no work. That is decided once for a thread, by the first reading.
 */
#include "simulate/parts.h"

#define AT_ONCE 10000 /* ns from one call to the next, without what the probes take */
#define SHARE 90      /* percent of its pauses */
#define BETWEEN 1.5   /* times what probes take between two calls: as far as that is known */
#define WORK_FACTOR 2
#define LONG 100000 /* ns */

static uint64_t share(uint64_t ns)
{
	return ns / 100 * SHARE;
}

/* ns since the last call, without what the probes took of them. */
static uint64_t since(const struct sim *sim, const struct poll *poll, const struct span *span)
{
	const struct def_probe *probe = &sim->d->probes[span->probe];
	uint64_t gap = span->start > poll->end ? span->start - poll->end : 0;
	uint64_t probes = probe->cost_ns > probe->floor_ns ? BETWEEN * (probe->cost_ns - probe->floor_ns) : 0;

	return gap > probes ? gap - probes : 0;
}

void polls_note(const struct sim *sim, const struct span *span)
{
	struct poll *poll = &sim->threads[span->thread].poll;
	const struct facts *facts = &sim->facts[span->probe];
	uint64_t pause = since(sim, poll, span);

	if (facts->test && poll->asks && pause > AT_ONCE)
		poll->paused += pause;
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

bool poll_goes_on(const struct sim *sim, struct poll *poll, const struct span *span)
{
	uint64_t pause = since(sim, poll, span);

	if (!poll->asks || (pause > AT_ONCE && !poll->rests))
		return false;
	poll->worked += pause > AT_ONCE ? 0 : pause;
	return true;
}

void poll_add(struct poll *poll, const struct span *span)
{
	if (!poll->asks)
		poll->asked = poll->worked = 0;
	poll->asks = true;
	poll->asked += span->end - span->start;
	poll->end = span->end;
}

bool poll_was_wait(const struct poll *poll)
{
	return poll->worked * WORK_FACTOR <= poll->asked;
}

bool poll_was_call(const struct poll *poll)
{
	return poll_was_wait(poll) && poll->end - poll->op->start >= LONG;
}
