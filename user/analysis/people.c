/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * people.c - sets of threads.
 */
#include "analysis/people.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define NAMES_MOST 3  /* of threads that are told by name */
#define RANGES_MOST 6 /* of ranks */

int people_add(struct people *people, uint32_t thread)
{
	if (array_reach(&people->bits, &people->words, thread / 64 + 1, sizeof(*people->bits)))
		return -ENOMEM;
	people->bits[thread / 64] |= 1ull << thread % 64;
	return 0;
}

bool people_has(const struct people *people, uint32_t thread)
{
	return thread / 64 < people->words && people->bits[thread / 64] >> thread % 64 & 1;
}

int people_join(struct people *people, const struct people *other)
{
	if (array_reach(&people->bits, &people->words, other->words, sizeof(*people->bits)))
		return -ENOMEM;
	for (size_t i = 0; i < other->words; i++)
		people->bits[i] |= other->bits[i];
	return 0;
}

size_t people_count(const struct people *people)
{
	size_t count = 0;

	for (size_t i = 0; i < people->words; i++)
		count += __builtin_popcountll(people->bits[i]);
	return count;
}

void people_free(struct people *people)
{
	free(people->bits);
	*people = (struct people){ 0 };
}

static int by_number(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Their ranks, sorted; NULL: not all are one, or some are one of several threads of it; *count. */
static long *ranks_of(const struct definitions *d, const struct people *people, size_t *count, const char **unit)
{
	long *ranks = calloc(people_count(people) + 1, sizeof(*ranks));
	size_t n = 0;

	*unit = "rank";
	for (uint32_t t = 0; ranks && t < d->nthreads; t++) {
		const struct def_process *process = &d->processes[d->threads[t].process];

		if (!people_has(people, t))
			continue;
		if (process->rank < 0 || process->pid != d->threads[t].tid) {
			free(ranks);
			return NULL;
		}
		*unit = process->unit ? process->unit : "rank";
		ranks[n++] = process->rank;
	}
	if (!ranks)
		return NULL;
	qsort(ranks, n, sizeof(*ranks), by_number);
	for (size_t i = 1; i < n; i++)
		if (ranks[i] == ranks[i - 1]) { /* two jobs */
			free(ranks);
			return NULL;
		}
	*count = n;
	return ranks;
}

static void put_ranks(const long *ranks, size_t count, const char *unit, char *text, size_t room)
{
	unsigned ranges = 0;
	size_t at = snprintf(text, room, "%.20s%s ", unit, count == 1 ? "" : "s");

	for (size_t i = 0, last; i < count && at < room; i = last + 1) {
		for (last = i; last + 1 < count && ranks[last + 1] == ranks[last] + 1;)
			last++;
		if (++ranges > RANGES_MOST) {
			snprintf(text, room, "%zu %.20ss", count, unit);
			return;
		}
		at += last == i ? snprintf(text + at, room - at, "%s%ld", i ? ", " : "", ranks[i])
				: snprintf(text + at, room - at, "%s%ld%s%ld", i ? ", " : "", ranks[i],
					   last == i + 1 ? ", " : "-", ranks[last]);
	}
}

static void put_threads(const struct definitions *d, const struct people *people, char *text, size_t room)
{
	size_t count = people_count(people), at = 0;
	char label[LABEL_ROOM];

	snprintf(text, room, "%zu threads", count);
	if (count > NAMES_MOST)
		return;
	for (uint32_t t = 0; t < d->nthreads && at < room; t++) {
		struct who who = who_is_thread(d, t);

		if (!people_has(people, t))
			continue;
		at += snprintf(text + at, room - at, "%s%s", at ? ", " : "",
			       count == 1 ? label_of_thread(&who, label, sizeof(label))
					  : label_without_tid(&who, label, sizeof(label)));
	}
}

char *people_label(const struct definitions *d, const struct people *people, char *text, size_t room)
{
	const char *unit;
	size_t count = 0;
	long *ranks = ranks_of(d, people, &count, &unit);

	*text = '\0';
	if (ranks && count)
		put_ranks(ranks, count, unit, text, room);
	else if (people_count(people))
		put_threads(d, people, text, room);
	free(ranks);
	return text;
}
