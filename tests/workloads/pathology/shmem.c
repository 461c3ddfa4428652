/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One PE comes late: --pattern 0, to a barrier; 1, to a put that its neighbour waits for; 2, to a broadcast, which it
 * is the root of.
 */
#include "late.h"

#include <shmem.h>
#include <stdio.h>

#include "shmem_leave.h"

enum pattern { BARRIER, FLAG, BROADCAST };

static struct job job = { .name = "pathology_shmem", .rounds = 30 };
static long pattern;
static long flag, from, to, sync_area[SHMEM_BCAST_SYNC_SIZE];
static struct late_member member;

#define CALL(call) LATE_CALL(&member, call)

static void meet(long round)
{
	int partner = (int)(late_plan.who + 1) % shmem_n_pes();

	switch ((enum pattern)pattern) {
	case BARRIER:
		CALL(shmem_barrier_all());
		break;
	case FLAG:
		if (job.rank == late_plan.who)
			CALL(shmem_long_p(&flag, round + 1, partner));
		else if (job.rank == partner)
			CALL(shmem_long_wait_until(&flag, SHMEM_CMP_GE, round + 1));
		break;
	case BROADCAST:
		CALL(shmem_broadcast64(&to, &from, 1, (int)late_plan.who, 0, 0, shmem_n_pes(), sync_area));
		break;
	}
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = { LATE_OPTIONS, { "--pattern", &pattern }, { NULL, NULL } };
	static char text[LATE_TEXT];

	job_options(&job, argc, argv, options);
	shmem_init();
	job.rank = shmem_my_pe();
	if (late_plan.who >= shmem_n_pes() || job.rounds > LATE_ROUNDS)
		shmem_global_exit(2);
	for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
		sync_area[i] = SHMEM_SYNC_VALUE;
	shmem_barrier_all();
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++) {
		late_come(&member, job.rank, i);
		meet(i);
		late_left(&member, i);
	}
	job_finish(&job);
	late_put(text, &member, job.rounds);
	job.more_truth = text;
	job_truth(&job, job.rounds, 0, &(struct counts){ 0 }, NULL, 0);
	shmem_barrier_all();
	leave_in_order();
}
