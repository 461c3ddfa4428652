/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_ranks.c - which process is which rank of which job.
 */
#include "recording/job_ranks.h"

#include <stdlib.h>

struct ranked {
	uint32_t job, process;
	long rank;
};

struct job_ranks {
	uint32_t *jobs; /* by process */
	size_t nprocesses;
	struct ranked *ranks; /* by job and rank */
	size_t nranks;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

/*
 * What is the same for all ranks of a process's job. Of a merged recording: what it says of the job, or the parent on
 * its node; 0 is for where there is one job.
 */
static uint32_t job_of(const struct definitions *d, const struct def_process *process)
{
	uint32_t hash = 0x811c9dc5u;

	if (!d->nnodes)
		return process->parent;
	for (const char *at = process->job; at && *at; at++) /* FNV-1a */
		hash = (hash ^ (uint8_t)*at) * 0x01000193u;
	return process->job ? hash : process->parent * 0x9e3779b1u + process->node;
}

struct job_ranks *job_ranks_new(const struct definitions *d)
{
	struct job_ranks *all = calloc(1, sizeof(*all));
	bool several = false;

	if (!all)
		return NULL;
	all->nprocesses = d->nprocesses;
	all->jobs = calloc(d->nprocesses + 1, sizeof(*all->jobs));
	all->ranks = calloc(d->nprocesses + 1, sizeof(*all->ranks));
	if (!all->jobs || !all->ranks) {
		job_ranks_free(all);
		return NULL;
	}
	for (uint32_t i = 0; i < d->nprocesses; i++)
		if (d->processes[i].rank >= 0)
			all->ranks[all->nranks++] = (struct ranked){ 0, i, d->processes[i].rank };
	qsort(all->ranks, all->nranks, sizeof(*all->ranks), by_rank);
	for (size_t i = 1; i < all->nranks; i++)
		several |= all->ranks[i].rank == all->ranks[i - 1].rank;
	for (size_t i = 0; several && i < all->nranks; i++)
		all->ranks[i].job = all->jobs[all->ranks[i].process] = job_of(d, &d->processes[all->ranks[i].process]);
	qsort(all->ranks, all->nranks, sizeof(*all->ranks), by_rank);
	return all;
}

void job_ranks_free(struct job_ranks *all)
{
	if (!all)
		return;
	free(all->jobs);
	free(all->ranks);
	free(all);
}

uint32_t job_ranks_job(const struct job_ranks *all, uint32_t process)
{
	return process < all->nprocesses ? all->jobs[process] : 0;
}

uint32_t job_ranks_process(const struct job_ranks *all, uint32_t process, int64_t rank)
{
	uint32_t job = job_ranks_job(all, process);
	size_t low = 0, high = all->nranks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ranked *at = &all->ranks[middle];

		if (at->job < job || (at->job == job && at->rank < rank))
			low = middle + 1;
		else
			high = middle;
	}
	return low < all->nranks && all->ranks[low].job == job && all->ranks[low].rank == rank ? all->ranks[low].process
											       : NO_INDEX;
}
