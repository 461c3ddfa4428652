/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outliers.c - bounds that cannot be, by what many others say.
 *
 * Where calls are missing, a message may be taken for another one, and what follows from that is wrong by far. Of two
 * clocks some bounds say that the difference is at least so much, others that it is at most so much. In a short piece
 * of time it hardly changes: the difference that most of them agree with is taken, and whatever contradicts that by
 * more than a drift could explain, is left out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "merge/bounds.h"
#include "merge/edges.h"

#define PIECE 32       /* bounds of two clocks that are looked at together */
#define DRIFT 1e-5     /* that is left over at most, once curves are taken out */
#define TOLERANCE 2000 /* ns */

struct vote {
	struct edge *edge;
	uint32_t a, b; /* the smaller clock first */
};

static int by_pair(const void *x, const void *y)
{
	const struct vote *v = x, *w = y;

	if (v->a != w->a)
		return v->a < w->a ? -1 : 1;
	if (v->b != w->b)
		return v->b < w->b ? -1 : 1;
	return v->edge->time < w->edge->time ? -1 : v->edge->time > w->edge->time;
}

/* By how much a difference of the two contradicts the bound; not above 0: it does not. */
static double contradiction(const struct vote *vote, double difference)
{
	return vote->edge->late == vote->a ? vote->edge->least - difference : vote->edge->least + difference;
}

/* The difference that the bound just allows. */
static double limit(const struct vote *vote)
{
	return vote->edge->late == vote->a ? vote->edge->least : -vote->edge->least;
}

static size_t contradict(const struct vote *votes, size_t count, double difference)
{
	size_t against = 0;

	for (size_t i = 0; i < count; i++)
		against += !votes[i].edge->dropped && contradiction(&votes[i], difference) > 0.01;
	return against;
}

static bool drop(struct vote *votes, size_t count, double width)
{
	double most = TOLERANCE + DRIFT * width * (votes[count - 1].edge->time - votes[0].edge->time), best = 0;
	size_t least = SIZE_MAX;
	bool any = false;

	for (size_t i = 0; i < count && least; i++) {
		size_t against = contradict(votes, count, limit(&votes[i]));

		if (votes[i].edge->dropped || against >= least)
			continue;
		least = against;
		best = limit(&votes[i]);
	}
	if (!least || 3 * least > count)
		return false; /* all agree, or nobody knows */
	for (size_t i = 0; i < count; i++) {
		if (votes[i].edge->dropped || contradiction(&votes[i], best) <= most)
			continue;
		votes[i].edge->dropped = true;
		any = true;
	}
	return any;
}

int outliers_drop(struct edge *edges, size_t nedges, double width, bool *any)
{
	struct vote *votes = calloc(nedges + 1, sizeof(*votes));

	*any = false;
	if (!votes)
		return -ENOMEM;
	for (size_t i = 0; i < nedges; i++) {
		uint32_t late = edges[i].late, early = edges[i].early;

		votes[i] = (struct vote){ &edges[i], late < early ? late : early, late < early ? early : late };
	}
	qsort(votes, nedges, sizeof(*votes), by_pair);
	for (size_t from = 0, to; from < nedges; from = to) {
		to = from;
		while (to < nedges && votes[to].a == votes[from].a && votes[to].b == votes[from].b)
			to++;
		for (size_t at = from; at < to; at += PIECE / 2) {
			/* The last piece reaches back, so that it is as long as the others. */
			size_t first = at + PIECE <= to ? at : to - from > PIECE ? to - PIECE : from;

			*any |= drop(&votes[first], first + PIECE < to ? PIECE : to - first, width);
		}
	}
	free(votes);
	return 0;
}
