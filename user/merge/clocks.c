/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clocks.c - which recordings have one clock, and what is added to the times of a clock.
 *
 * Times are CLOCK_MONOTONIC, which begins with each boot of a machine. Recordings with one boot id have one clock.
 * Older recordings have none: two of one host are of one boot where CLOCK_REALTIME says so.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "merge/parts.h"
#include "util/text.h"

#define SAME_BOOT 1000000000 /* ns: by so much at most CLOCK_REALTIME is set while a machine runs */

/* What CLOCK_REALTIME was ahead. */
static int64_t ahead(const struct def_run *run)
{
	return (int64_t)(run->start_realtime - run->start);
}

static bool same_clock(const struct def_run *a, const struct def_run *b)
{
	int64_t difference = (int64_t)((uint64_t)ahead(a) - (uint64_t)ahead(b));

	if (a->boot && b->boot)
		return same_text(a->boot, b->boot);
	return a->host && same_text(a->host, b->host) && a->start_realtime && b->start_realtime &&
	       difference > -SAME_BOOT && difference < SAME_BOOT;
}

static size_t find_clock(struct merge *m, size_t input)
{
	const struct def_run *run = &m->inputs[input].d->run;

	for (size_t i = 0; i < m->nclocks; i++)
		if (m->options.keep_clocks || same_clock(&m->inputs[m->clocks[i].first].d->run, run))
			return i;
	m->clocks[m->nclocks] = (struct node_clock){ .first = input, .is_reference = !m->nclocks };
	return m->nclocks++;
}

int clocks_find(struct merge *m)
{
	m->clocks = calloc(m->ninputs + 1, sizeof(*m->clocks));
	if (!m->clocks)
		return -ENOMEM;
	for (size_t i = 0; i < m->ninputs; i++)
		m->inputs[i].clock = find_clock(m, i);
	return 0;
}

/* --- corrections -------------------------------------------------------------- */

void correction_free(struct correction *correction)
{
	free(correction->knots);
	*correction = (struct correction){ 0 };
}

/* The knot after a time; nknots: there is none. */
static size_t knot_after(const struct correction *correction, uint64_t time)
{
	size_t low = 0, high = correction->nknots;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (correction->knots[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t correction_apply(const struct correction *c, uint64_t time)
{
	size_t after = c->nknots ? knot_after(c, time) : 0;
	double add = 0;

	if (c->nknots && after == 0) {
		add = c->knots[0].add;
	} else if (c->nknots && after == c->nknots) {
		add = c->knots[after - 1].add;
	} else if (c->nknots) {
		const struct knot *left = &c->knots[after - 1], *right = left + 1;

		add = left->add +
		      (right->add - left->add) * ((double)(time - left->time) / (double)(right->time - left->time));
	}
	return time + (uint64_t)c->whole + (uint64_t)llround(add);
}
