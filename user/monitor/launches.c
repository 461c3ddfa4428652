/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launches.c - which processes are ranks of one job.
 *
 * Several jobs run on a node, and no runtime's name is known here. So it is asked who started whom: the ranks of a job
 * are started by one process, its launcher or what that has on each node, with shells between them or not. The launch
 * of a rank is the nearest process above it (or itself: one rank may start the others) below which there are ranks with
 * other numbers.
 *
 * Two jobs of one rank each from one shell look alike, and so do jobs of a launcher that stays for many: then a number
 * comes twice, or the sizes of the jobs differ. Of such processes nobody is compared with anybody. What a rank itself
 * starts inherits its number: that is a helper, and no rank.
 */
#include <errno.h>
#include <stdlib.h>

#include "monitor/private.h"

#define NOBODY SIZE_MAX

/* That `above` stands over a process, or is it. */
struct relation {
	struct process_identity above;
	size_t process; /* index */
	long rank, size;
	size_t level;
};

struct launch {
	const struct relation *members;
	size_t count;
	size_t ranks; /* different numbers */
};

static int by_identity(const struct process_identity *x, const struct process_identity *y)
{
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start_time < y->start_time ? -1 : x->start_time > y->start_time;
}

static int by_above(const void *a, const void *b)
{
	const struct relation *x = a, *y = b;
	int order = by_identity(&x->above, &y->above);

	if (order)
		return order;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static bool is_rank(const struct monitor_process *p)
{
	return p->rank >= 0 && p->size != 1 && p->nlineage;
}

struct numbered {
	struct process_identity is;
	long rank;
};

static int by_who(const void *a, const void *b)
{
	return by_identity(&((const struct numbered *)a)->is, &((const struct numbered *)b)->is);
}

/* Is it started by a process of the same number? all: the ranks, sorted. */
static bool is_helper(const struct monitor_process *p, const struct numbered *all, size_t count)
{
	for (size_t level = 1; level < p->nlineage; level++) {
		const struct numbered key = { .is = p->lineage[level] };
		const struct numbered *found = bsearch(&key, all, count, sizeof(*all), by_who);

		if (found && found->rank == p->rank)
			return true;
	}
	return false;
}

/* Which are ranks, sorted by who they are. */
static size_t list_ranks(const struct monitor_process *const *processes, size_t count, struct numbered *all)
{
	size_t ranks = 0;

	for (size_t i = 0; i < count; i++)
		if (is_rank(processes[i]))
			all[ranks++] = (struct numbered){ processes[i]->lineage[0], processes[i]->rank };
	qsort(all, ranks, sizeof(*all), by_who);
	return ranks;
}

static size_t relate(const struct monitor_process *p, size_t index, struct relation *to)
{
	for (size_t level = 0; level < p->nlineage; level++)
		to[level] = (struct relation){ p->lineage[level], index, p->rank, p->size, level };
	return p->nlineage;
}

/* All members of one process above them: relations[0..count). */
static struct launch judge(const struct relation *relations, size_t count)
{
	struct launch launch = { .members = relations, .count = count, .ranks = 1 };

	for (size_t i = 1; i < count; i++)
		launch.ranks += relations[i].rank != relations[i - 1].rank;
	return launch;
}

/* Each number once, and all of them say the same of their job's size. */
static bool is_one_job(const struct launch *launch)
{
	for (size_t i = 1; i < launch->count; i++)
		if (launch->members[i].size != launch->members[0].size)
			return false;
	return launch->ranks == launch->count;
}

static void settle(const struct launch *launch, size_t *nearest, struct process_identity *launches)
{
	for (size_t i = 0; i < launch->count && launch->ranks > 1; i++) {
		const struct relation *member = &launch->members[i];

		if (member->level >= nearest[member->process])
			continue;
		nearest[member->process] = member->level;
		launches[member->process] = is_one_job(launch) ? member->above : (struct process_identity){ 0 };
	}
}

int monitor_launches(const struct monitor_process *const *processes, size_t count, struct process_identity *launches)
{
	struct relation *relations = calloc(count * MONITOR_LINEAGE + 1, sizeof(*relations));
	struct numbered *all = calloc(count + 1, sizeof(*all));
	size_t *nearest = calloc(count + 1, sizeof(*nearest)), total = 0, ranks;
	int err = relations && all && nearest ? 0 : -ENOMEM;

	ranks = err ? 0 : list_ranks(processes, count, all);
	for (size_t i = 0; i < count && !err; i++) {
		launches[i] = (struct process_identity){ 0 };
		nearest[i] = NOBODY;
		if (is_rank(processes[i]) && !is_helper(processes[i], all, ranks))
			total += relate(processes[i], i, relations + total);
	}
	if (!err)
		qsort(relations, total, sizeof(*relations), by_above);
	for (size_t start = 0, end; start < total; start = end) {
		for (end = start + 1; end < total && !by_identity(&relations[end].above, &relations[start].above);
		     end++)
			;
		const struct launch launch = judge(relations + start, end - start);

		settle(&launch, nearest, launches);
	}
	free(relations);
	free(all);
	free(nearest);
	return err;
}
