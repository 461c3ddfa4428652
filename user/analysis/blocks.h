/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocks.h - the blocks of a heap that are alive, by their address. Private to user/analysis.
 */
#ifndef GASPBPF_ANALYSIS_BLOCKS_H
#define GASPBPF_ANALYSIS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 32 bytes: there may be millions of them. */
struct block {
	uint64_t address; /* never 0 */
	uint64_t born;    /* ns; when the call that gave it returned */
	uint64_t bytes : 44;
	uint64_t took : 20; /* ns, of that call; longer ones are cut */
	uint32_t site;      /* whose: see memory.h */
	uint32_t thread;
};

#define BLOCK_BYTES_MOST ((1ull << 44) - 1)
#define BLOCK_TOOK_MOST ((1ull << 20) - 1)

/* Begins as zeros; `slots` is to be freed. A slot whose address is 0 is free. */
struct blocks {
	struct block *slots;
	size_t mask, count;
};

/* The slot of this address; a new one has site UINT32_MAX, and the caller fills it. NULL: out of memory. */
struct block *blocks_put(struct blocks *blocks, uint64_t address);
/* Takes the block out. False: there is none. */
bool blocks_take(struct blocks *blocks, uint64_t address, struct block *taken);
/* Forgets all. */
void blocks_clear(struct blocks *blocks);

#endif
