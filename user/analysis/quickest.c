/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quickest.c - how long the quicker ones of many take that are the same.
 *
 * Lengths are counted in classes, 16 for each power of two, from 1 us to 1 s; what is shorter or longer is in the first
 * or the last one.
 */
#include "analysis/quickest.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_COUNTED 16 /* the first ones */
#define FIRST 10       /* powers of two, ns */
#define LAST 30
#define PARTS_BITS 4
#define PARTS (1 << PARTS_BITS)
#define CLASSES ((LAST - FIRST) * PARTS)

static unsigned class_of(uint64_t ns)
{
	unsigned power;

	if (ns < 1ULL << FIRST)
		return 0;
	if (ns >= 1ULL << LAST)
		return CLASSES - 1;
	power = 63 - __builtin_clzll(ns);
	return (power - FIRST) * PARTS + ((ns >> (power - PARTS_BITS)) & (PARTS - 1));
}

/* The least length that is in it; of the one behind the last one, too. */
static uint64_t least_of(unsigned class)
{
	return (uint64_t)(PARTS + class % PARTS) << (FIRST + class / PARTS - PARTS_BITS);
}

int quickest_add(struct quickest *q, uint64_t ns)
{
	if (++q->passed <= NOT_COUNTED)
		return 0;
	if (!q->counts)
		q->counts = calloc(CLASSES, sizeof(*q->counts));
	if (!q->counts)
		return -ENOMEM;
	q->counts[class_of(ns)]++;
	q->count++;
	return 0;
}

/* The class of the first one that has so many percent before it. */
static unsigned class_behind(const struct quickest *q, unsigned percent)
{
	uint64_t before = q->count * percent / 100, passed = 0;
	unsigned class = 0;

	while (class < CLASSES - 1 && (passed += q->counts[class]) <= before)
		class ++;
	return class;
}

uint64_t quickest_at_least(const struct quickest *q, unsigned percent)
{
	unsigned class = class_behind(q, percent);

	return class ? least_of(class) : 0;
}

uint64_t quickest_at_most(const struct quickest *q, unsigned percent)
{
	unsigned class = class_behind(q, percent);

	return class < CLASSES - 1 ? least_of(class + 1) : UINT64_MAX;
}

void quickest_free(struct quickest *q)
{
	free(q->counts);
}
