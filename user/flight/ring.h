/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - private to user/flight: the last sealed blocks of spans, in memory of a fixed size.
 */
#ifndef GASPBPF_FLIGHT_RING_H
#define GASPBPF_FLIGHT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
	uint64_t begin, end;  /* ns; it has what was delivered from then on up to then */
	uint64_t spans, lost; /* in it, and by its gaps */
	uint64_t at;          /* in ring.data */
	uint32_t size;
	bool sums; /* no spans, but what the sums have grown by (window_sums.c) */
};

struct ring_of_blocks {
	uint8_t *data; /* mapped; pages without blocks are given back */
	size_t size;
	struct block *blocks; /* the oldest at `first`, `count` of them, around the end */
	size_t first, count, room;
	uint64_t gone; /* ns; the end of the last block that went */
};

/* At most so many bytes, the table of the blocks included; most: blocks, at most. 0 or -errno. */
int ring_new(struct ring_of_blocks *ring, size_t bytes, size_t most);
void ring_destroy(struct ring_of_blocks *ring);
/* The block's place and size are set here; the oldest ones go to make room. 0 or -EFBIG. */
int ring_push(struct ring_of_blocks *ring, const struct block *block, const uint8_t *bytes, size_t size);
/* Blocks that ended before this time (ns) go. */
void ring_expire(struct ring_of_blocks *ring, uint64_t before);
/* The oldest is number 0. */
const struct block *ring_block(const struct ring_of_blocks *ring, size_t number);
/* This one has been read for the last time: its memory may be used for other things. */
void ring_release(struct ring_of_blocks *ring, size_t number);

#endif
