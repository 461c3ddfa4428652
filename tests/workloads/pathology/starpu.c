/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One task comes late: each round submits --tasks tasks, of which --who takes longer, and waits for them all; with
 * --pattern 1 each needs what the one before it has written, so that only one runs at a time (the healed twin:
 * --pattern 0 --us 0). The truth has how long each round's tasks took, all together, and the round.
 */
#include "late.h"

#include <starpu.h>
#include <stdio.h>

static struct job job = { .name = "pathology_starpu", .rank = -1, .rounds = 30 };
static long pattern, tasks = 2;
static struct late_member rounds; /* came: when all were submitted */
static long round_now;
static int datum;

static void usual(void *buffers[], void *argument)
{
	late_work_us(late_plan.base);
}

static void longer(void *buffers[], void *argument)
{
	int64_t before = job_now();

	late_work_us(late_plan.base + late_plan.us);
	rounds.planted[round_now] = job_now() - before;
}

static struct starpu_codelet usual_codelet = { .cpu_funcs = { usual }, .name = "usual" };
static struct starpu_codelet longer_codelet = { .cpu_funcs = { longer }, .name = "longer" };
static struct starpu_codelet chained_codelet = {
	.cpu_funcs = { usual }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "chained"
};

static void submit(long index, starpu_data_handle_t handle)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = pattern                                  ? &chained_codelet
		   : late_plan.us && index == late_plan.who ? &longer_codelet
							    : &usual_codelet;
	if (pattern)
		task->handles[0] = handle;
	if (starpu_task_submit(task))
		exit(1);
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = {
		LATE_OPTIONS, { "--pattern", &pattern }, { "--tasks", &tasks }, { NULL, NULL }
	};
	static char text[LATE_TEXT];
	starpu_data_handle_t handle;

	job_options(&job, argc, argv, options);
	if (job.rounds > LATE_ROUNDS || starpu_init(NULL))
		return 77;
	starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&datum, sizeof(datum));
	job_begin(&job);
	for (round_now = 0; round_now < job.rounds; round_now++) {
		for (long i = 0; i < tasks; i++)
			submit(i, handle);
		rounds.came[round_now] = job_now();
		LATE_CALL(&rounds, starpu_task_wait_for_all());
		late_left(&rounds, round_now);
	}
	job_finish(&job);
	starpu_data_unregister(handle);
	starpu_shutdown();
	late_put(text, &rounds, job.rounds);
	job.more_truth = text;
	return job_truth(&job, job.rounds, 0, &(struct counts){ 0 }, NULL, 0);
}
