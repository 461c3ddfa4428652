/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks of two kinds on StarPU's workers, in rounds. Those of `work` take --slow us longer on the worker --who; with
 * --bound 1 all of them must run on the worker 0, and those of `small` on the worker 1; with --bound 2 workers 0 and 1
 * take turns. With --pause the program works so many us between two submissions, with --spin 1 tasks take processor
 * time and do not sleep. With --bytes N each task needs one of DATA vectors of that size, which was another kind's just
 * before; `work` runs on processors only then, `small` on OpenCL's devices only, which have a memory of their own.
 * Without any of it it is the healed twin. The truth has for each worker and kind how many tasks ran there and how long
 * they took, by the tasks' own clock.
 */
#include "job.h"

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 8
#define KINDS 2
#define DATA 4

static struct job job = { .name = "pathology_tasks", .rank = -1, .rounds = 4 };
static long who = 1, us = 3000, slow, bound, many = 30, pause_us, spin, bytes;
static struct {
	long tasks;
	int64_t ns;
} ran[WORKERS][KINDS];
static int line;
static starpu_data_handle_t data[DATA];

static void take(int kind, long time)
{
	int worker = starpu_worker_get_id();
	int64_t began = job_now();

	if (spin)
		job_spin_us(time);
	else
		job_sleep_us(time);
	ran[worker][kind].tasks++;
	ran[worker][kind].ns += job_now() - began;
}

static void work_on_cpu(void *buffers[], void *argument)
{
	take(0, us + (starpu_worker_get_id() == who ? slow : 0));
}

static void small_on_cpu(void *buffers[], void *argument)
{
	take(1, bytes ? us : us / 3);
}

static struct starpu_codelet work = { .cpu_funcs = { work_on_cpu }, .name = "work" };
static struct starpu_codelet small = { .cpu_funcs = { small_on_cpu }, .name = "small" };

static void submit(struct starpu_codelet *codelet, unsigned worker, long index)
{
	struct starpu_task *task = starpu_task_create();

	if (pause_us)
		job_sleep_us(pause_us);
	task->cl = codelet;
	if (bytes)
		task->handles[0] = data[index % DATA];
	task->execute_on_a_specific_worker = bound != 0;
	task->workerid = worker;
	line = __LINE__ + 1;
	if (starpu_task_submit(task))
		abort();
}

/* Each vector is in turn one kind's and the other's, and each kind has as many at a time. */
static struct starpu_codelet *codelet_of(long index)
{
	if (bytes)
		return (index / DATA + index) % 2 ? &small : &work;
	return index % 3 == 2 ? &small : &work;
}

static void one_round(void)
{
	for (long i = 0; i < many; i++) {
		struct starpu_codelet *codelet = codelet_of(i);

		submit(codelet, bound == 2 ? i % 2 : codelet == &small, i);
	}
	starpu_task_wait_for_all();
}

static void make_data(void)
{
	for (int i = 0; i < DATA; i++) {
		char *memory;

		if (starpu_malloc((void **)&memory, bytes))
			abort();
		memset(memory, 0, bytes);
		starpu_vector_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)memory, bytes, 1);
	}
	for (int kind = 0; kind < KINDS; kind++) {
		struct starpu_codelet *codelet = kind ? &small : &work;

		codelet->nbuffers = 1;
		codelet->modes[0] = STARPU_RW;
	}
	small.cpu_funcs[0] = NULL;
	small.opencl_funcs[0] = small_on_cpu;
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = {
		{ "--who", &who },     { "--us", &us },       { "--slow", &slow },
		{ "--bound", &bound }, { "--many", &many },   { "--pause", &pause_us },
		{ "--spin", &spin },   { "--bytes", &bytes }, { NULL, NULL },
	};
	struct counts counts = { 0 };
	static char text[2000];
	int at;

	job_options(&job, argc, argv, options);
	if (starpu_init(NULL)) {
		fprintf(stderr, "pathology_tasks: StarPU has no worker here\n");
		return 1;
	}
	if (bytes)
		make_data();
	one_round();
	memset(ran, 0, sizeof(ran));
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++)
		one_round();
	job_finish(&job);
	at = snprintf(text, sizeof(text), ",\n \"line\":%d,\n \"ran\":[", line);
	for (unsigned i = 0; i < starpu_worker_get_count() && i < WORKERS; i++)
		at += snprintf(text + at, sizeof(text) - at, "%s{\"work\":[%ld,%ld],\"small\":[%ld,%ld]}", i ? "," : "",
			       ran[i][0].tasks, ran[i][0].ns, ran[i][1].tasks, ran[i][1].ns);
	snprintf(text + at, sizeof(text) - at, "]");
	job.more_truth = text;
	for (int i = 0; i < DATA && bytes; i++)
		starpu_data_unregister(data[i]);
	starpu_shutdown();
	return job_truth(&job, job.rounds, 0, &counts, NULL, 0);
}
