/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions of an OpenMP team, one in each round, whose shares are uneven, with serial code between them.
 *
 *   --base-us N      each thread's share
 *   --more-us N      of thread 1 besides
 *   --between-us N   of thread 0 between regions
 *   --burst N        so many regions in each round, of which the last is noted
 *   --spin 1         shares take processor time
 *   --pieces N       a loop of so many iterations in each share, which are handed out one by one (healed: 100 by 100)
 *   --healed 1       all of that is shared out evenly, and in one region a round
 *
 * Each thread notes when its share begins and ends, thread 0 when it comes to each region and leaves it. Work is sleep
 * else, so that it takes as long wherever other programs run.
 */
#include "job.h"

#include <omp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS_MAX 200
#define SLOW 1

static struct job job = { .name = "regions", .rounds = 40 };
static long base_us = 3000, more_us = 6000, between_us = 4000, healed, burst = 1, spin, pieces;
static long tids[THREADS];
static int64_t began[THREADS][ROUNDS_MAX], ended[THREADS][ROUNDS_MAX], came[ROUNDS_MAX], left[ROUNDS_MAX];

static void work(long us)
{
	if (spin)
		job_spin_us(us);
	else
		job_sleep_us(us);
}

/* An iteration: some 30 ns. */
static void little(void)
{
	for (volatile int i = 0; i < 20; i++)
		;
}

static void region(long number)
{
	long times = healed ? burst : 1;

	came[number] = job_now();
#pragma omp parallel num_threads(THREADS) /* region */
	{
		int me = omp_get_thread_num();

		began[me][number] = job_now();
		tids[me] = syscall(SYS_gettid);
		work(times * (base_us + (healed ? (more_us + between_us) / THREADS : me == SLOW ? more_us : 0)));
#pragma omp for schedule(dynamic, healed ? 100 : 1) nowait
		for (long i = 0; i < pieces; i++)
			little();
		ended[me][number] = job_now();
	}
	left[number] = job_now();
	if (!healed && between_us)
		work(between_us);
}

static size_t list(char *text, size_t room, const char *name, const int64_t *values)
{
	size_t used = snprintf(text, room, "%s[", name);

	for (long i = 0; i < job.rounds; i++)
		used += snprintf(text + used, room - used, "%s%lld", i ? ", " : "", (long long)values[i]);
	return used + snprintf(text + used, room - used, "]");
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = { { "--base-us", &base_us },
						     { "--more-us", &more_us },
						     { "--between-us", &between_us },
						     { "--healed", &healed },
						     { "--burst", &burst },
						     { "--spin", &spin },
						     { "--pieces", &pieces },
						     { NULL, NULL } };
	static char text[200 * 1000];
	size_t used;

	job_options(&job, argc, argv, options);
	if (job.rounds > ROUNDS_MAX)
		return 2;
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++)
		for (long j = healed ? 1 : burst; j > 0; j--)
			region(i);
	job_finish(&job);
	used = list(text, sizeof(text), ",\n \"came\": ", came);
	used += list(text + used, sizeof(text) - used, ",\n \"left\": ", left);
	used += snprintf(text + used, sizeof(text) - used, ",\n \"shares\": [");
	for (int i = 0; i < THREADS; i++) {
		used += snprintf(text + used, sizeof(text) - used, "%s{\"tid\": %ld, ", i ? ",\n  " : "", tids[i]);
		used += list(text + used, sizeof(text) - used, "\"began\": ", began[i]);
		used += list(text + used, sizeof(text) - used, ", \"ended\": ", ended[i]);
		used += snprintf(text + used, sizeof(text) - used, "}");
	}
	snprintf(text + used, sizeof(text) - used, "]");
	job.more_truth = text;
	return job_truth(&job, job.rounds, 0, &(struct counts){ 0 }, NULL, 0);
}
