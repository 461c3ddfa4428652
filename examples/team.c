/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small parallel job to try gaspbpf on.
 *
 * Four threads work in steps. In each step every thread allocates a scratch buffer, computes its share, adds the
 * result to a common total under a lock, and waits for the others at a barrier. One of them, worker-2, has three times
 * the work of the others: everybody else loses time at the barrier, waiting for it.
 *
 * Nothing in here knows about gaspbpf, and nothing needs to:
 *
 *     cc -O2 -g -pthread -o team team.c
 *     ./team --seconds 30 &
 *     sudo gaspbpf -p $! -d 5s
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS    4
#define SLOW       2            /* this one has more to do */
#define SHARE      1000000      /* numbers in an ordinary share: one or two milliseconds of work */
#define SCRATCH    256          /* numbers in a scratch buffer */

static pthread_barrier_t step_done;
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static double total;            /* guarded by total_lock */
static long steps;              /* counted by worker 0 alone */
static atomic_bool time_is_up;
static double run_for = 30;     /* seconds */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Some arithmetic that takes time in proportion to `count`. */
static double compute(double *scratch, long count)
{
	double sum = 0;

	for (long i = 0; i < count; i++) {
		double *number = &scratch[i % SCRATCH];

		*number = *number * 0.5 + (double)(i & 15);
		sum += *number;
	}
	return sum / (double)count;
}

static void add_to_total(double value)
{
	pthread_mutex_lock(&total_lock);
	total += value;
	pthread_mutex_unlock(&total_lock);
}

static void one_step(long share)
{
	double *scratch = calloc(SCRATCH, sizeof(*scratch));
	double value;

	if (!scratch)
		abort();
	value = compute(scratch, share);
	free(scratch);
	add_to_total(value);
}

/* Says now and then that the job is alive, and ends it when its time is up. */
static void look_at_the_clock(double start)
{
	static double last_line;
	double elapsed = now() - start;

	steps++;
	if (elapsed - last_line >= 5) {
		last_line = elapsed;
		printf("team: %2.0f s, %ld steps\n", elapsed, steps);
		fflush(stdout);
	}
	if (elapsed >= run_for)
		time_is_up = true;
}

static void *worker(void *argument)
{
	long index = (long)argument;
	long share = index == SLOW ? 3 * SHARE : SHARE;
	double start = now();
	char name[16];

	snprintf(name, sizeof(name), "worker-%ld", index);
	pthread_setname_np(pthread_self(), name);

	while (!time_is_up) {
		one_step(share);
		pthread_barrier_wait(&step_done);
		if (index == 0)
			look_at_the_clock(start);
		/* The others go on only when worker 0 has decided whether there is another step. */
		pthread_barrier_wait(&step_done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];

	if (argc == 3 && !strcmp(argv[1], "--seconds")) {
		run_for = atof(argv[2]);
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s [--seconds N]\n", argv[0]);
		return 2;
	}
	printf("team: %d workers for %.0f s, process %d\n", WORKERS, run_for, (int)getpid());
	fflush(stdout);

	pthread_barrier_init(&step_done, NULL, WORKERS);
	for (long i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, worker, (void *)i)) {
			fprintf(stderr, "team: cannot create a thread\n");
			return 1;
		}
	for (long i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);

	printf("team: done, %ld steps, total %.1f\n", steps, total);
	return 0;
}
