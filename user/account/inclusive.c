/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inclusive.c - the whole time of an event's calls, in which a recursive event counts once, in the outermost call.
 *
 * When an inner call ends, it is not known whether there is an outer one, so it is added, and taken back when the outer
 * one ends. For that each event of a thread keeps a stack of runs of calls that only a call around all of them can
 * still enclose. Two runs are the same to the future when every call in progress encloses both or neither; that holds
 * when their effective depth is the same: the lowest depth at which any call of the thread has ended since the run did,
 * or the run's own if that is lower. The stack is therefore never longer than calls can nest.
 *
 * Where calls overlap in any way (MARK_STACKED), the total is the time in which at least one of them was in progress.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"

#define RUNS_MOST (2 * GB_DEPTH) /* only gaps can make a stack of runs longer than calls nest */

/* Calls of one event that nothing but a call around all of them can still enclose. */
struct call_run {
	uint64_t first; /* ns: start of the first of them */
	uint64_t total;
	uint64_t order; /* nesting.order when the last was added */
	uint32_t epoch;
	uint32_t depth;
};

/* Lowers the depth of a run to that of the calls that have ended since. */
static void lower(const struct nesting *n, struct call_run *run)
{
	for (uint32_t depth = 0; depth < run->depth; depth++) {
		if (n->ended[depth] > run->order)
			run->depth = depth;
	}
}

static bool same_future(const struct call_run *a, const struct call_run *b)
{
	return a->depth == b->depth && a->epoch == b->epoch;
}

/* Joins runs at the top of the stack that have become the same to the future. */
static void join_runs(struct inclusive *c, const struct nesting *n)
{
	if (!c->nruns)
		return;
	lower(n, &c->runs[c->nruns - 1]);
	while (c->nruns > 1) {
		struct call_run *top = &c->runs[c->nruns - 1], *below = top - 1;

		lower(n, below);
		if (!same_future(top, below))
			return;
		below->total += top->total;
		below->order = top->order;
		c->nruns--;
	}
}

static int add_run(struct inclusive *c, const struct call_run *run)
{
	if (c->nruns == RUNS_MOST) {
		memmove(c->runs, c->runs + 1, (RUNS_MOST - 1) * sizeof(*c->runs));
		c->nruns--;
	}
	if (c->nruns == c->room) {
		uint32_t room = c->room ? 2 * c->room : 1;
		struct call_run *larger = realloc(c->runs, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		c->runs = larger;
		c->room = room;
	}
	c->runs[c->nruns++] = *run;
	return 0;
}

int inclusive_add(struct inclusive *c, const struct nesting *n, const struct nested_call *call, uint64_t *own)
{
	uint64_t inside = 0; /* of calls of the same event inside this one, which were counted already */

	if (n->stacked && !call->depth) {
		if (covered_add(&c->covered, call->start, call->end, own))
			return -ENOMEM;
		if (*own > call->duration)
			*own = call->duration;
		return 0;
	}
	for (; c->nruns; c->nruns--) {
		const struct call_run *top = &c->runs[c->nruns - 1];

		if (top->first < call->begin || top->depth <= call->depth)
			break;
		inside += top->total;
	}
	*own = call->duration > inside ? call->duration - inside : 0;
	join_runs(c, n);
	if (add_run(c, &(struct call_run){ .first = call->begin,
					   .total = call->duration,
					   .order = n->order,
					   .epoch = n->epoch,
					   .depth = call->depth }))
		return -ENOMEM;
	join_runs(c, n);
	return 0;
}

void inclusive_free(struct inclusive *c)
{
	free(c->runs);
	covered_free(&c->covered);
	*c = (struct inclusive){ 0 };
}
