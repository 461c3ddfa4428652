/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu_peaks FREE CHAINED - a job whose peaks are known: one worker (STARPU_NCPU=1) is held in a first task while
 * FREE tasks are submitted that need nothing, and CHAINED tasks that each need what the one before them wrote. Then
 * FREE + 1 are ready, and CHAINED - 1 wait.
 *
 * It says "ready", and begins when a line comes; it says "done", and ends when its input does.
 */
#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int entered, released;
static int datum;

static void hold(void *buffers[], void *argument)
{
	atomic_store(&entered, 1);
	while (!atomic_load(&released))
		usleep(100);
}

static void work(void *buffers[], void *argument)
{
}

static struct starpu_codelet gate = { .cpu_funcs = { hold }, .name = "gate" };
static struct starpu_codelet free_codelet = { .cpu_funcs = { work }, .name = "free" };
static struct starpu_codelet chained = {
	.cpu_funcs = { work }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "chained"
};

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	if (handle)
		task->handles[0] = handle;
	if (starpu_task_submit(task))
		abort();
}

static void wait_for_line(const char *word)
{
	char line[16];

	puts(word);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(0);
}

int main(int argc, char **argv)
{
	starpu_data_handle_t handle;

	if (argc != 3 || starpu_init(NULL))
		return 77;
	starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&datum, sizeof(datum));
	wait_for_line("ready");
	submit(&gate, NULL);
	while (!atomic_load(&entered))
		usleep(100);
	for (int i = 0; i < atoi(argv[1]); i++)
		submit(&free_codelet, NULL);
	for (int i = 0; i < atoi(argv[2]); i++)
		submit(&chained, handle);
	atomic_store(&released, 1);
	starpu_task_wait_for_all();
	wait_for_line("done");
	starpu_data_unregister(handle);
	starpu_shutdown();
	return 0;
}
