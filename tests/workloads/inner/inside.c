/* SPDX-License-Identifier: BSD-2-Clause */
/* See inside.h. */
#include "inside.h"

static int heap;
static char memory[1 << 16];
static size_t used;

__attribute__((noipa)) void inside_lock(int *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		;
}

__attribute__((noipa)) void inside_unlock(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* A function that no model describes is between the two. */
static __attribute__((noipa)) void take_heap(void)
{
	inside_lock(&heap);
	__asm__ volatile("");
}

__attribute__((noipa)) void *inside_alloc(size_t size)
{
	void *block;

	take_heap();
	block = &memory[used % sizeof(memory)];
	used += size;
	inside_unlock(&heap);
	__asm__ volatile("");
	return block;
}

__attribute__((noipa)) void inside_reduce(int *data, void (*op)(int *))
{
	op(data);
	__asm__ volatile("");
}
