/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A team of threads that uses OpenMP in all the ways GCC compiles to calls of libgomp, and Clang to calls of libomp,
 * and calls those itself that only other compilers make (openmp_others.c). libcount_gomp.so and libcount_kmp.so count the calls; the job
 * counts what passes through them: iterations, bytes, tasks, and how often a lock or a named critical section was
 * entered.
 *
 * Run it with OMP_CANCELLATION=true, or nothing is ever cancelled.
 */
#include "job.h"
#include "openmp_job.h"

#include <inttypes.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS 8 /* of a chain: a thread that waits for the one before spins */

static struct job job = { .name = "openmp_job", .rank = -1, .rounds = 10 };
long threads = 3;
static _Atomic uint64_t checksum;

static struct went_on truth, thrown_away;
struct went_on *now;

static omp_lock_t lock;
static omp_nest_lock_t nest;

void learn(uint64_t value)
{
	checksum += job_mix(value + 1);
}

void iteration(uint64_t i)
{
	now->iterations++;
	learn(i);
}

void iteration_ull(uint64_t i)
{
	now->iterations_ull++;
	learn(i);
}

/* --- loops -------------------------------------------------------------- */

static void loops(void)
{
	int i;

	/* A region that is one loop, and loops within a region. */
#pragma omp parallel for schedule(dynamic, 7)
	for (i = 0; i < ITERATIONS; i++)
		iteration(i);
#pragma omp parallel for schedule(guided, 3)
	for (i = 0; i < ITERATIONS; i++)
		iteration(i);
#pragma omp parallel for schedule(runtime)
	for (i = 0; i < ITERATIONS; i++)
		iteration(i);
#pragma omp parallel for schedule(monotonic : dynamic, 5)
	for (i = 0; i < ITERATIONS; i++)
		iteration(i);
	now->regions += 4;
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 4)
		for (int j = 3; j < ITERATIONS; j += 1)
			iteration(j);
#pragma omp for schedule(guided) nowait
		for (int j = ITERATIONS; j > 0; j--)
			iteration(j);
#pragma omp for schedule(runtime)
		for (int j = 0; j < ITERATIONS; j++)
			iteration(j);
#pragma omp for schedule(monotonic : guided, 2)
		for (int j = 0; j < ITERATIONS; j++)
			iteration(j);
#pragma omp for schedule(static, 4) ordered
		for (int j = 0; j < ITERATIONS; j++) {
			iteration(j);
#pragma omp ordered
			now->ordered++;
		}
#pragma omp for schedule(dynamic, 4) ordered
		for (int j = 0; j < ITERATIONS; j++) {
			iteration(j);
#pragma omp ordered
			now->ordered++;
		}
#pragma omp for schedule(guided) ordered
		for (int j = 0; j < ITERATIONS; j++) {
			iteration(j);
#pragma omp ordered
			now->ordered++;
		}
#pragma omp for schedule(runtime) ordered
		for (int j = 0; j < ITERATIONS; j++) {
			iteration(j);
#pragma omp ordered
			now->ordered++;
		}
	}
	now->regions++;
}

/* Loops that count in unsigned long long. */
static void wide_loops(void)
{
	const unsigned long long first = 1ULL << 63, last = first + ITERATIONS;

#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 4)
		for (unsigned long long j = first; j < last; j++)
			iteration_ull(j);
#pragma omp for schedule(guided)
		for (unsigned long long j = first; j < last; j++)
			iteration_ull(j);
#pragma omp for schedule(runtime)
		for (unsigned long long j = first; j < last; j++)
			iteration_ull(j);
#pragma omp for schedule(monotonic : dynamic, 9)
		for (unsigned long long j = first; j < last; j++)
			iteration_ull(j);
#pragma omp for schedule(static, 5) ordered
		for (unsigned long long j = first; j < last; j++) {
			iteration_ull(j);
#pragma omp ordered
			now->ordered++;
		}
#pragma omp for schedule(dynamic, 5) ordered
		for (unsigned long long j = first; j < last; j++) {
			iteration_ull(j);
#pragma omp ordered
			now->ordered++;
		}
	}
	now->regions++;
}

/* Each iteration waits for the one before it. */
static void chains(void)
{
	long n = LINKS;

#pragma omp parallel
	{
#pragma omp for schedule(static, 1) ordered(1)
		for (long j = 0; j < n; j++) {
#pragma omp ordered depend(sink : j - 1)
			learn(j);
			now->posted++;
#pragma omp ordered depend(source)
		}
#pragma omp for schedule(dynamic, 2) ordered(1)
		for (long j = 0; j < n; j++) {
#pragma omp ordered depend(sink : j - 1)
			learn(j);
			now->posted++;
#pragma omp ordered depend(source)
		}
#pragma omp for schedule(guided) ordered(1)
		for (unsigned long long j = 1ULL << 63; j < (1ULL << 63) + LINKS; j++) {
#pragma omp ordered depend(sink : j - 1)
			learn(j);
			now->posted++;
#pragma omp ordered depend(source)
		}
#pragma omp for schedule(runtime) ordered(1)
		for (long j = 0; j < n; j++) {
#pragma omp ordered depend(sink : j - 1)
			learn(j);
			now->posted++;
#pragma omp ordered depend(source)
		}
	}
	now->regions++;
}

/* --- other ways to share work -------------------------------------------- */

static void sections(void)
{
#pragma omp parallel sections
	{
#pragma omp section
		now->sections++;
#pragma omp section
		now->sections++;
	}
#pragma omp parallel
	{
#pragma omp sections
		{
#pragma omp section
			now->sections++;
#pragma omp section
			now->sections++;
#pragma omp section
			now->sections++;
		}
#pragma omp sections nowait
		{
#pragma omp section
			now->sections++;
#pragma omp section
			now->sections++;
		}
	}
	now->regions += 2;
}

static void singles(long round)
{
	long drawn = 0;

#pragma omp parallel firstprivate(drawn)
	{
#pragma omp single
		now->singles++;
#pragma omp single copyprivate(drawn)
		{
			drawn = round * 3;
			now->singles++;
		}
		learn(drawn);
	}
	now->regions++;
}

/* --- mutual exclusion ---------------------------------------------------- */

static void exclusion(void)
{
	static long double wide;

	wide = 0;
#pragma omp parallel
	{
#pragma omp critical
		now->unnamed++;
#pragma omp critical(one)
		now->named++;
#pragma omp critical(another)
		now->named++;
#pragma omp barrier
		/* No instruction adds a long double in memory. */
#pragma omp atomic
		wide += 1.5L;
		now->updated++;
		omp_set_lock(&lock);
		now->locked++;
		omp_unset_lock(&lock);
		while (!omp_test_lock(&lock))
			job_sleep_us(20);
		now->tried++;
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nest);
		omp_set_nest_lock(&nest);
		if (!omp_test_nest_lock(&nest))
			abort();
		now->nested += 3;
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
#pragma omp barrier
	}
	learn((uint64_t)wide);
	now->regions++;
}

static void more_locks(void)
{
	omp_lock_t own;
	omp_nest_lock_t own_nest;

	omp_init_lock(&own);
	omp_init_nest_lock(&own_nest);
	omp_set_lock(&own);
	now->locked++;
	omp_unset_lock(&own);
	omp_destroy_lock(&own);
	omp_destroy_nest_lock(&own_nest);
}

/* --- tasks ---------------------------------------------------------------- */

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	{
		now->tasks++;
		a = fib(n - 1);
	}
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

static void tasks(long round)
{
	long chained = 0, reduced = 0;
#ifndef __clang__
	omp_event_handle_t told;
#endif

#pragma omp parallel
#pragma omp single
	{
		now->singles++;
		learn(fib(7));
#pragma omp taskgroup
		{
#pragma omp task depend(inout : chained)
			{
				now->tasks++;
				chained += round;
			}
#pragma omp task depend(inout : chained) priority(3)
			{
				now->tasks++;
				chained *= 2;
			}
		}
#pragma omp task depend(out : chained)
		{
			now->tasks++;
			chained++;
		}
#pragma omp taskwait depend(in : chained)
#pragma omp taskyield
#pragma omp task if (0)
		now->tasks++;
#ifndef __clang__ /* libomp 14 may wait for such a task for ever */
#pragma omp task detach(told)
		now->tasks++;
		omp_fulfill_event(told);
#endif
#pragma omp taskwait
#pragma omp taskloop num_tasks(4)
		for (int i = 0; i < 20; i++)
			learn(i);
#pragma omp taskloop grainsize(5) nogroup
		for (unsigned long long i = 1ULL << 63; i < (1ULL << 63) + 20; i++)
			learn(i);
#pragma omp taskgroup task_reduction(+ : reduced)
		{
#pragma omp task in_reduction(+ : reduced)
			{
				now->tasks++;
				reduced += 4;
			}
		}
	}
	learn(chained);
	learn(reduced);
	now->regions++;
	reduced = 0;
	/* Task reductions of a region, a loop, sections and a scope. */
#pragma omp parallel reduction(task, + : reduced)
	{
#pragma omp task in_reduction(+ : reduced)
		{
			now->tasks++;
			reduced++;
		}
	}
	now->regions++;
	learn(reduced);
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 6) reduction(task, + : reduced)
		for (int i = 0; i < ITERATIONS; i++) {
			iteration(i);
			reduced++;
		}
#pragma omp sections reduction(task, + : reduced)
		{
#pragma omp section
			{
				now->sections++;
				reduced++;
			}
#pragma omp section
			{
				now->sections++;
				reduced++;
			}
		}
#ifndef __clang__ /* before 15 it knows no scope */
#pragma omp scope reduction(task, + : reduced)
		reduced++;
#endif
	}
	now->regions++;
	learn(reduced);
}

/*
 * Work that somebody ends early: how much of it is done is not the same in each run. Monotonic, and a team of one with
 * Clang: libomp 14 stops at an assertion of its own where a thread steals iterations from one that has left.
 */
#ifdef __clang__
#define CANCELLING 1
#else
#define CANCELLING threads
#endif

static void cancel(void)
{
#pragma omp parallel num_threads((int)CANCELLING)
	{
#pragma omp for schedule(monotonic : dynamic, 1)
		for (int i = 0; i < ITERATIONS; i++) {
			now->iterations++;
			if (i == 5) {
#pragma omp cancel for
			}
#pragma omp cancellation point for
		}
	}
#pragma omp parallel num_threads((int)CANCELLING)
	{
#pragma omp for schedule(monotonic : dynamic, 2)
		for (int i = 0; i < ITERATIONS; i++)
			now->iterations++;
#pragma omp sections
		{
#pragma omp section
			now->sections++;
#pragma omp section
			now->sections++;
		}
#pragma omp barrier
		if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
		}
#pragma omp cancellation point parallel
	}
	now->regions += 2;
}

/* --- memory and devices --------------------------------------------------- */

static void memory(long round)
{
	size_t size = 64 + 8 * (round % 7);
	char *block = omp_alloc(size, omp_default_mem_alloc),
	     *line = omp_aligned_alloc(64, size, omp_default_mem_alloc);
	char *zeroed = omp_calloc(5, 16, omp_default_mem_alloc),
	     *page = omp_aligned_calloc(256, 3, 100, omp_default_mem_alloc);

	block[0] = 7;
	block = omp_realloc(block, 3 * size, omp_default_mem_alloc, omp_default_mem_alloc);
	learn(block[0] + zeroed[79] + page[299] + (uintptr_t)line % 64 + (uintptr_t)page % 256);
	now->allocated += 2 * size;
	now->zeroed += 5 * 16 + 3 * 100;
	now->resized += 3 * size;
	omp_free(block, omp_default_mem_alloc);
	omp_free(line, omp_default_mem_alloc);
	omp_free(zeroed, omp_default_mem_alloc);
	omp_free(page, omp_default_mem_alloc);
}

/* There is no device: the host does it itself. */
static void device(long round)
{
	int host = omp_get_initial_device();
	long values[8] = { round }, copy[8];
	void *there = omp_target_alloc(sizeof(values), host);

#pragma omp target data map(tofrom : values)
	{
#pragma omp target map(tofrom : values)
		for (int i = 1; i < 8; i++)
			values[i] = values[i - 1] + 2;
#pragma omp target update from(values)
	}
#pragma omp target enter data map(to : values)
#pragma omp target exit data map(from : values)
#pragma omp target teams num_teams(1) map(tofrom : values)
	values[0]++;
#pragma omp teams num_teams(2) shared(values)
	learn(values[3]);
	omp_target_memcpy(there, values, sizeof(values), 0, 0, host, host);
	memcpy(copy, there, sizeof(copy));
	learn(copy[7]);
	omp_target_free(there, host);
}

static void one_round(long round)
{
	loops();
	wide_loops();
	chains();
	sections();
	singles(round);
	exclusion();
	more_locks();
	tasks(round);
	memory(round);
	device(round);
	as_other_compilers(round);
}

static const char *told_of_the_window(void)
{
	static char text[1024];

	snprintf(
		text, sizeof(text),
		",\n \"iterations\":%ld,\"iterations_ull\":%ld,\"sections\":%ld,\"singles\":%ld,\"tasks\":%ld,\"locked\":%ld,\"tried\":%ld,"
		"\"nested\":%ld,\"named\":%ld,\"unnamed\":%ld,\"updated\":%ld,\"ordered\":%ld,\"allocated\":%ld,\"zeroed\":%ld,"
		"\"resized\":%ld,\"regions\":%ld,\"posted\":%ld,\"atomics\":%ld,\"masters\":%ld,\"alone\":%ld,\"lock\":%" PRIuPTR
		",\"nest\":%" PRIuPTR ",\"thread_count\":%ld",
		truth.iterations, truth.iterations_ull, truth.sections, truth.singles, truth.tasks, truth.locked,
		truth.tried, truth.nested, truth.named, truth.unnamed, truth.updated, truth.ordered, truth.allocated,
		truth.zeroed, truth.resized, truth.regions, truth.posted, truth.atomics, truth.masters, truth.alone,
		(uintptr_t)&lock, (uintptr_t)&nest, threads);
	return text;
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--threads", &threads }, { NULL, NULL } };
	struct counts none = { 0 };
	uint64_t result;
	long done = 0;

	job_options(&job, argc, argv, more);
	omp_set_dynamic(0);
	omp_set_num_threads((int)threads);
	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
	now = &thrown_away;
	for (long i = 0; i < job.warmup; i++)
		one_round(i);
	cancel();
	checksum = 0;
	now = &truth;
	job_begin(&job);
	while (job_more(&job, done)) {
		one_round(done++);
		result = checksum;
		cancel();
		checksum = result;
	}
	job_finish(&job);
	result = checksum;
	now = &thrown_away;
	for (long i = 0; i < job.after; i++)
		one_round(i);
	printf("checksum %016" PRIx64 " rounds %ld\n", result, done);
	job.more_truth = told_of_the_window();
	return job_truth(&job, done, result, &none, NULL, 0);
}
