/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.c - memory while BPF objects are loaded.
 */
#include "probe/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT (64 << 20)        /* bytes: more than what loading takes */
#define AT_ONCE (16 << 20)     /* by which the heap grows: the types twice, and what is made of them */
#define MAPPED_FROM (32 << 20) /* the most that glibc takes */
#define FIRST (192 << 10)      /* too large for what may be free already */
/* Afterwards: what glibc itself would have come to after it had freed the types once. */
#define LATER_AT_ONCE (128 << 10)
#define LATER_MAPPED_FROM (4 << 20)
#define LATER_KEPT (2 * LATER_MAPPED_FROM)

/* Hints only: where they are not taken, a start takes longer. The other allocators do not know of them. */
static void advise(int advice)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *block = malloc(FIRST), *end = sbrk(0);
	uintptr_t start = ((uintptr_t)block + page - 1) & ~(page - 1);

	free(block);
	if (block && start < (uintptr_t)end && (uintptr_t)end - start <= KEPT)
		madvise((void *)start, (uintptr_t)end - start, advice);
}

void heap_keep(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	mallopt(M_TRIM_THRESHOLD, KEPT);
	mallopt(M_TOP_PAD, AT_ONCE);
	advise(MADV_HUGEPAGE);
}

void heap_release(void)
{
	mallopt(M_TOP_PAD, LATER_AT_ONCE);
	advise(MADV_NOHUGEPAGE);
	mallopt(M_MMAP_THRESHOLD, LATER_MAPPED_FROM);
	mallopt(M_TRIM_THRESHOLD, LATER_KEPT);
	malloc_trim(0);
}
