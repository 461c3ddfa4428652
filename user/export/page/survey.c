/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * survey.c - what there is to show: lanes, and how long calls are.
 *
 * Lengths are counted in buckets: up to 64 ns each length has one, and from there on the top 6 bits of it choose. So
 * how many calls are of a length and longer is known exactly for the first length of each bucket, and those are not
 * further apart than a 32nd.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "export/output.h"
#include "export/page/page.h"
#include "timeline/timeline.h"

#define EXACT_BITS 6 /* of a length */

_Static_assert(TIMELINE_LANES <= 64, "survey.by_lane has room for all lanes of a thread");
_Static_assert((64 - EXACT_BITS + 2) << (EXACT_BITS - 1) <= SURVEY_BUCKETS, "a bucket for each length");

struct reading {
	struct survey *s;
	struct output *out;
};

static unsigned bucket_of(uint64_t length)
{
	unsigned bits = length ? 64 - (unsigned)__builtin_clzll(length) : 0;
	unsigned shift = bits > EXACT_BITS ? bits - EXACT_BITS : 0;

	return (shift << (EXACT_BITS - 1)) + (unsigned)(length >> shift);
}

/* The shortest length of it. */
static uint64_t least_of(unsigned bucket)
{
	unsigned half = 1u << (EXACT_BITS - 1);

	return bucket < 2 * half ? bucket : (uint64_t)(bucket % half + half) << (bucket / half - 1);
}

uint64_t survey_threshold(const struct survey *s, double most, uint64_t *count)
{
	unsigned bucket = SURVEY_BUCKETS;

	*count = 0;
	while (bucket && *count + s->buckets[bucket - 1] <= most)
		*count += s->buckets[--bucket];
	/* Of lengths that nothing has the longest one says the most. */
	while (bucket && bucket < SURVEY_BUCKETS && !s->buckets[bucket])
		bucket++;
	if (bucket == SURVEY_BUCKETS) {
		while (bucket && !s->buckets[bucket - 1])
			bucket--;
	}
	return bucket > bucket_of(UINT64_MAX) ? UINT64_MAX : least_of(bucket);
}

static int see_event(void *context, const struct definitions *d, const struct event *event)
{
	struct survey *s = ((struct reading *)context)->s;
	const struct span *span = event->span;

	if (event->type == EVENT_END)
		return 0;
	s->buckets[bucket_of(event->type == EVENT_START ? span->end - span->start : 0)]++;
	s->by_lane[span->thread][event->lane]++;
	s->seen[span->thread] = true;
	s->calls++;
	return 0;
}

static int see_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	((struct reading *)context)->s->missing[gap->thread] += gap->count;
	return 0;
}

static void see_progress(void *context, size_t done, size_t all)
{
	output_progress(((struct reading *)context)->out, done, all);
}

/* --- lanes ------------------------------------------------------------------- */

static bool is_main(const struct definitions *d, uint32_t thread)
{
	const struct def_process *process = thread_process(d, thread);

	return process && process->pid == d->threads[thread].tid;
}

static int in_order(const void *a, const void *b, void *definitions)
{
	const struct definitions *d = definitions;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (d->threads[x].process == d->threads[y].process && is_main(d, x) != is_main(d, y))
		return is_main(d, x) ? -1 : 1;
	return thread_order(d, x, y);
}

static unsigned lanes_of(const struct survey *s, uint32_t thread)
{
	unsigned lanes = TIMELINE_LANES;

	while (lanes > 1 && !s->by_lane[thread][lanes - 1])
		lanes--;
	return lanes;
}

static void add_lanes(struct survey *s, uint32_t thread)
{
	s->first[thread] = s->nlanes;
	s->count[thread] = lanes_of(s, thread);
	for (unsigned lane = 0; lane < s->count[thread]; lane++)
		s->lanes[s->nlanes++] = (struct page_lane){ .thread = thread,
							    .lane = lane,
							    .calls = s->by_lane[thread][lane] };
}

static int find_lanes(struct survey *s)
{
	uint32_t *order = calloc(s->d->nthreads + 1, sizeof(*order));
	size_t nshown = 0, most = 0;

	for (uint32_t i = 0; order && i < s->d->nthreads; i++) {
		if (thread_is_left_out(s->d, i) || (s->places[i] == NO_INDEX && !s->seen[i]))
			continue;
		order[nshown++] = i;
		most += lanes_of(s, i);
	}
	s->lanes = order ? calloc(most + 1, sizeof(*s->lanes)) : NULL;
	if (!s->lanes) {
		free(order);
		return -ENOMEM;
	}
	qsort_r(order, nshown, sizeof(*order), in_order, (void *)s->d);
	for (size_t i = 0; i < nshown; i++)
		add_lanes(s, order[i]);
	free(order);
	return 0;
}

int survey_read(struct survey *s, struct recording *recording, const struct reporter *reporter, struct output *out)
{
	struct reading reading = { s, out };
	struct timeline_ops ops = { .event = see_event, .gap = see_gap, .progress = see_progress, .context = &reading };
	size_t count;
	int error;

	s->d = recording_definitions(recording);
	count = s->d->nthreads + 1;
	s->places = calloc(count, sizeof(*s->places));
	s->first = calloc(count, sizeof(*s->first));
	s->count = calloc(count, sizeof(*s->count));
	s->missing = calloc(count, sizeof(*s->missing));
	s->by_lane = calloc(count, sizeof(*s->by_lane));
	s->seen = calloc(count, sizeof(*s->seen));
	if (!s->places || !s->first || !s->count || !s->missing || !s->by_lane || !s->seen)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		s->first[i] = NO_INDEX;
	reporter_times(reporter, &s->start, &s->end);
	if (s->end < s->start) /* of a forged recording */
		s->end = s->start;
	reporter_places(reporter, s->places);
	error = timeline_read(recording, &ops);
	if (!error)
		error = add_missing_calls(s->d, s->missing);
	return error ? error : find_lanes(s);
}

void survey_free(struct survey *s)
{
	free(s->places);
	free(s->lanes);
	free(s->first);
	free(s->count);
	free(s->missing);
	free(s->by_lane);
	free(s->seen);
	memset(s, 0, sizeof(*s));
}
