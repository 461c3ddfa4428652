/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pairs.c - waits that name ranks, each of which waits for the caller in its turn: coarrays' `sync images`.
 *
 * The n-th time that one names the other is the n-th time that the other names it, and neither goes on before both have
 * come. So each pair is two messages without anything in them, one there and one back, and match.c puts them together.
 * Both calls of a pair are going on at the same time: what does not overlap is of another time (is_apart()), as where
 * one of the two is observed from later on, or names more ranks than a call carries.
 */
#include <errno.h>

#include "simulate/message.h"

#define PAIRS_TAG INT32_MAX
#define RANKS_MOST 64 /* that "all" stands for: more would cost more than they tell */

static int add(struct sim *sim, struct op *op, bool is_send, uint32_t partner)
{
	struct half *half = half_new(sim, op, is_send);

	if (!half)
		return -ENOMEM;
	if (half_await(op, half)) {
		half_leave(sim, half);
		return -ENOMEM;
	}
	half->pairs = true;
	half->waiting = op;
	half->comm = CPF_NONE;
	half->tag = PAIRS_TAG;
	half->partner = partner;
	return match_post(sim, half, false);
}

static int add_pair(struct sim *sim, struct op *op, uint32_t partner)
{
	if (partner == NO_INDEX || partner == sim->d->threads[op->thread].process)
		return 0;
	return add(sim, op, true, partner) ?: add(sim, op, false, partner);
}

/* With all others of the job. */
static int add_all(struct sim *sim, struct op *op)
{
	uint32_t process = sim->d->threads[op->thread].process, others = 0;
	int error = 0;

	for (uint32_t i = 0; i < sim->d->nprocesses && others <= RANKS_MOST; i++)
		others += groups_same_job(sim, i, process);
	for (uint32_t i = 0; i < sim->d->nprocesses && others <= RANKS_MOST && !error; i++)
		if (groups_same_job(sim, i, process))
			error = add_pair(sim, op, i);
	return error;
}

int pairs_feed(struct sim *sim, struct op *op, const struct span *span)
{
	uint32_t process = sim->d->threads[op->thread].process;
	struct sent_words sent = span_words(span);
	const struct facts *facts = op->facts;
	const struct told_comm all = { .number = CPF_NONE };
	int64_t number;
	int error = 0;

	if (fact_number(facts, WANT_NUMBER, span, &number) && number < 0)
		return add_all(sim, op);
	for (unsigned i = 0; i < facts->answers.count[WANT_PEER_IN] && !error; i++)
		if (prepared_number(&facts->answers.values[WANT_PEER_IN][i], &sent, &number))
			error = add_pair(sim, op, groups_process(sim, process, &all, number));
	return error;
}
