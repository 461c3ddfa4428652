/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call in progress that ends by a jump into another one, which is in progress, too; meanwhile that other function is
 * called by the main thread as often as it can, until GATE/open is there. Then both calls return, by one and the same
 * ret.
 */
#include "job.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static struct job job = { .name = "tailing", .rank = -1 };
static struct counts counts;
static atomic_bool inside;
static char open_file[4096];

long outer(long waits);
long inner(long waits);

__attribute__((noipa)) long inner(long waits)
{
	if (waits) {
		inside = true;
		while (access(open_file, F_OK))
			job_sleep_us(10000);
	}
	return waits + 1;
}

__attribute__((noipa)) long outer(long waits)
{
	return inner(waits);
}

static void *wait_inside(void *nothing)
{
	return outer(1) == 2 ? nothing : &job;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *wrong;

	job_options(&job, argc, argv, NULL);
	snprintf(open_file, sizeof(open_file), "%s/open", job.gate ? job.gate : ".");
	job_begin(&job);
	if (job.gate) {
		pthread_create(&thread, NULL, wait_inside, NULL);
		while (!inside)
			job_sleep_us(1000);
		for (long i = 0; i % 1024 || access(open_file, F_OK); i++) {
			inner(0);
			count_call(&counts, "inner", 0);
		}
		pthread_join(thread, &wrong);
		if (wrong)
			return 1;
	}
	job_finish(&job);
	return job_truth(&job, 0, 0, &counts, NULL, 0);
}
