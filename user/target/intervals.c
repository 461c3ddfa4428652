/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intervals.c - nested address ranges, and which innermost one holds an address.
 *
 * Sorted by their start, the ranges around one stand before it; each knows the next one outward. So a
 * search finds the last range that starts at or before the address and climbs out until one holds it. Ranges that
 * overlap without nesting, which no compiler makes, cost an answer, never more.
 */
#include "target/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"

int intervals_add(struct intervals *intervals, struct interval interval, size_t most)
{
	if (interval.high <= interval.low)
		return 0;
	if (intervals->count >= most)
		return -E2BIG;
	if (array_one_more(&intervals->list, &intervals->room, intervals->count, sizeof(*intervals->list)))
		return -ENOMEM;
	interval.outer = -1;
	intervals->list[intervals->count++] = interval;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

void intervals_finish(struct intervals *intervals)
{
	struct interval *list = intervals->list;

	if (!intervals->count)
		return;
	qsort(list, intervals->count, sizeof(*list), compare);
	for (size_t i = 1; i < intervals->count; i++) {
		int32_t outer = (int32_t)i - 1;

		while (outer >= 0 && list[outer].high <= list[i].low)
			outer = list[outer].outer;
		list[i].outer = outer;
	}
}

const struct interval *intervals_find(const struct intervals *intervals, uint64_t address)
{
	size_t low = 0, high = intervals->count;
	int32_t at;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (intervals->list[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	at = (int32_t)low - 1;
	while (at >= 0 && address >= intervals->list[at].high)
		at = intervals->list[at].outer;
	return at < 0 ? NULL : &intervals->list[at];
}

void intervals_free(struct intervals *intervals)
{
	free(intervals->list);
	*intervals = (struct intervals){ 0 };
}
