/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Goes deep and comes back in two ways: by returning, and by longjmp over all frames at once. For probes on its own
 * functions: climb(n) calls itself down to 0; leap(n) does the same, and the last one jumps out.
 */
#include "job.h"

#include <setjmp.h>
#include <stdio.h>

static struct job job = { .name = "deep", .rank = -1, .rounds = 10 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static long depth = 20;
static jmp_buf way_out;

long climb(long n);
long leap(long n);

__attribute__((noipa)) long climb(long n)
{
	count_call(counts, "climb", 0);
	return n == 0 ? 1 : climb(n - 1) + 1;
}

__attribute__((noipa)) long leap(long n)
{
	count_call(counts, "leap", 0);
	if (n == 0)
		longjmp(way_out, 1);
	return leap(n - 1) + 1;
}

static long one_round(void)
{
	long sum = climb(depth);

	if (!setjmp(way_out))
		sum += leap(depth);
	return sum + climb(1);
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--depth", &depth }, { NULL, NULL } };
	uint64_t sum = 0;
	long rounds = 0;

	job_options(&job, argc, argv, more);
	for (long i = 0; i < job.warmup; i++)
		one_round();
	job_begin(&job);
	counts = &counted;
	for (; job_more(&job, rounds); rounds++)
		sum += one_round();
	counts = &thrown_away;
	job_finish(&job);
	for (long i = 0; i < job.after; i++)
		one_round();
	printf("checksum %016lx rounds %ld\n", job_mix(sum), rounds);
	return job_truth(&job, rounds, job_mix(sum), &counted, NULL, 0);
}
