/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stand-in UPC runtime: collectives. Each thread copies what concerns it between the threads' parts; the sync flags
 * are honoured by waiting for all threads before and after.
 */
#include "upc_runtime.h"

#include <string.h>

static upc_shared_ptr on_thread(upc_shared_ptr p, int thread, size_t offset)
{
	return upc_pointer(upc_address(p) + offset, thread, 0);
}

static void copy(upc_shared_ptr dest, upc_shared_ptr source, size_t n)
{
	memmove(upc_local_address(dest), upc_local_address(source), n);
}

static void enter(int flags)
{
	if (flags & UPC_IN_ALLSYNC)
		upc_wait_for_all();
}

static void leave(int flags)
{
	if (flags & UPC_OUT_ALLSYNC)
		upc_wait_for_all();
}

void upc_all_broadcast(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags)
{
	enter(flags);
	copy(on_thread(dest, MYTHREAD, 0), source, nbytes);
	leave(flags);
}

void upc_all_scatter(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags)
{
	enter(flags);
	copy(on_thread(dest, MYTHREAD, 0), on_thread(source, upc_thread(source), MYTHREAD * nbytes), nbytes);
	leave(flags);
}

void upc_all_gather(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags)
{
	enter(flags);
	copy(on_thread(dest, upc_thread(dest), MYTHREAD * nbytes), on_thread(source, MYTHREAD, 0), nbytes);
	leave(flags);
}

void upc_all_gather_all(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags)
{
	enter(flags);
	for (int i = 0; i < THREADS; i++)
		copy(on_thread(dest, MYTHREAD, i * nbytes), on_thread(source, i, 0), nbytes);
	leave(flags);
}

void upc_all_exchange(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags)
{
	enter(flags);
	for (int i = 0; i < THREADS; i++)
		copy(on_thread(dest, MYTHREAD, i * nbytes), on_thread(source, i, MYTHREAD * nbytes), nbytes);
	leave(flags);
}

void upc_all_permute(upc_shared_ptr dest, upc_shared_ptr source, upc_shared_ptr permutation, size_t nbytes, int flags)
{
	int to;

	enter(flags);
	memcpy(&to, upc_local_address(on_thread(permutation, MYTHREAD, 0)), sizeof(to));
	if (to < 0 || to >= THREADS)
		upc_complain("a permutation names a thread that does not exist");
	copy(on_thread(dest, to, 0), on_thread(source, MYTHREAD, 0), nbytes);
	leave(flags);
}

/* Element i of an array that is dealt out in blocks of blk_size to threads 0, 1, 2 … (blk_size 0: all on the first). */
static upc_shared_ptr element(upc_shared_ptr array, size_t i, size_t blk_size, size_t size)
{
	size_t block, first = upc_thread(array);

	if (blk_size == 0)
		return on_thread(array, (int)first, i * size);
	block = i / blk_size + first;
	return on_thread(array, (int)(block % THREADS), (block / THREADS * blk_size + i % blk_size) * size);
}

/* Thread 0 goes through the elements in order: simple, and the same result for any number of threads. */
#define DEFINE_REDUCTION(letter, type)                                                                                \
	static type combine_##letter(upc_op_t op, type (*func)(type, type), type a, type b)                           \
	{                                                                                                             \
		if (func)                                                                                             \
			return func(a, b);                                                                            \
		switch (op) {                                                                                         \
		case UPC_ADD:                                                                                         \
			return a + b;                                                                                 \
		case UPC_MULT:                                                                                        \
			return a * b;                                                                                 \
		case UPC_MIN:                                                                                         \
			return a < b ? a : b;                                                                         \
		default:                                                                                              \
			return a > b ? a : b;                                                                         \
		}                                                                                                     \
	}                                                                                                             \
	static void reduce_##letter(upc_shared_ptr dest, upc_shared_ptr source, upc_op_t op, size_t nelems,           \
				    size_t blk_size, type (*func)(type, type), int every)                             \
	{                                                                                                             \
		type sum = 0, value;                                                                                  \
		for (size_t i = 0; MYTHREAD == 0 && i < nelems; i++) {                                                \
			memcpy(&value, upc_local_address(element(source, i, blk_size, sizeof(type))), sizeof(value)); \
			sum = i ? combine_##letter(op, func, sum, value) : value;                                     \
			if (every)                                                                                    \
				memcpy(upc_local_address(element(dest, i, blk_size, sizeof(type))), &sum,             \
				       sizeof(sum));                                                                  \
		}                                                                                                     \
		if (MYTHREAD == 0 && !every)                                                                          \
			memcpy(upc_local_address(dest), &sum, sizeof(sum));                                           \
	}                                                                                                             \
	void upc_all_reduce##letter(upc_shared_ptr dest, upc_shared_ptr source, upc_op_t op, size_t nelems,           \
				    size_t blk_size, type (*func)(type, type), int flags)                             \
	{                                                                                                             \
		enter(flags);                                                                                         \
		reduce_##letter(dest, source, op, nelems, blk_size, func, 0);                                         \
		leave(flags);                                                                                         \
	}                                                                                                             \
	void upc_all_prefix_reduce##letter(upc_shared_ptr dest, upc_shared_ptr source, upc_op_t op, size_t nelems,    \
					   size_t blk_size, type (*func)(type, type), int flags)                      \
	{                                                                                                             \
		enter(flags);                                                                                         \
		reduce_##letter(dest, source, op, nelems, blk_size, func, 1);                                         \
		leave(flags);                                                                                         \
	}
UPC_REDUCTIONS(DEFINE_REDUCTION)
