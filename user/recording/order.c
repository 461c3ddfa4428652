/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.c - the order in which processes and threads are listed, whenever and wherever they were met.
 */
#include <stdlib.h>

#include "recording/recording.h"

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

/* -1, for none, is the largest. */
static unsigned long rank_of(const struct def_process *process)
{
	return process ? process->rank : -1;
}

int process_order(const struct definitions *d, uint32_t a, uint32_t b)
{
	COMPARE(rank_of(&d->processes[a]), rank_of(&d->processes[b]));
	COMPARE(a, b);
	return 0;
}

int thread_order(const struct definitions *d, uint32_t a, uint32_t b)
{
	const struct def_thread *x = &d->threads[a], *y = &d->threads[b];

	COMPARE(rank_of(thread_process(d, a)), rank_of(thread_process(d, b)));
	COMPARE(x->process, y->process);
	COMPARE(x->tid, y->tid);
	COMPARE(a, b);
	return 0;
}

static int by_process(const void *a, const void *b, void *definitions)
{
	return process_order(definitions, *(const uint32_t *)a, *(const uint32_t *)b);
}

static int by_thread(const void *a, const void *b, void *definitions)
{
	return thread_order(definitions, *(const uint32_t *)a, *(const uint32_t *)b);
}

static uint32_t *in_order(const struct definitions *d, size_t count, int (*compare)(const void *, const void *, void *))
{
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare, (void *)d);
	return order;
}

uint32_t *threads_in_order(const struct definitions *d)
{
	return in_order(d, d->nthreads, by_thread);
}

uint32_t *processes_in_order(const struct definitions *d)
{
	return in_order(d, d->nprocesses, by_process);
}
