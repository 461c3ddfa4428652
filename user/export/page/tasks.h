/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks.h - tasks by worker: those that are drawn, and the sums of the shorter ones. Private to user/export/page.
 *
 * Tasks come as they begin, and how many there will be is not known. The longest are kept one by one, at most a number
 * of them; the others are in cells, of a thread, a short time and a kind. When there are too many cells, two times
 * become one. So memory has a bound, whatever comes.
 */
#ifndef GASPBPF_EXPORT_PAGE_TASKS_H
#define GASPBPF_EXPORT_PAGE_TASKS_H

#include "export/page/page.h"

#define TASK_GROUPS 12 /* kinds that are told apart in sums: those with the most time, and the rest of them */

/* One kind; its place in the page's list, by time. */
struct task_kind_sum {
	const char *name; /* its own; NULL: not told */
	uint64_t tasks, time;
	uint32_t place;
	bool any;
};

/* Short tasks of a thread in one bin. */
struct task_cell {
	uint32_t thread, bin, kind; /* kind: as told; the last one of kinds[] stands for those that are not known */
	bool used;
	uint64_t tasks, time; /* tasks that begin in it; ns in them */
};

struct task_lane {
	uint32_t thread;
	bool any, numbered;
	int64_t worker;
	uint64_t all, drawn;
};

struct page_tasks {
	const struct definitions *d;
	const struct recording *chosen;
	uint64_t start, end; /* ns: of the run */
	struct told_task *heap;
	size_t count, most;
	uint64_t all, shorter_than;
	struct task_cell *cells; /* open addressing */
	size_t ncells, mask;
	uint32_t nbins;
	struct task_lane *lanes;     /* by thread */
	struct task_kind_sum *kinds; /* as told, behind the one of those that are not known */
	size_t nkinds;
	int error;
};

/* tasks_cells.c: adds a task that is not drawn. 0 or -ENOMEM. */
int task_cells_add(struct page_tasks *tasks, const struct told_task *task);
/* Those that are used, by lane, bin and kind; their number. They are in no order that is of use before that. */
size_t task_cells_sort(struct page_tasks *tasks);
/* 0 is of those that are not known. */
static inline uint32_t task_kind_index(uint32_t kind)
{
	return kind == NO_INDEX ? 0 : kind + 1;
}

#endif
