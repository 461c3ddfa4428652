/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A few codelets on a few vectors, with a known number of tasks of each kind.
 *
 *     scale   CPU, or with --opencl 1 on the OpenCL device alone
 *     shift   CPU
 *     wait    CPU; 100 us of nothing
 *     nothing CPU; an empty task, without a name
 *
 * scale and shift take turns on the same vectors, so with an OpenCL device each turn moves every vector to the other
 * memory and back. The truth has, besides the job's own counts, StarPU's statistics of the window: tasks per worker,
 * bytes between memory nodes.
 */
#include "job.h"
#include "starpu_statistics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS  4
#define LENGTH   1024

static struct job job = { .name = "starpu_job", .rank = -1, .rounds = 20 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static long opencl;
static float vectors[VECTORS][LENGTH];
static starpu_data_handle_t handles[VECTORS];
static char statistics[16384];

static void scale_on_cpu(void *buffers[], void *argument)
{
	float *vector = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
	unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);

	for (unsigned i = 0; i < n; i++)
		vector[i] *= 0.5f;
}

static void shift_on_cpu(void *buffers[], void *argument)
{
	float *vector = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
	unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);

	for (unsigned i = 0; i < n; i++)
		vector[i] += (float)(i % 16);
}

static void wait_on_cpu(void *buffers[], void *argument)
{
	job_spin_us(100);
}

static void nothing_on_cpu(void *buffers[], void *argument)
{
}

static const char scale_kernel[] =
	"__kernel void scale(__global float *vector, unsigned n)\n"
	"{\n"
	"	unsigned i = get_global_id(0);\n"
	"	if (i < n)\n"
	"		vector[i] *= 0.5f;\n"
	"}\n";
static struct starpu_opencl_program scale_program;

static void scale_on_opencl(void *buffers[], void *argument)
{
	cl_mem vector = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
	unsigned n = STARPU_VECTOR_GET_NX(buffers[0]);
	size_t global = n;
	cl_kernel kernel;
	cl_command_queue queue;

	if (starpu_opencl_load_kernel(&kernel, &queue, &scale_program, "scale",
				      starpu_worker_get_devid(starpu_worker_get_id())) ||
	    clSetKernelArg(kernel, 0, sizeof(vector), &vector) || clSetKernelArg(kernel, 1, sizeof(n), &n) ||
	    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL))
		abort();
	clFinish(queue);
	starpu_opencl_release_kernel(kernel);
}

static struct starpu_codelet scale = {
	.cpu_funcs = { scale_on_cpu }, .opencl_funcs = { scale_on_opencl }, .where = STARPU_CPU, .nbuffers = 1,
	.modes = { STARPU_RW }, .name = "scale",
};
static struct starpu_codelet shift = {
	.cpu_funcs = { shift_on_cpu }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "shift",
};
static struct starpu_codelet pause_codelet = { .cpu_funcs = { wait_on_cpu }, .name = "wait" };
static struct starpu_codelet nothing = { .cpu_funcs = { nothing_on_cpu } };

/* `kind` is the name under which the truth counts the task's execution. */
static void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle, const char *kind)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	if (handle)
		task->handles[0] = handle;
	if (starpu_task_submit(task))
		abort();
	count_call(counts, "starpu_task_submit", 0);
	count_call(counts, kind, 0);
}

static void one_round(void)
{
	for (int i = 0; i < VECTORS; i++)
		submit(&scale, handles[i], "task scale");
	for (int i = 0; i < VECTORS; i++)
		submit(&shift, handles[i], "task shift");
	for (int i = 0; i < 2; i++)
		submit(&pause_codelet, NULL, "task wait");
	for (int i = 0; i < 10; i++)
		submit(&nothing, NULL, "task nothing");
	starpu_task_wait_for_all();
	count_call(counts, "starpu_task_wait_for_all", 0);
}

/* Puts the vectors back to where they started. */
static void fill(void)
{
	for (int v = 0; v < VECTORS; v++) {
		starpu_data_acquire(handles[v], STARPU_W);
		for (int i = 0; i < LENGTH; i++)
			vectors[v][i] = (float)(v + i % 7);
		starpu_data_release(handles[v]);
	}
}

static uint64_t read_result(void)
{
	uint64_t sum = 0;

	for (int v = 0; v < VECTORS; v++) {
		starpu_data_acquire(handles[v], STARPU_R);
		for (int i = 0; i < LENGTH; i++) {
			uint32_t bits;

			memcpy(&bits, &vectors[v][i], sizeof(bits));
			sum = job_mix(sum + bits);
		}
		starpu_data_release(handles[v]);
	}
	return sum;
}

static void keep_statistics(void)
{
	int at = starpu_workers_json(statistics, sizeof(statistics));

	starpu_transfers_json(statistics + at, sizeof(statistics) - at);
	job.more_truth = statistics;
}

static void start(void)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	if (starpu_init(&conf)) {
		fprintf(stderr, "starpu_job: StarPU has no worker here\n");
		exit(1);
	}
	if (opencl) {
		if (starpu_opencl_worker_get_count() == 0) {
			fprintf(stderr, "starpu_job: --opencl 1, but there is no OpenCL worker\n");
			exit(1);
		}
		scale.where = STARPU_OPENCL;
		starpu_opencl_load_opencl_from_string(scale_kernel, &scale_program, NULL);
	}
	for (int v = 0; v < VECTORS; v++)
		starpu_vector_data_register(&handles[v], STARPU_MAIN_RAM, (uintptr_t)vectors[v], LENGTH, sizeof(float));
}

static void stop(void)
{
	for (int v = 0; v < VECTORS; v++)
		starpu_data_unregister(handles[v]);
	if (opencl)
		starpu_opencl_unload_opencl(&scale_program);
	starpu_shutdown();
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--opencl", &opencl }, { NULL, NULL } };
	uint64_t checksum;
	long rounds = 0;

	job_options(&job, argc, argv, more);
	start();
	fill();
	/* The first run of a kernel compiles it, which takes seconds: never inside the window. */
	for (long i = 0; i < job.warmup + (opencl ? 1 : 0); i++)
		one_round();
	fill();
	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	keep_statistics();
	job_begin(&job);
	counts = &counted;
	while (job_more(&job, rounds)) {
		one_round();
		rounds++;
	}
	counts = &thrown_away;
	keep_statistics();
	job_finish(&job);
	checksum = read_result();
	for (long i = 0; i < job.after; i++)
		one_round();
	stop();
	printf("checksum %016lx rounds %ld\n", checksum, rounds);
	return job_truth(&job, rounds, checksum, &counted, NULL, 0);
}
