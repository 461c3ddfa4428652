/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread comes late to a barrier of its process's threads. Built with OpenMP: --pattern 0, within one parallel
 * region, to its barriers; 1, one region for each round, of which that thread's share takes longer; 2, the same with
 * even shares, and --us of work by the first thread alone between the regions.
 */
#include "late.h"

#include <pthread.h>


static struct job job = { .name = "pathology_threads", .rank = -1, .rounds = 30 };
static long nthreads = 4, pattern;
static struct late_member team[LATE_TEAM];

#ifdef _OPENMP
#include <omp.h>

static void run(void)
{
#pragma omp parallel num_threads(nthreads)
	for (long i = 0; i < job.rounds; i++) {
		struct late_member *m = &team[omp_get_thread_num()];

		late_come(m, m - team, i);
		m->line = __LINE__ + 1;
#pragma omp barrier
		late_left(m, i);
	}
}

static void run_regions(void)
{
	for (long i = 0; i < job.rounds; i++) {
		team[late_plan.who].line = __LINE__ + 1;
#pragma omp parallel num_threads(nthreads)
		{
			struct late_member *m = &team[omp_get_thread_num()];

			late_come(m, pattern == 1 ? m - team : -1, i);
		}
		if (pattern == 2)
			late_work_us(late_plan.us);
		for (long t = 0; t < nthreads; t++)
			late_left(&team[t], i);
	}
}

#else

static pthread_barrier_t barrier;

static void *work(void *argument)
{
	struct late_member *m = argument;

	for (long i = 0; i < job.rounds; i++) {
		late_come(m, m - team, i);
		LATE_CALL(m, pthread_barrier_wait(&barrier));
		late_left(m, i);
	}
	return NULL;
}

static void run(void)
{
	pthread_t ids[LATE_TEAM];

	pthread_barrier_init(&barrier, NULL, nthreads);
	for (long i = 0; i < nthreads; i++)
		pthread_create(&ids[i], NULL, work, &team[i]);
	for (long i = 0; i < nthreads; i++)
		pthread_join(ids[i], NULL);
}

#define run_regions run
#endif

int main(int argc, char **argv)
{
	static const struct job_option options[] = {
		LATE_OPTIONS, { "--threads", &nthreads }, { "--pattern", &pattern }, { NULL, NULL }
	};

	job_options(&job, argc, argv, options);
	if (nthreads < 2 || nthreads > LATE_TEAM || late_plan.who >= nthreads || job.rounds > LATE_ROUNDS)
		return 2;
	job_begin(&job);
	if (pattern)
		run_regions();
	else
		run();
	job_finish(&job);
	return late_team_truth(&job, team, nthreads);
}
