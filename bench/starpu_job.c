/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu_job.c - what StarPU's example tasks_overhead does, again and again (loops.h): `tasks` submits empty tasks that
 * use no data, and waits for all of them. A call is a task.
 */
#include "loops.h"

#include <starpu.h>

static void nothing(void *buffers[], void *argument)
{
}

static struct starpu_codelet codelet = { .cpu_funcs = { nothing }, .cpu_funcs_name = { "nothing" }, .nbuffers = 0 };

static void tasks(long count)
{
	for (long i = 0; i < count; i++) {
		struct starpu_task *task = starpu_task_create();

		task->cl = &codelet;
		if (starpu_task_submit(task))
			abort();
	}
	starpu_task_wait_for_all();
}

static const struct loop loops[] = { { .name = "tasks", .run = tasks } };

int main(void)
{
	if (starpu_init(NULL))
		return 77;
	serve_loops(loops, 1, NULL);
	starpu_shutdown();
	return 0;
}
