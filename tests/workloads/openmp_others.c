/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmp_others.c - calls of OpenMP's runtimes that this job's compiler would not make: those of older compilers on
 * libgomp; on libomp what Clang makes of reductions and of atomics that the processor cannot do.
 */
#include "openmp_job.h"

#include <stdbool.h>
#include <stddef.h>

#ifndef __clang__

void GOMP_parallel_start(void (*fn)(void *), void *data, unsigned threads);
void GOMP_parallel_end(void);
void GOMP_parallel_loop_static_start(void (*fn)(void *), void *data, unsigned threads, long start, long end, long incr,
				     long chunk);
void GOMP_parallel_loop_dynamic_start(void (*fn)(void *), void *data, unsigned threads, long start, long end, long incr,
				      long chunk);
void GOMP_parallel_loop_runtime_start(void (*fn)(void *), void *data, unsigned threads, long start, long end,
				      long incr);
void GOMP_parallel_sections_start(void (*fn)(void *), void *data, unsigned threads, unsigned count);
void GOMP_parallel_loop_static(void (*fn)(void *), void *data, unsigned threads, long start, long end, long incr,
			       long chunk, unsigned flags);
bool GOMP_loop_static_start(long start, long end, long incr, long chunk, long *istart, long *iend);
bool GOMP_loop_static_next(long *istart, long *iend);
bool GOMP_loop_dynamic_next(long *istart, long *iend);
bool GOMP_loop_runtime_next(long *istart, long *iend);
bool GOMP_loop_ull_static_start(bool up, unsigned long long start, unsigned long long end, unsigned long long incr,
				unsigned long long chunk, unsigned long long *istart, unsigned long long *iend);
bool GOMP_loop_ull_static_next(unsigned long long *istart, unsigned long long *iend);
void GOMP_loop_end(void);
void GOMP_loop_end_nowait(void);
unsigned GOMP_sections_next(void);
void GOMP_sections_end_nowait(void);

static void run_chunk(long from, long to)
{
	for (long i = from; i < to; i++)
		iteration(i);
}

static void plain_body(void *data)
{
	unsigned long long first, last;
	long from, to;

	learn(*(long *)data);
	if (GOMP_loop_static_start(0, ITERATIONS, 1, 4, &from, &to))
		do
			run_chunk(from, to);
		while (GOMP_loop_static_next(&from, &to));
	GOMP_loop_end();
	if (GOMP_loop_ull_static_start(true, 0, ITERATIONS, 1, 4, &first, &last))
		do
			for (unsigned long long i = first; i < last; i++)
				iteration_ull(i);
		while (GOMP_loop_ull_static_next(&first, &last));
	GOMP_loop_end();
}

#define LOOP_BODY(name)                                         \
	static void name##_body(void *data)                     \
	{                                                       \
		long from, to;                                  \
								\
		while (GOMP_loop_##name##_next(&from, &to))     \
			run_chunk(from, to);                    \
		GOMP_loop_end_nowait();                         \
	}
LOOP_BODY(static)
LOOP_BODY(dynamic)
LOOP_BODY(runtime)

static void sections_body(void *data)
{
	while (GOMP_sections_next())
		now->sections++;
	GOMP_sections_end_nowait();
}

void as_other_compilers(long round)
{
	GOMP_parallel_start(plain_body, &round, 0);
	plain_body(&round);
	GOMP_parallel_end();
	GOMP_parallel_loop_static_start(static_body, NULL, 0, 0, ITERATIONS, 1, 3);
	static_body(NULL);
	GOMP_parallel_end();
	GOMP_parallel_loop_dynamic_start(dynamic_body, NULL, 0, 0, ITERATIONS, 1, 3);
	dynamic_body(NULL);
	GOMP_parallel_end();
	GOMP_parallel_loop_runtime_start(runtime_body, NULL, 0, 0, ITERATIONS, 1);
	runtime_body(NULL);
	GOMP_parallel_end();
	GOMP_parallel_sections_start(sections_body, NULL, 0, 3);
	sections_body(NULL);
	GOMP_parallel_end();
	GOMP_parallel_loop_static(static_body, NULL, 0, 0, ITERATIONS, 1, 3, 0);
	now->regions++;
}

#else

/* And what only LLVM's call: reductions; atomics that Clang does not call functions for; a block for one thread; a
 * region of one thread. None of the atomics that take a lock (those of long double): it is a queue, on which libomp 14
 * now and then stops the program at an assertion of its own. */
void __kmpc_atomic_fixed8_add(void *location, int thread, _Atomic long *to, long value);
void __kmpc_atomic_fixed4_max(void *location, int thread, int *to, int value);

static long copy;
#pragma omp threadprivate(copy)

void as_other_compilers(long round)
{
	static long sum, product;
	static int highest;

	sum = product = 0;
	highest = 0;
#pragma omp parallel num_threads((int)threads) proc_bind(spread) copyin(copy) reduction(+ : product)
	{
#pragma omp for reduction(+ : sum)
		for (int i = 0; i < ITERATIONS; i++) {
			iteration(i);
			sum += i;
		}
		product += round;
		__kmpc_atomic_fixed8_add(NULL, 0, &now->atomics, 2);
		__kmpc_atomic_fixed4_max(NULL, 0, &highest, 2);
#pragma omp flush
#pragma omp master
		now->masters++;
	}
#pragma omp parallel if (round < 0)
	now->alone++;
	now->regions++;
	learn(sum + product + highest);
}
#endif
