/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * people.c - sets of threads.
 */
#include "analysis/people.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/format.h"

#define NAMES_MOST 3     /* of threads that are told by name */
#define CLEARLY_MORE 1.5 /* times its share */
#define ALL 99.5         /* percent */
#define RANGES_MOST 6    /* of ranks */
#define RANKS_MOST 4096  /* of more of them only the number is told: to find the next costs a look at all */

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

/* The rank that the thread is the only one of; -1: it is none. */
static long rank_of(const struct definitions *d, uint32_t thread)
{
	const struct def_process *process = &d->processes[d->threads[thread].process];

	return process->pid == d->threads[thread].tid ? process->rank : -1;
}

/* The smallest rank among them above that one, and how many have it; LONG_MAX: there is none. */
static long next_rank(const struct definitions *d, const struct people *people, long above, unsigned *times)
{
	long next = LONG_MAX;

	*times = 0;
	for (uint32_t t = 0; t < d->nthreads; t++) {
		long rank = people_has(people, t) ? rank_of(d, t) : -1;

		if (rank <= above || rank > next)
			continue;
		*times = rank == next ? *times + 1 : 1;
		next = rank;
	}
	return next;
}

/* All of them are ranks of one thread each; *unit: what one is called. */
static bool are_ranks(const struct definitions *d, const struct people *people, const char **unit)
{
	*unit = NULL;
	for (uint32_t t = 0; t < d->nthreads; t++) {
		if (!people_has(people, t))
			continue;
		if (rank_of(d, t) < 0)
			return false;
		*unit = d->processes[d->threads[t].process].unit ?: "rank";
	}
	return *unit;
}

/* False: two have the same rank, as in two jobs. No memory is asked for: there may be none. */
static bool put_ranks(const struct definitions *d, const struct people *people, const char *unit, char *text,
		      size_t room)
{
	size_t count = people_count(people), told = 0, at;
	unsigned ranges = 0, times;
	long rank = next_rank(d, people, -1, &times), last;

	at = snprintf(text, room, "%.20s%s ", unit, count == 1 ? "" : plural_ending(unit));
	for (; rank != LONG_MAX && at < room; told++) {
		long first = rank;

		if (++ranges > RANGES_MOST || told > RANKS_MOST) {
			snprintf(text, room, "%zu %.20s%s", count, unit, plural_ending(unit));
			return true;
		}
		do {
			if (times > 1)
				return false;
			last = rank;
			rank = next_rank(d, people, last, &times);
		} while (rank == last + 1 && ++told <= RANKS_MOST);
		at += last == first ? snprintf(text + at, room - at, "%s%ld", ranges > 1 ? ", " : "", first)
				    : snprintf(text + at, room - at, "%s%ld%s%ld", ranges > 1 ? ", " : "", first,
					       last == first + 1 ? ", " : "-", last);
	}
	return true;
}

/* Those that are told by name. */
struct named {
	char name[LABEL_ROOM], with_tid[LABEL_ROOM];
	uint32_t tid;
};

static size_t name_them(const struct definitions *d, const struct people *people, struct named named[NAMES_MOST])
{
	size_t count = 0;

	for (uint32_t t = 0; t < d->nthreads && count < NAMES_MOST; t++) {
		struct who who = who_is_thread(d, t);

		if (!people_has(people, t))
			continue;
		named[count].tid = who.tid;
		label_without_tid(&who, named[count].name, LABEL_ROOM);
		label_of_thread(&who, named[count].with_tid, LABEL_ROOM);
		count++;
	}
	return count;
}

/* How many have the name of another one. */
static size_t count_same(const struct named *named, size_t count)
{
	size_t same = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (k != i && !strcmp(named[i].name, named[k].name)) {
				same++;
				break;
			}
	return same;
}

static void put_threads(const struct definitions *d, const struct people *people, char *text, size_t room)
{
	struct named named[NAMES_MOST];
	size_t count = people_count(people), at, same;

	snprintf(text, room, "%zu threads", count);
	if (count > NAMES_MOST)
		return;
	count = name_them(d, people, named);
	same = count_same(named, count);
	if (same && same == count && !strcmp(named[0].name, named[count - 1].name)) {
		at = snprintf(text, room, "%s (tids ", named[0].name);
		for (size_t i = 0; i < count && at < room; i++)
			at += snprintf(text + at, room - at, "%s%u%s", i ? ", " : "", named[i].tid,
				       i + 1 == count ? ")" : "");
		return;
	}
	at = 0;
	for (size_t i = 0; i < count && at < room; i++)
		at += snprintf(text + at, room - at, "%s%s", i ? ", " : "",
			       same || count == 1 ? named[i].with_tid : named[i].name);
}

char *people_label(const struct definitions *d, const struct people *people, char *text, size_t room)
{
	const char *unit;

	*text = '\0';
	if (are_ranks(d, people, &unit) && put_ranks(d, people, unit, text, room))
		return text;
	if (people_count(people))
		put_threads(d, people, text, room);
	return text;
}

char *people_label_with_most(const struct definitions *d, const struct people *people, uint32_t most, double percent,
			     char *text, size_t room)
{
	char all[LABEL_ROOM], one[LABEL_ROOM];
	size_t count = people_count(people);

	people_label(d, people, all, sizeof(all));
	thread_label(d, most, one, sizeof(one));
	if (count < 2 || percent < CLEARLY_MORE * 100 / count)
		snprintf(text, room, "%s", all);
	else if (percent >= ALL)
		snprintf(text, room, "%s", one);
	else
		snprintf(text, room, "%s: %.0f%%, %s", one, percent, all);
	return text;
}
