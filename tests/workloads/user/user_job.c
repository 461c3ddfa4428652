/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_job.c - a job that tells of itself: user events of all kinds, in C and in C++.
 *
 * Before its window it creates two events, starts one, and makes calls that nobody may count; so whoever comes late
 * must find names and formats in its memory. Its truth is what it has told, by event.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../job.h"
#include "pupc.h"

#define THREADS 2

static struct job job;
static unsigned step, open_before, inner, tick, nested;
static struct job_thread threads[THREADS];
static long values[THREADS]; /* sum of all that STARTs of inner said */

static void one_round(int thread, long i)
{
	struct counts *counts = &threads[thread].counts;
	char text[32];

	snprintf(text, sizeof(text), "round-%ld", i);
	pupc_event_start(step, (int)i, text);
	count_call(counts, "step", 0);
	pupc_event_start(inner, 1000000000000L + i, 0.5, (int)(i % 3) - 1, (unsigned)i + 7, &job, 11, 12, 13L, 14);
	values[thread] += i + 7;
	count_call(counts, "inner", 0);
	pupc_event_atomic(tick);
	count_call(counts, "tick", 0);
	pupc_event_end(inner, -i, 1.5, 0, 0u, (void *)&job, 21, 22, 23L, 24);
	pupc_event_end(step, (int)i * 2, "constant");
	for (int depth = 0; depth < 3; depth++) {
		pupc_event_start(nested);
		count_call(counts, "nested", 0);
	}
	for (int depth = 0; depth < 3; depth++)
		pupc_event_end(nested);
	/* Neither lies inside the other. */
	pupc_event_start(nested);
	pupc_event_start(step, -1, text);
	pupc_event_end(nested);
	pupc_event_end(step, -2, text);
	count_call(counts, "nested", 0);
	count_call(counts, "step", 0);
}

static void *work(void *argument)
{
	int thread = (int)((struct job_thread *)argument - threads);

	for (long i = 0; i < job.rounds; i++)
		one_round(thread, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS];
	struct counts none = { 0 };
	char name[] = "created from the stack";
	static char more[256];

	job.name = "user";
	job.rank = -1;
	job.rounds = 20;
	job_options(&job, argc, argv, NULL);
	step = pupc_create_event("step", "step %d of %s");
	open_before = pupc_create_event("open before", NULL);
	if (pupc_create_event("step", NULL) != step || step < PUPC_USEREVT_FIRST || open_before == step)
		return 3;
	pupc_event_start(open_before);
	pupc_event_atomic(step, 99, "nobody looks");
	job_begin(&job);
	inner = pupc_create_event("inner", "size=%ld ratio=%f flag=%hhd then=%u at=%p %d %d last=%ld %d");
	tick = pupc_create_event(name, NULL);
	memset(name, 'x', sizeof(name) - 1);
	nested = pupc_create_event("nested", "");
	pupc_event_end(open_before);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, work, &threads[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	snprintf(more, sizeof(more), ",\n \"values\":%ld, \"control\":%d", values[0] + values[1], pupc_control(1));
	job.more_truth = more;
	job_finish(&job);
	return job_truth(&job, job.rounds, 0, &none, threads, THREADS);
}
