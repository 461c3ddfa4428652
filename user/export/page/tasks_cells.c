/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/page/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_FIRST (1u << 10)
#define CELLS_MOST (1u << 17) /* that are used, at most; 32 bytes each, and as many again that are not */

static size_t place_of(uint32_t thread, uint32_t bin, uint32_t kind)
{
	uint64_t x = ((uint64_t)thread << 32 | bin) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 29 ^ kind) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/* There is room. */
static struct task_cell *find(struct page_tasks *t, uint32_t thread, uint32_t bin, uint32_t kind)
{
	size_t at = place_of(thread, bin, kind) & t->mask;

	while (t->cells[at].used &&
	       (t->cells[at].thread != thread || t->cells[at].bin != bin || t->cells[at].kind != kind))
		at = (at + 1) & t->mask;
	if (!t->cells[at].used) {
		t->cells[at] = (struct task_cell){ thread, bin, kind, true, 0, 0 };
		t->ncells++;
	}
	return &t->cells[at];
}

/* To another size; halve: two bins become one. 0 or -ENOMEM. */
static int rebuild(struct page_tasks *t, size_t size, bool halve)
{
	struct task_cell *old = t->cells;
	size_t count = old ? t->mask + 1 : 0;
	struct task_cell *cells = calloc(size, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	t->cells = cells;
	t->mask = size - 1;
	t->ncells = 0;
	if (halve)
		t->nbins /= 2;
	for (size_t i = 0; i < count; i++) {
		struct task_cell *to;

		if (!old[i].used)
			continue;
		to = find(t, old[i].thread, old[i].bin / (halve ? 2 : 1), old[i].kind);
		to->tasks += old[i].tasks;
		to->time += old[i].time;
	}
	free(old);
	return 0;
}

/* For one cell more. 0 or -ENOMEM. */
static int make_room(struct page_tasks *t)
{
	int error = t->cells ? 0 : rebuild(t, CELLS_FIRST, false);

	if (!error && 2 * t->ncells > t->mask && t->ncells < CELLS_MOST)
		error = rebuild(t, 2 * (t->mask + 1), false);
	while (!error && t->ncells >= CELLS_MOST && t->nbins > 1)
		error = rebuild(t, t->mask + 1, true);
	/* Threads and kinds alone may be too many. */
	return error ? error : t->ncells >= CELLS_MOST ? -ENOSPC : 0;
}

static uint32_t bin_of(const struct page_tasks *t, uint64_t time)
{
	uint64_t since = time > t->start ? time - t->start : 0;

	if (since >= t->end - t->start)
		return t->nbins - 1;
	return (unsigned __int128)since * t->nbins / (t->end - t->start);
}

/* The first ns of it. */
static uint64_t begin_of(const struct page_tasks *t, uint32_t bin)
{
	return t->start + (uint64_t)(((unsigned __int128)(t->end - t->start) * bin + t->nbins - 1) / t->nbins);
}

/* What of it lies in one bin from `at` on; *next: where the next one begins. */
static int add_part(struct page_tasks *t, const struct told_task *task, uint64_t at, uint64_t *next)
{
	int error = make_room(t); /* bins may be others behind that */
	uint32_t bin = bin_of(t, at);
	struct task_cell *cell;

	*next = bin + 1 < t->nbins ? begin_of(t, bin + 1) : UINT64_MAX;
	if (*next > task->end)
		*next = task->end;
	if (error)
		return error == -ENOSPC ? 0 : error;
	cell = find(t, task->thread, bin, task_kind_index(task->kind));
	cell->tasks += at == task->start;
	cell->time += task->depth ? 0 : *next - at; /* the task around it has that time */
	return 0;
}

int task_cells_add(struct page_tasks *t, const struct told_task *task)
{
	uint64_t at = task->start;
	int error;

	do {
		error = add_part(t, task, at, &at);
	} while (!error && at < task->end);
	return error;
}

static int in_order(const void *a, const void *b)
{
	const struct task_cell *x = a, *y = b;

	if (x->used != y->used)
		return x->used ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->bin != y->bin)
		return x->bin < y->bin ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

size_t task_cells_sort(struct page_tasks *t)
{
	if (t->cells)
		qsort(t->cells, t->mask + 1, sizeof(*t->cells), in_order);
	return t->ncells;
}
