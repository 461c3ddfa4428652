/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.h - a hash table from 64 bits to an index. Private to user/analysis.
 */
#ifndef GASPBPF_ANALYSIS_INDEX_H
#define GASPBPF_ANALYSIS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_FREE UINT32_MAX /* NO_INDEX */

struct index_slot {
	uint64_t key;
	uint32_t value; /* INDEX_FREE: free */
};

/* Begins as zeros; `slots` is to be freed. */
struct index {
	struct index_slot *slots;
	size_t mask, used;
};

static inline uint64_t index_key(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

static inline size_t index_home(const struct index *index, uint64_t key)
{
	key *= 0x9e3779b97f4a7c15ull;
	return (key ^ key >> 32) & index->mask;
}

/* The key is looked up soon: asks for the memory. */
static inline void index_fetch(const struct index *index, uint64_t key)
{
	if (index->slots)
		__builtin_prefetch(&index->slots[index_home(index, key)]);
}

/* The slot of a key; a new one has the value INDEX_FREE, and the caller fills it. NULL: out of memory. */
struct index_slot *index_find(struct index *index, uint64_t key);
/* The slot of a key that is there; NULL: it is not. */
const struct index_slot *index_known(const struct index *index, uint64_t key);

#endif
