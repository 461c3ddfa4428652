/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One rank leaks: a block in each round, of which it loses sight. Or it allocates and frees small blocks again and
 * again, --slow: with an allocator that takes so many ns (slow_malloc.c). All ranks allocate at the start, and each round a block that the next round frees. --leak 0 --pairs 0 is the
 * healed twin. The truth has what the C library says is in use before and after.
 */
#include "job.h"

#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_START 64

static struct job job = { .name = "pathology_memory", .rounds = 300 };
static long who = 1, leak, pairs, us = 2000, slow;
static int rank, leak_line, churn_line;
static void *kept, *at_start[AT_START];
/* In a library that may be preloaded (slow_malloc.c). */
extern void slow_malloc(long ns) __attribute__((weak));
extern long slow_malloc_took(void) __attribute__((weak));
static void *volatile seen; /* so that no allocation is optimised away */

/* The line where it stands. */
#define CALL(line, call)        \
	do {                    \
		line = __LINE__; \
		call;           \
	} while (0)

static __attribute__((noinline)) void lose_sight(void)
{
	CALL(leak_line, seen = malloc(leak));
}

static __attribute__((noinline)) void churn(void)
{
	if (slow_malloc)
		slow_malloc(slow);
	for (long i = 0; i < pairs; i++) {
		CALL(churn_line, seen = malloc(16 + i % 200));
		free(seen);
	}
	if (slow_malloc)
		slow_malloc(0);
}

static void one_round(long round)
{
	free(kept);
	kept = malloc(100000);
	if (rank == who && leak)
		lose_sight();
	if (rank == who && pairs)
		churn();
	job_sleep_us(us);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = {
		{ "--who", &who }, { "--leak", &leak }, { "--pairs", &pairs },
		{ "--us", &us },   { "--slow", &slow }, { NULL, NULL }
	};
	struct counts counts = { 0 };
	struct mallinfo2 before, after;
	static char text[400];

	job_options(&job, argc, argv, options);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	job.rank = rank;
	MPI_Barrier(MPI_COMM_WORLD);
	job_begin(&job);
	before = mallinfo2();
	for (int i = 0; i < AT_START; i++)
		at_start[i] = malloc(10000);
	for (long i = 0; i < job.rounds; i++)
		one_round(i);
	after = mallinfo2();
	job_finish(&job);
	snprintf(text, sizeof(text),
		 ",\n \"in_use\":%lld,\n \"leaked\":%ld,\n \"pairs\":%ld,\n \"leak_line\":%d,\n \"churn_line\":%d"
		 ",\n \"slow_ns\":%ld",
		 (long long)(after.uordblks + after.hblkhd) - (long long)(before.uordblks + before.hblkhd),
		 rank == who ? leak * job.rounds : 0, rank == who ? pairs * job.rounds : 0, leak_line, churn_line,
		 slow_malloc_took ? slow_malloc_took() : 0);
	job.more_truth = text;
	job_truth(&job, job.rounds, 0, &counts, NULL, 0);
	MPI_Finalize();
	return at_start[0] == NULL;
}
