/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.c - a hash table from 64 bits to an index, open and never shrinking.
 */
#include "analysis/index.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SIZE 32 /* many are small: there is one for each cause of waiting (delays.c) */

static int index_grow(struct index *index)
{
	size_t size = index->slots ? 2 * (index->mask + 1) : FIRST_SIZE;
	struct index larger = { .slots = malloc(size * sizeof(*larger.slots)), .mask = size - 1, .used = index->used };

	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++)
		larger.slots[i].value = INDEX_FREE;
	for (size_t i = 0; index->slots && i <= index->mask; i++) {
		if (index->slots[i].value == INDEX_FREE)
			continue;
		size_t at = index_home(&larger, index->slots[i].key);

		while (larger.slots[at].value != INDEX_FREE)
			at = (at + 1) & larger.mask;
		larger.slots[at] = index->slots[i];
	}
	free(index->slots);
	*index = larger;
	return 0;
}

struct index_slot *index_find(struct index *index, uint64_t key)
{
	if (!index->slots || index->used * 5 > index->mask * 3) {
		if (index_grow(index))
			return NULL;
	}
	size_t at = index_home(index, key);

	while (index->slots[at].value != INDEX_FREE && index->slots[at].key != key)
		at = (at + 1) & index->mask;
	if (index->slots[at].value == INDEX_FREE) {
		index->slots[at].key = key;
		index->used++;
	}
	return &index->slots[at];
}

const struct index_slot *index_known(const struct index *index, uint64_t key)
{
	size_t at = index->slots ? index_home(index, key) : 0;

	while (index->slots && index->slots[at].value != INDEX_FREE) {
		if (index->slots[at].key == key)
			return &index->slots[at];
		at = (at + 1) & index->mask;
	}
	return NULL;
}
