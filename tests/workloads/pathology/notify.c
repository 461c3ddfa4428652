/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PE 0 waits for a variable that PE 1 sets late, by --us in each round; 0 is the healed twin. The truth has when each
 * came to its call, by one clock.
 */
#include "job.h"
#include "shmem_leave.h"

#include <shmem.h>

#define ROUNDS_MAX 200

static struct job job = { .name = "pathology_notify", .rounds = 40 };
static struct counts none;
static long flag, us = 4000, base = 500;
static int64_t came[ROUNDS_MAX];
static int line;

static void one_round(int me, long round)
{
	job_sleep_us(me == 1 ? base + us : base);
	came[round] = job_now();
	if (me == 0) {
		shmem_long_wait_until(&flag, SHMEM_CMP_GT, round);
	} else if (me == 1) {
		line = __LINE__ + 1;
		shmem_long_p(&flag, round + 1, 0);
	}
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = { { "--us", &us }, { "--base", &base }, { NULL, NULL } };
	static char text[ROUNDS_MAX * 24 + 100];
	int at;

	job_options(&job, argc, argv, options);
	shmem_init();
	job.rank = shmem_my_pe();
	if (shmem_n_pes() < 2 || job.rounds > ROUNDS_MAX)
		shmem_global_exit(2);
	shmem_barrier_all();
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++)
		one_round(job.rank, i);
	job_finish(&job);
	at = sprintf(text, ",\n \"line\":%d,\n \"came\":[", line);
	for (long i = 0; i < job.rounds; i++)
		at += sprintf(text + at, "%s%lld", i ? "," : "", (long long)came[i]);
	sprintf(text + at, "]");
	job.more_truth = text;
	if (job_truth(&job, job.rounds, 0, &none, NULL, 0))
		shmem_global_exit(1);
	shmem_barrier_all();
	leave_in_order();
}
