/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu_hiding.c - a stand-in for StarPU 1.4, which Debian 12 does not have: a library with the functions that 1.4
 * exports, under its soname, and with the few facts of its structs that the model relies on. It runs tasks one after
 * the other on a worker thread, and hides how.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct starpu_task;
struct job {
	unsigned long job_id;
	struct starpu_task *task;
};
struct device {
	int type, devid, ncores;
};
struct arch {
	int ndevices;
	struct device *devices;
};
struct worker {
	char hidden[64];
};

int starpu_initialize(void *conf, int *argc, char ***argv);
int starpu_task_submit(struct starpu_task *task);
int starpu_task_wait_for_all(void);
void starpu_shutdown(void);
void starpu_interface_data_copy(unsigned src_node, unsigned dst_node, size_t size);
void _starpu_driver_start_job(struct worker *worker, struct job *job, struct arch *arch, int rank, int profiling);
void _starpu_driver_end_job(struct worker *worker, struct job *job, struct arch *arch, int rank, int profiling);

static struct starpu_task *queue[1024];
static unsigned submitted, finished;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static int ending;

__attribute__((noinline)) void _starpu_driver_start_job(struct worker *worker, struct job *job, struct arch *arch,
							int rank, int profiling)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void _starpu_driver_end_job(struct worker *worker, struct job *job, struct arch *arch,
						      int rank, int profiling)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void starpu_interface_data_copy(unsigned src_node, unsigned dst_node, size_t size)
{
	__asm__ volatile("" ::: "memory");
}

/* Every third task is for a device. */
static void *work(void *unused)
{
	struct device cpu = { 0, 0, 1 }, gpu = { 1, 0, 1 };
	struct worker worker = { { 0 } };

	pthread_mutex_lock(&lock);
	while (!ending || finished < submitted) {
		if (finished == submitted) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		struct job job = { 0, queue[finished] };
		struct arch arch = { 1, finished % 3 == 2 ? &gpu : &cpu };

		pthread_mutex_unlock(&lock);
		if (arch.devices->type)
			starpu_interface_data_copy(0, 1, 1000);
		_starpu_driver_start_job(&worker, &job, &arch, 0, 0);
		_starpu_driver_end_job(&worker, &job, &arch, 0, 0);
		pthread_mutex_lock(&lock);
		finished++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int starpu_initialize(void *conf, int *argc, char ***argv)
{
	if (pthread_create(&thread, NULL, work, NULL))
		return -1;
	pthread_setname_np(thread, "CPU 0");
	return 0;
}

int starpu_task_submit(struct starpu_task *task)
{
	pthread_mutex_lock(&lock);
	if (submitted == sizeof(queue) / sizeof(queue[0]))
		abort();
	queue[submitted++] = task;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

int starpu_task_wait_for_all(void)
{
	pthread_mutex_lock(&lock);
	while (finished < submitted)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}

void starpu_shutdown(void)
{
	pthread_mutex_lock(&lock);
	ending = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}
