/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.c - who holds a lock for which ranks queue up: a decoder of the layout "queue of ranks".
 *
 * Such a lock is a word of 8 bytes that every rank has at the same symmetric address. Who has to wait puts itself at
 * the end of a queue: it writes its rank plus 1 into the lower half of the word of the one before it, and that one
 * passes the lock on when it releases it, and clears that. So whoever has a successor and is nobody's successor has the
 * lock. (The upper halves, which say who is the last in the queue and how often a rank has taken the lock, are not
 * needed.)
 *
 * One that does not wait yet but has a successor is always the holder. One that waits and has no predecessor among the
 * ranks that can be read: its predecessor is one that cannot be, and if there is but one of these it is the holder,
 * most likely.
 */
#include <string.h>

#include "waitgraph/waitgraph.h"

/* The rank that waits behind this one; WAITS_NOBODY: none. */
static long next_of(const struct rank_word *words, size_t ranks, size_t rank)
{
	uint32_t next = (uint32_t)words[rank].word;

	return words[rank].known && next && next <= ranks && next - 1 != rank ? (long)next - 1 : WAITS_NOBODY;
}

static size_t count_before(const struct rank_word *words, size_t ranks, long rank)
{
	size_t before = 0;

	for (size_t i = 0; i < ranks; i++)
		before += next_of(words, ranks, i) == rank;
	return before;
}

/* The only rank that cannot be read; WAITS_NOBODY: there is none, or there are several. */
static long only_unknown(const struct rank_word *words, size_t ranks)
{
	long found = WAITS_NOBODY;

	for (size_t i = 0; i < ranks; i++) {
		if (words[i].known)
			continue;
		if (found != WAITS_NOBODY)
			return WAITS_NOBODY;
		found = (long)i;
	}
	return found;
}

long lock_rank_holder(const char *layout, const struct rank_word *words, size_t ranks, bool *likely)
{
	long head = WAITS_NOBODY;
	bool some_wait = false;

	*likely = false;
	if (strcmp(layout, "queue_of_ranks"))
		return WAITS_NOBODY;
	for (size_t i = 0; i < ranks; i++) {
		some_wait |= words[i].known && words[i].waits;
		if (next_of(words, ranks, i) == WAITS_NOBODY || count_before(words, ranks, (long)i))
			continue;
		if (head != WAITS_NOBODY)
			return WAITS_NOBODY; /* two queues: it is in the middle of a change, or no such lock */
		head = (long)i;
	}
	if (head != WAITS_NOBODY && !words[head].waits)
		return head;
	*likely = true;
	return some_wait ? only_unknown(words, ranks) : WAITS_NOBODY;
}
