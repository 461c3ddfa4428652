/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls what a program can call of StarPU to submit, to wait, and to have data and memory, in every form, so that each
 * event of these calls is there. The truth counts what the program itself asks for, under the names of the events; what
 * each call is given and gives, and the calls that StarPU makes to itself, libstarpu_every.so writes down.
 */
#include "job.h"

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 256

static struct job job = { .name = "starpu_every", .rank = -1, .rounds = 2 };
static struct counts counted;
static float numbers[LENGTH], others[LENGTH];
static starpu_tag_t tag;
static int ran_everywhere;

/* One call of the program itself. */
#define ASKED(EVENT) count_call(&counted, #EVENT, 0)
#define MUST(EVENT, CALL)                                               \
	do {                                                            \
		ASKED(EVENT);                                           \
		if (CALL) {                                             \
			fprintf(stderr, "starpu_every: %s\n", #CALL);   \
			exit(1);                                        \
		}                                                       \
	} while (0)

static void add_one(void *buffers[], void *argument)
{
	float *vector = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
		vector[i] += 1;
}

static void fill(void *buffers[], void *argument)
{
	memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 0, LENGTH * sizeof(float));
}

static void linger(void *buffers[], void *argument)
{
	job_spin_us(200);
}

static void on_each(void *argument)
{
	__atomic_add_fetch(&ran_everywhere, 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet adding = {
	.cpu_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "adding"
};
static struct starpu_codelet filling = {
	.cpu_funcs = { fill }, .nbuffers = 1, .modes = { STARPU_W }, .name = "filling"
};
static struct starpu_codelet lingering = { .cpu_funcs = { linger }, .name = "lingering" };
static struct starpu_codelet elsewhere = { .where = STARPU_CUDA, .name = "elsewhere" };

/* A task that lives until somebody has waited for it (`waited`), or whose end is told by a tag (not 0). */
static struct starpu_task *submit(struct starpu_codelet *codelet, starpu_data_handle_t handle, bool waited,
				  starpu_tag_t told_by)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	task->handles[0] = handle;
	task->detach = !waited;
	task->use_tag = told_by != 0;
	task->tag_id = told_by;
	MUST(TASK_SUBMIT, starpu_task_submit(task));
	return task;
}

static void wait_in_every_form(void)
{
	struct starpu_task *two[2], *task = submit(&lingering, NULL, true, 0);
	starpu_tag_t tags[2] = { tag + 1, tag + 2 };

	MUST(TASK_WAIT, starpu_task_wait(task));
	two[0] = submit(&lingering, NULL, true, 0);
	two[1] = submit(&lingering, NULL, true, 0);
	MUST(TASK_WAIT_ARRAY, starpu_task_wait_array(two, 2));
	submit(&lingering, NULL, false, 0);
	MUST(TASK_WAIT_CTX, starpu_task_wait_for_all_in_ctx(0));
	for (int i = 0; i < 3; i++)
		submit(&lingering, NULL, false, 0);
	MUST(TASK_WAIT_N, starpu_task_wait_for_n_submitted(2));
	MUST(TASK_WAIT_READY, starpu_task_wait_for_no_ready());
	submit(&lingering, NULL, false, tags[0]);
	submit(&lingering, NULL, false, tags[1]);
	MUST(TAG_WAIT, starpu_tag_wait(tags[0]));
	MUST(TAG_WAIT, starpu_tag_wait_array(2, tags));
	tag += 2;
	MUST(TASK_WAIT_ALL, starpu_task_wait_for_all());
	/* A task that no worker can run is not taken. */
	task = starpu_task_create();
	task->cl = &elsewhere;
	ASKED(TASK_SUBMIT);
	if (starpu_task_submit(task) != -ENODEV)
		abort();
	task->destroy = 0;
	starpu_task_destroy(task);
}

static void use_memory(void)
{
	void *block;
	uintptr_t there;

	MUST(MALLOC, starpu_malloc(&block, 1000));
	ASKED(FREE);
	starpu_free(block);
	MUST(MALLOC, starpu_malloc_flags(&block, 2000, STARPU_MALLOC_COUNT));
	ASKED(FREE);
	starpu_free_flags(block, 2000, STARPU_MALLOC_COUNT);
	ASKED(MALLOC);
	if (starpu_malloc_flags(&block, SIZE_MAX / 4, 0) == 0)
		abort();
	ASKED(NODE_MALLOC);
	there = starpu_malloc_on_node(STARPU_MAIN_RAM, 3000);
	ASKED(NODE_FREE);
	starpu_free_on_node(STARPU_MAIN_RAM, there, 3000);
	ASKED(NODE_MALLOC);
	there = starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 4000, STARPU_MALLOC_COUNT);
	ASKED(NODE_FREE);
	starpu_free_on_node_flags(STARPU_MAIN_RAM, there, 4000, STARPU_MALLOC_COUNT);
}

static starpu_data_handle_t vector(int home, float *place)
{
	starpu_data_handle_t handle;

	ASKED(DATA_REGISTER);
	starpu_vector_data_register(&handle, home, (uintptr_t)place, LENGTH, sizeof(float));
	return handle;
}

static void use_data(void)
{
	starpu_data_handle_t first = vector(STARPU_MAIN_RAM, numbers), second = vector(STARPU_MAIN_RAM, others),
			     third = vector(-1, NULL);
	starpu_data_handle_t fourth = vector(-1, NULL);

	/* Has to wait for the task that uses it. */
	submit(&adding, first, false, 0);
	MUST(DATA_ACQUIRE, starpu_data_acquire(first, STARPU_RW));
	ASKED(DATA_RELEASE);
	starpu_data_release(first);
	MUST(DATA_ACQUIRE, starpu_data_acquire_on_node(first, STARPU_MAIN_RAM, STARPU_R));
	ASKED(DATA_ACQUIRE_TRY);
	if (starpu_data_acquire_try(first, STARPU_W) == 0)
		abort();
	ASKED(DATA_RELEASE);
	starpu_data_release_on_node(first, STARPU_MAIN_RAM);
	MUST(DATA_ACQUIRE_TRY, starpu_data_acquire_on_node_try(first, STARPU_MAIN_RAM, STARPU_R));
	ASKED(DATA_RELEASE);
	starpu_data_release(first);

	/* StarPU's own tasks: a copy, and one on each worker. A program may wait for the second kind alone. */
	ASKED(SUBMIT_INTERNAL);
	if (starpu_data_cpy(second, first, 0, NULL, NULL))
		abort();
	for (unsigned i = 0; i < starpu_cpu_worker_get_count(); i++) {
		ASKED(SUBMIT_INTERNAL);
		ASKED(TASK_WAIT);
	}
	starpu_execute_on_each_worker(on_each, NULL, STARPU_CPU);

	/* StarPU itself has to find memory for these. */
	submit(&filling, third, false, 0);
	submit(&filling, fourth, false, 0);
	ASKED(DATA_UNREGISTER);
	starpu_data_unregister_submit(third);
	MUST(TASK_WAIT_ALL, starpu_task_wait_for_all());
	ASKED(DATA_UNREGISTER);
	starpu_data_unregister_no_coherency(fourth);
	ASKED(DATA_UNREGISTER);
	starpu_data_unregister(second);
	ASKED(DATA_UNREGISTER);
	starpu_data_unregister(first);
}

static void one_round(void)
{
	wait_in_every_form();
	use_memory();
	use_data();
}

int main(int argc, char **argv)
{
	struct starpu_conf conf;
	uint64_t checksum = 0;
	long rounds = 0;

	job_options(&job, argc, argv, NULL);
	starpu_conf_init(&conf);
	if (starpu_init(&conf)) {
		fprintf(stderr, "starpu_every: StarPU has no worker here\n");
		return 1;
	}
	for (long i = 0; i < job.warmup; i++)
		one_round();
	count_clear(&counted);
	ran_everywhere = 0;
	job_begin(&job);
	while (job_more(&job, rounds)) {
		one_round();
		rounds++;
	}
	job_finish(&job);
	if (ran_everywhere != rounds * (int)starpu_cpu_worker_get_count())
		abort();
	for (int i = 0; i < LENGTH; i++)
		checksum = job_mix(checksum + (uint64_t)numbers[i]);
	starpu_shutdown();
	printf("checksum %016lx rounds %ld\n", checksum, rounds);
	return job_truth(&job, rounds, checksum, &counted, NULL, 0);
}
