/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases_ranges.c - the iterations as ranges of time, for who draws them (told.h).
 *
 * Of iterations no more is known than steps of some each, by their ends: one begins where the one before has ended.
 * Where each thread has times of its own a step may end before the one before it; then it has no length.
 */
#include "analysis/phases.h"

#include <errno.h>
#include <stdlib.h>

static void add_part(const struct phases *s, const struct iterating *it, const struct part *part,
		     struct told_range *range)
{
	*range = (struct told_range){ .what = TOLD_PART,
				      .name = part->name,
				      .from = part->from,
				      .to = part->to,
				      .number = part->number,
				      .iterations = part->iterations };
	blame_text(s, it, &part->blame, range->blame, sizeof(range->blame));
}

/* Those of the part. */
static size_t add_steps(const struct iterating *it, const struct part *part, struct told_range *ranges)
{
	uint64_t from = part->from;
	size_t count = 0;

	for (size_t i = part->first; i < part->first + part->count && i < it->nsteps; i++) {
		uint64_t to = it->steps[i].end < part->to ? it->steps[i].end : part->to;

		to = to > from ? to : from;
		ranges[count++] = (struct told_range){ .what = TOLD_ITERATIONS,
						       .from = from,
						       .to = to,
						       .number = i * it->stride,
						       .iterations = it->steps[i].iterations };
		from = to;
	}
	return count;
}

static void add_outlier(const struct phases *s, const struct iterating *it, const struct outlier *outlier,
			struct told_range *range)
{
	*range = (struct told_range){ .what = TOLD_OUTLIER,
				      .from = outlier->end - outlier->lasted,
				      .to = outlier->end,
				      .number = outlier->number,
				      .iterations = 1,
				      .typical = outlier->typical };
	blame_text(s, it, &outlier->blame, range->blame, sizeof(range->blame));
}

static size_t add_all(const struct phases *s, const struct iterating *it, struct told_range *ranges)
{
	size_t count = 0;

	for (size_t i = 0; i < it->nparts; i++) {
		add_part(s, it, &it->parts[i], &ranges[count++]);
		count += add_steps(it, &it->parts[i], ranges + count);
	}
	for (size_t i = 0; i < it->noutliers; i++)
		if (it->outliers[i].lasted <= it->outliers[i].end)
			add_outlier(s, it, &it->outliers[i], &ranges[count++]);
	return count;
}

/* Who has them, in words. 0 or -ENOMEM. */
static int label_members(const struct phases *s, const struct iterating *it, char *text, size_t room)
{
	struct people who = { 0 };
	int error = 0;

	for (size_t i = 0; i < it->nmembers && !error; i++)
		error = people_add(&who, it->members[i].thread);
	if (!error)
		people_label(s->d, &who, text, room);
	people_free(&who);
	return error;
}

static int tell_one(const struct phases *s, const struct report *r, const struct iterating *it,
		    const struct report_teller *to)
{
	struct told_range *ranges = calloc(it->nparts + it->nsteps + it->noutliers + 1, sizeof(*ranges));
	char label[2 * LABEL_ROOM], who[LABEL_ROOM];
	struct told_phases told = { .label = label, .who = who, .ranges = ranges };
	int error = ranges ? label_members(s, it, who, sizeof(who)) : -ENOMEM;

	if (!error) {
		iterating_label(s, r, it, label, sizeof(label));
		told.nranges = add_all(s, it, ranges);
		error = to->phases(to->context, &told);
	}
	free(ranges);
	return error;
}

int phases_tell_ranges(void *state, const struct report *r, const struct report_teller *to)
{
	const struct phases *s = state;
	int error = 0;

	for (size_t i = 0; to->phases && i < s->nfound && !error; i++)
		error = tell_one(s, r, &s->found[i], to);
	return error;
}
