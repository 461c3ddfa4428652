/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An allocator that takes its time, by the clock of the thread's processor time, and knows how much: for LD_PRELOAD.
 * Small blocks come from its own few places, one after the other, while it is slow; all else from the C library.
 */
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define PLACES 1024
#define PLACE 256

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);
void slow_malloc(long ns);
long slow_malloc_took(void);

static char pool[PLACES][PLACE] __attribute__((aligned(16)));
static unsigned next;
static long slow, took; /* ns */

static long used(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void spend(void)
{
	long began = used(), now;

	do
		now = used();
	while (now - began < slow);
	took += now - began;
}

/* 0: as fast as others. By one thread. */
void slow_malloc(long ns)
{
	slow = ns;
}

long slow_malloc_took(void)
{
	return took;
}

void *malloc(size_t size)
{
	if (!slow || size > PLACE)
		return __libc_malloc(size);
	spend();
	return pool[next++ % PLACES];
}

void free(void *block)
{
	if (block < (void *)pool || block >= (void *)(pool + PLACES))
		__libc_free(block);
	else if (slow)
		spend();
}
