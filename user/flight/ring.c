/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.c - the last sealed blocks of spans, in memory of a fixed size.
 *
 * Blocks differ in size and go in the order they came, so they lie one after the other in one mapping and around its
 * end; a block that does not fit before the end begins at the start. Pages that hold nothing any more go back to the
 * system, so that a quiet job takes little although much is allowed.
 */
#include "flight/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

int ring_new(struct ring_of_blocks *ring, size_t bytes, size_t most)
{
	size_t table = most * sizeof(struct block);

	*ring = (struct ring_of_blocks){ .room = most };
	if (bytes < table + 16 * PAGE)
		return -EINVAL;
	ring->size = (bytes - table) & ~(size_t)(PAGE - 1);
	ring->blocks = calloc(most, sizeof(*ring->blocks));
	ring->data = ring->blocks ? mmap(NULL, ring->size, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
				  : MAP_FAILED;
	if (ring->data != MAP_FAILED)
		return 0;
	free(ring->blocks);
	*ring = (struct ring_of_blocks){ 0 };
	return -ENOMEM;
}

void ring_destroy(struct ring_of_blocks *ring)
{
	if (ring->data)
		munmap(ring->data, ring->size);
	free(ring->blocks);
	*ring = (struct ring_of_blocks){ 0 };
}

static struct block *block_of(const struct ring_of_blocks *ring, size_t number)
{
	return &ring->blocks[(ring->first + number) % ring->room];
}

const struct block *ring_block(const struct ring_of_blocks *ring, size_t number)
{
	return block_of(ring, number);
}

/* The pages that only this block lies on. */
static void give_back(struct ring_of_blocks *ring, const struct block *block)
{
	uint64_t from = (block->at + PAGE - 1) & ~(uint64_t)(PAGE - 1),
		 to = (block->at + block->size) & ~(uint64_t)(PAGE - 1);

	if (from < to)
		madvise(ring->data + from, to - from, MADV_DONTNEED);
}

void ring_release(struct ring_of_blocks *ring, size_t number)
{
	give_back(ring, block_of(ring, number));
}

static void drop_first(struct ring_of_blocks *ring)
{
	const struct block *oldest = block_of(ring, 0);

	give_back(ring, oldest);
	ring->gone = oldest->end;
	ring->first = (ring->first + 1) % ring->room;
	ring->count--;
}

/* Where so many bytes can be put without a block going; SIZE_MAX: nowhere. */
static size_t find_place(const struct ring_of_blocks *ring, size_t size)
{
	const struct block *oldest, *newest;
	size_t after;

	if (!ring->count)
		return 0;
	if (ring->count == ring->room)
		return SIZE_MAX;
	oldest = block_of(ring, 0);
	newest = block_of(ring, ring->count - 1);
	after = newest->at + newest->size;
	if (newest->at < oldest->at) /* they go around the end: the room is in between */
		return oldest->at - after >= size ? after : SIZE_MAX;
	if (ring->size - after >= size)
		return after;
	return oldest->at >= size ? 0 : SIZE_MAX;
}

int ring_push(struct ring_of_blocks *ring, const struct block *block, const uint8_t *bytes, size_t size)
{
	size_t at;
	struct block *fresh;

	if (size > ring->size || size > UINT32_MAX)
		return -EFBIG;
	while ((at = find_place(ring, size)) == SIZE_MAX)
		drop_first(ring);
	memcpy(ring->data + at, bytes, size);
	fresh = block_of(ring, ring->count++);
	*fresh = *block;
	fresh->at = at;
	fresh->size = size;
	return 0;
}

void ring_expire(struct ring_of_blocks *ring, uint64_t before)
{
	while (ring->count && block_of(ring, 0)->end < before)
		drop_first(ring);
}
