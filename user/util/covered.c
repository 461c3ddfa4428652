/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/covered.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"

#define RUNS_MOST 512

/* Joins the older half of the runs two by two: what they cover is kept, but no longer where. */
static void join_older(struct covered *c)
{
	size_t half = c->nruns / 4, i;

	for (i = 0; i < half; i++)
		c->runs[i] = (struct covered_run){
			.start = c->runs[2 * i].start,
			.end = c->runs[2 * i + 1].end,
			.time = c->runs[2 * i].time + c->runs[2 * i + 1].time,
		};
	for (size_t from = 2 * half; from < c->nruns; from++)
		c->runs[i++] = c->runs[from];
	c->nruns = i;
}

/* What of a run lies behind `start`, which is within it. */
static uint64_t part_behind(const struct covered_run *run, uint64_t start)
{
	return (unsigned __int128)run->time * (run->end - start) / (run->end - run->start);
}

int covered_add(struct covered *c, uint64_t start, uint64_t end, uint64_t *fresh)
{
	struct covered_run added = { .start = start, .end = end };
	uint64_t taken = 0;

	*fresh = 0;
	if (end <= start)
		return 0;
	while (c->nruns && c->runs[c->nruns - 1].end > added.start) {
		const struct covered_run *run = &c->runs[--c->nruns];

		taken += run->start >= start ? run->time : part_behind(run, start);
		added.time += run->time;
		if (run->start < added.start)
			added.start = run->start;
		if (run->end > added.end)
			added.end = run->end;
	}
	*fresh = taken < end - start ? end - start - taken : 0;
	added.time += *fresh;
	if (c->nruns == RUNS_MOST)
		join_older(c);
	if (array_one_more(&c->runs, &c->room, c->nruns, sizeof(*c->runs)))
		return -ENOMEM;
	c->runs[c->nruns++] = added;
	return 0;
}

void covered_free(struct covered *c)
{
	free(c->runs);
	*c = (struct covered){ 0 };
}
