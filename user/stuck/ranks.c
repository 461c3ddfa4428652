/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks.c - which threads stand for which ranks: the first one of a process that is a rank; or, where each thread has a
 * rank of its own, those that have one.
 */
#include "stuck/private.h"

/* The thread that started all others has the variable, too. Where it only waits for their end it is none of them. */
static bool only_waits(const struct stuck_thread *t)
{
	const struct stuck_call *call = t->ncalls ? &t->calls[0] : NULL;

	if (!call || call->function->role != ROLE_WAIT)
		return false;
	for (size_t i = 0; i < call->nvalues; i++)
		if (call->values[i].meaning == MEANING_TASK)
			return true;
	return false;
}

/* Somebody of the same process that has a better claim to the rank: threads that the program started for itself say 0,
 * too, but came later. */
static bool is_taken(const struct stuck *stuck, const struct stuck_thread *t)
{
	for (size_t i = 0; i < stuck->nthreads; i++) {
		const struct stuck_thread *other = &stuck->threads[i];

		if (other != t && other->pid == t->pid && other->is_rank && other->rank == t->rank &&
		    other->tid != other->pid && (t->tid == t->pid || other->tid < t->tid))
			return true;
	}
	return false;
}

void find_thread_ranks(struct stuck *stuck)
{
	for (size_t i = 0; i < stuck->nthreads; i++) {
		struct stuck_thread *t = &stuck->threads[i];
		const struct stuck_process *p = &stuck->processes[t->process];

		t->rank = p->rank;
		t->is_rank = p->rank >= 0 && t->pid == t->tid;
		if (p->by_thread && !t->is_helper && !only_waits(t))
			t->is_rank = !plan_thread_rank(stuck->names, p->model, p->process, t->tid, &t->rank) &&
				     t->rank < stuck->ranks + p->model->rank_plus;
		if (p->by_thread && !t->is_rank)
			t->rank = -1;
	}
	/* Of several that say the same, one. */
	for (size_t i = stuck->nthreads; i-- > 0;) {
		struct stuck_thread *t = &stuck->threads[i];

		if (!stuck->processes[t->process].by_thread || !t->is_rank || !is_taken(stuck, t))
			continue;
		t->is_rank = false;
		t->rank = -1;
	}
}
