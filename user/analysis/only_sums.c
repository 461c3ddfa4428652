/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * only_sums.c - recordings that have no single calls, but what a monitor has counted by process and event.
 *
 * They are of a machine: several jobs, one after the other and at the same time. What is compared with each other is of
 * one job (def_process.job).
 */
#include "analysis/analysis.h"
#include "analysis/only_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Only processes are compared that were observed for at least one in so many of the longest time of their job. */
#define COMPARED 2

bool needs_calls(const struct analysis *is)
{
	return is->needs_calls || is->span || is->event || is->relations || is->related;
}

const char *report_job(const struct report *r, uint32_t thread)
{
	const struct def_process *process = report_process(r, thread);

	return process ? process->job : NULL;
}

struct job_share {
	const char *job;
	uint64_t wall;
	struct finding_share share;
};

static int by_job_and_share(const void *a, const void *b)
{
	const struct job_share *x = a, *y = b;
	int order = strcmp(x->job, y->job);

	if (order)
		return order;
	return x->share.percent < y->share.percent ? -1 : x->share.percent > y->share.percent;
}

/* The least and the most of one job. False: there are not two that can be compared. */
static bool span_of_job(const struct job_share *shares, size_t count, struct uneven_shares *found)
{
	uint64_t longest = 0;
	size_t compared = 0;

	for (size_t i = 0; i < count; i++)
		longest = shares[i].wall > longest ? shares[i].wall : longest;
	for (size_t i = 0; i < count; i++) {
		if (shares[i].wall < longest / COMPARED)
			continue;
		if (!compared++)
			found->least = shares[i].share;
		found->most = shares[i].share;
	}
	return compared > 1;
}

int report_uneven_in_jobs(const struct report *r, uint32_t event, share_of_event *share, struct uneven_shares *widest)
{
	struct job_share *shares = calloc(r->nthreads + 1, sizeof(*shares));
	size_t count = 0;

	*widest = (struct uneven_shares){ { NO_INDEX, 0 }, { NO_INDEX, 0 } };
	if (!shares)
		return -ENOMEM;
	for (size_t i = 0; i < r->nthreads; i++) {
		const struct report_thread *t = &r->threads[i];
		const char *job = report_job(r, t->thread);

		if (job && t->wall)
			shares[count++] = (struct job_share){ job, t->wall, { t->thread, share(r, t, event) } };
	}
	qsort(shares, count, sizeof(*shares), by_job_and_share);
	for (size_t start = 0, end; start < count; start = end) {
		struct uneven_shares found;

		for (end = start + 1; end < count && !strcmp(shares[end].job, shares[start].job); end++)
			;
		if (span_of_job(shares + start, end - start, &found) &&
		    found.most.percent - found.least.percent > widest->most.percent - widest->least.percent)
			*widest = found;
	}
	free(shares);
	return 0;
}
