/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One UPC thread comes late, on the stand-in runtime: --pattern 0, to a barrier; 1, to the first half of one (a
 * notify), and all do their work before it and nothing between the halves; 2, all work between them.
 */
#include "late.h"

#include <stdio.h>
#include <stdlib.h>

#include "upc_runtime.h"

static struct job job = { .name = "pathology_upc", .rounds = 30 };
static long pattern;
static struct late_member member;

#define CALL(call) LATE_CALL(&member, call)

static void meet(long round)
{
	if (pattern == 2) {
		CALL(__upc_notify(8));
		late_come(&member, MYTHREAD, round);
		__upc_wait(8);
		return;
	}
	late_come(&member, MYTHREAD, round);
	if (!pattern) {
		CALL(__upc_barrier(7));
		return;
	}
	CALL(__upc_notify(8));
	__upc_wait(8);
}

int upc_main(int argc, char **argv)
{
	static const struct job_option options[] = { LATE_OPTIONS, { "--pattern", &pattern }, { NULL, NULL } };
	static char text[LATE_TEXT];

	job_options(&job, argc, argv, options);
	job.rank = MYTHREAD;
	if (late_plan.who >= THREADS || job.rounds > LATE_ROUNDS)
		return 2;
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++) {
		meet(i);
		late_left(&member, i);
	}
	job_finish(&job);
	late_put(text, &member, job.rounds);
	job.more_truth = text;
	return job_truth(&job, job.rounds, 0, &(struct counts){ 0 }, NULL, 0);
}
