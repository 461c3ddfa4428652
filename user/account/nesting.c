/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nesting.c - self time, and time by group.
 *
 * Problem: a call is told of when it has ended, after the calls inside it; nothing is known yet of the calls that are
 * still in progress around it.
 *
 * So a thread keeps a stack of the calls that have ended, while a call around them may still come. A call that ends
 * takes from the top of the stack what began within it, and leaves its own time there. The same is done for the time by
 * group, so that a lock taken inside a barrier is barrier time: the outermost call of a runtime decides. Tasks and
 * functions of the program are looked into.
 *
 * Calls of one depth that follow each other are one element: what comes around one of them comes around the others.
 * Unless calls were lost between them: then there may have been two calls around them, of which one was lost and the
 * other one was not. With no gap there is an element for each depth at most. What lies before a call of depth 0 waits
 * for nothing any more.
 *
 * What a runtime calls of itself (MARK_INNER) is accounted for beside the program's calls, and its self time also stays
 * in that of the runtime's call around it: that is the one that the program waited in. By group it is nowhere twice.
 *
 * A call that begins a region (MARK_TEAM) contains the caller's share of it, where that is seen: then the rest of the
 * call is waiting for the others, whatever the role says.
 *
 * Where a thread changes stacks within calls (MARK_STACKED) they overlap in any way, all at depth 0: a call may go on
 * while another one, of another fiber, runs. There each moment counts once: it goes to the call that ended first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "util/array.h"

#define FINISHED_MOST (2 * GB_DEPTH) /* only gaps can make the stack longer than calls nest */

/* Calls of one depth, one after the other. */
struct finished_calls {
	uint64_t begin;   /* ns: of the first of them */
	uint64_t time;    /* ns */
	uint64_t inner;   /* part of it: self time of calls that a runtime made to itself, */
	uint32_t runtime; /* ... this one: the call of it around them keeps that time */
	uint32_t depth;
	uint32_t epoch;
	uint64_t group[GROUPS];
};

void add_groups(uint64_t to[GROUPS], const uint64_t from[GROUPS])
{
	for (int i = 0; i < GROUPS; i++)
		to[i] += from[i];
}

static void add_calls(struct finished_calls *to, const struct finished_calls *from)
{
	to->time += from->time;
	if (!to->inner)
		to->runtime = from->runtime;
	if (to->runtime == from->runtime)
		to->inner += from->inner;
	add_groups(to->group, from->group);
}

static bool is_inside(const struct finished_calls *calls, const struct nested_call *call)
{
	return calls->begin >= call->begin && calls->depth > call->depth;
}

/* What lies within the call, all together. */
static void take_inside(struct nesting *n, const struct nested_call *call, struct finished_calls *inside)
{
	while (n->nfinished && is_inside(&n->finished[n->nfinished - 1], call))
		add_calls(inside, &n->finished[--n->nfinished]);
}

/* The last element, if it is of calls of this depth with no gap since: those that follow are of it, too. */
static struct finished_calls *same_element(const struct nesting *n, uint32_t depth)
{
	struct finished_calls *top = n->nfinished ? &n->finished[n->nfinished - 1] : NULL;

	return top && top->depth == depth && top->epoch == n->epoch ? top : NULL;
}

static int leave(struct nesting *n, const struct finished_calls *calls)
{
	struct finished_calls *top = same_element(n, calls->depth);

	if (top) {
		add_calls(top, calls);
		return 0;
	}
	if (n->nfinished == FINISHED_MOST) {
		add_groups(n->group, n->finished[0].group);
		memmove(n->finished, n->finished + 1, --n->nfinished * sizeof(*n->finished));
	}
	if (array_reach(&n->finished, &n->room, n->nfinished + 1, sizeof(*n->finished)))
		return -ENOMEM;
	n->finished[n->nfinished++] = *calls;
	return 0;
}

/* Nothing can come around what is there any more. */
static void settle(struct nesting *n)
{
	while (n->nfinished)
		add_groups(n->group, n->finished[--n->nfinished].group);
}

/* What of its time no call that overlaps it has had. 0 or -ENOMEM. */
static int fresh_time(struct nesting *n, const struct nested_call *call, uint64_t *fresh)
{
	*fresh = call->duration;
	if (!n->stacked || call->depth)
		return 0;
	if (covered_add(&n->covered, call->start, call->end, fresh))
		return -ENOMEM;
	if (*fresh > call->duration)
		*fresh = call->duration;
	return 0;
}

/*
 * Most calls contain none, and need no element of their own: they are the last one's, or outermost. True: that was it.
 * (A report reads tens of millions of calls; all it would do for such a one is to add noughts.)
 */
static bool add_leaf(struct nesting *n, const struct accounted_probe *probe, const struct nested_call *call,
		     enum group group, uint64_t fresh)
{
	struct finished_calls *top;

	if (probe->inner || (n->nfinished && is_inside(&n->finished[n->nfinished - 1], call)))
		return false;
	if (!call->depth) {
		settle(n);
		n->group[group] += fresh;
		return true;
	}
	top = same_element(n, call->depth);
	if (!top)
		return false;
	top->time += fresh;
	if (!top->inner)
		top->runtime = probe->runtime;
	top->group[group] += fresh;
	return true;
}

/* What the call's own time is for. Calls come in the order of their ends: what began later was inside. */
static enum group own_group(struct nesting *n, const struct accounted_probe *probe, const struct nested_call *call)
{
	n->shared = n->shares && n->share >= call->begin;
	if (probe->share) {
		n->shares = true;
		n->share = call->begin;
	}
	return probe->team && n->shared ? GROUP_WAIT : probe->group;
}

int nesting_add(struct nesting *n, const struct accounted_probe *probe, const struct nested_call *call, uint64_t *self)
{
	struct finished_calls calls;
	enum group group = own_group(n, probe, call);
	uint64_t fresh, own;

	if (call->depth >= n->depths && array_reach(&n->ended, &n->depths, (size_t)call->depth + 1, sizeof(*n->ended)))
		return -ENOMEM;
	n->ended[call->depth] = ++n->order;
	n->stacked |= probe->stacked;
	if (fresh_time(n, call, &fresh))
		return -ENOMEM;
	*self = fresh;
	n->latest.leaf = true;
	n->latest.kind = group;
	n->latest.time = fresh;
	if (add_leaf(n, probe, call, group, fresh))
		return 0;
	calls = (struct finished_calls){ .begin = call->begin, .depth = call->depth, .epoch = n->epoch };
	take_inside(n, call, &calls);
	own = fresh > calls.time ? fresh - calls.time : 0;
	*self = own + (calls.runtime == probe->runtime ? calls.inner : 0);
	if (probe->opaque) {
		memset(calls.group, 0, sizeof(calls.group));
		calls.group[probe->group] = fresh;
	} else {
		calls.group[group] += own;
	}
	calls.time = fresh;
	calls.inner = probe->inner ? *self : 0;
	calls.runtime = probe->runtime;
	n->latest.leaf = false;
	memcpy(n->latest.group, calls.group, sizeof(calls.group));
	if (call->depth)
		return leave(n, &calls);
	settle(n);
	add_groups(n->group, calls.group);
	return 0;
}

void nesting_gap(struct nesting *n)
{
	n->epoch++;
}

void nesting_latest(const struct nesting *n, uint64_t group[GROUPS])
{
	memset(group, 0, GROUPS * sizeof(*group));
	if (n->latest.leaf)
		group[n->latest.kind] = n->latest.time;
	else
		memcpy(group, n->latest.group, sizeof(n->latest.group));
}

void nesting_groups(const struct nesting *n, uint64_t group[GROUPS])
{
	add_groups(group, n->group);
	for (size_t i = 0; i < n->nfinished; i++)
		add_groups(group, n->finished[i].group);
}

void nesting_restart(struct nesting *n)
{
	memset(n->group, 0, sizeof(n->group));
	n->nfinished = 0;
	n->covered.nruns = 0;
}

void nesting_free(struct nesting *n)
{
	free(n->finished);
	free(n->ended);
	covered_free(&n->covered);
	*n = (struct nesting){ 0 };
}
