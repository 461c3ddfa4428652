/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocks.c - the blocks of a heap that are alive: an open hash table, from which blocks are taken as often as they are
 * put in. So nothing marks a place as once used: whatever stands behind moves up.
 */
#include "analysis/blocks.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 256

static size_t home_of(const struct blocks *blocks, uint64_t address)
{
	address *= 0x9e3779b97f4a7c15ull;
	return (address ^ address >> 32) & blocks->mask;
}

/* The place of the address, or the free one where it would be. */
static size_t place_of(const struct blocks *blocks, uint64_t address)
{
	size_t at = home_of(blocks, address);

	while (blocks->slots[at].address && blocks->slots[at].address != address)
		at = (at + 1) & blocks->mask;
	return at;
}

static bool grow(struct blocks *blocks)
{
	size_t size = blocks->slots ? 2 * (blocks->mask + 1) : FIRST_SIZE;
	struct blocks larger = { .slots = calloc(size, sizeof(*larger.slots)),
				 .mask = size - 1,
				 .count = blocks->count };

	if (!larger.slots)
		return false;
	for (size_t i = 0; blocks->slots && i <= blocks->mask; i++)
		if (blocks->slots[i].address)
			larger.slots[place_of(&larger, blocks->slots[i].address)] = blocks->slots[i];
	free(blocks->slots);
	*blocks = larger;
	return true;
}

struct block *blocks_put(struct blocks *blocks, uint64_t address)
{
	struct block *slot;

	if ((!blocks->slots || blocks->count * 4 >= blocks->mask * 3) && !grow(blocks))
		return NULL;
	slot = &blocks->slots[place_of(blocks, address)];
	if (!slot->address) {
		*slot = (struct block){ .address = address, .site = UINT32_MAX };
		blocks->count++;
	}
	return slot;
}

/* Closes the gap: what is found by passing it moves into it, and leaves a gap itself. */
static void close_gap(struct blocks *blocks, size_t gap)
{
	for (size_t at = (gap + 1) & blocks->mask; blocks->slots[at].address; at = (at + 1) & blocks->mask) {
		size_t way = (at - home_of(blocks, blocks->slots[at].address)) & blocks->mask;

		if (way < ((at - gap) & blocks->mask))
			continue;
		blocks->slots[gap] = blocks->slots[at];
		gap = at;
	}
	blocks->slots[gap].address = 0;
}

bool blocks_take(struct blocks *blocks, uint64_t address, struct block *taken)
{
	size_t at = blocks->slots ? place_of(blocks, address) : 0;

	if (!blocks->slots || !blocks->slots[at].address)
		return false;
	*taken = blocks->slots[at];
	blocks->count--;
	close_gap(blocks, at);
	return true;
}

void blocks_clear(struct blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct blocks){ 0 };
}
