/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that wait for each other. The first argument says how:
 *
 *   cycle N    N threads, each with a lock of its own, wait for the next one's
 *   held       two wait for a lock that the first thread has, which is at the gate; then they go on
 *   barrier    three of four threads are at a barrier; the fourth is at the gate; then they go on
 *   moves      two take one lock and give it back, again and again, until DIR/end is there
 *   join       the first thread waits for the end of a second, which waits for a lock that the first one has
 *
 * Threads are called waiter-0, waiter-1 ...; each says "TID LOCK-ADDRESS" in DIR/enters.N just before it waits. With
 * ENTER_LATE=1 in the environment all wait at the gate first.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

#define THREADS_MOST 8

static struct job job = { .name = "locks", .rank = -1 };
static pthread_mutex_t locks[THREADS_MOST];
static pthread_barrier_t all_locked, meeting;
static long passed;
static int threads;

static void enter(int number, void *address)
{
	char path[4096], name[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/.enters.%d", job.gate, number);
	snprintf(name, sizeof(name), "%s/enters.%d", job.gate, number);
	out = fopen(path, "w");
	if (!out)
		exit(4);
	fprintf(out, "%d %p\n", gettid(), address);
	fclose(out);
	rename(path, name);
}

static void name_thread(int number)
{
	char name[16];

	snprintf(name, sizeof(name), "waiter-%d", number);
	pthread_setname_np(pthread_self(), name);
}

__attribute__((noinline)) static void take(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	passed++;
	pthread_mutex_unlock(lock);
}

static void *in_cycle(void *argument)
{
	int number = (int)(intptr_t)argument;
	pthread_mutex_t *next = &locks[(number + 1) % threads];

	name_thread(number);
	pthread_mutex_lock(&locks[number]);
	pthread_barrier_wait(&all_locked);
	enter(number, next);
	take(next);
	return NULL;
}

static void *for_held(void *argument)
{
	int number = (int)(intptr_t)argument;

	name_thread(number);
	enter(number, &locks[0]);
	take(&locks[0]);
	return NULL;
}

static void *in_motion(void *argument)
{
	int number = (int)(intptr_t)argument;
	char end[4096];

	name_thread(number);
	enter(number, &locks[0]);
	snprintf(end, sizeof(end), "%s/end", job.gate);
	while (access(end, F_OK)) {
		take(&locks[0]);
		job_sleep_us(1000); /* the other one's turn */
	}
	return NULL;
}

static void *at_barrier(void *argument)
{
	int number = (int)(intptr_t)argument;

	name_thread(number);
	if (number == 3)
		job_begin(&job);
	else
		enter(number, &meeting);
	pthread_barrier_wait(&meeting);
	return NULL;
}

static void start(pthread_t *ids, int count, void *(*run)(void *))
{
	for (int i = 0; i < count; i++)
		if (pthread_create(&ids[i], NULL, run, (void *)(intptr_t)i))
			exit(5);
}

static void finish(pthread_t *ids, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "", *late = getenv("ENTER_LATE");
	bool counted = argc > 2 && argv[2][0] != '-';
	pthread_t ids[THREADS_MOST];

	threads = counted ? atoi(argv[2]) : 2;
	job_options(&job, argc - 1 - counted, argv + 1 + counted, NULL);
	for (int i = 0; i < THREADS_MOST; i++)
		pthread_mutex_init(&locks[i], NULL);
	pthread_barrier_init(&all_locked, NULL, threads);
	pthread_barrier_init(&meeting, NULL, 4);
	if (late && *late == '1')
		job_begin(&job);
	if (!strcmp(how, "cycle")) {
		start(ids, threads, in_cycle);
		finish(ids, threads);
	} else if (!strcmp(how, "held")) {
		pthread_mutex_lock(&locks[0]);
		start(ids, 2, for_held);
		job_begin(&job);
		pthread_mutex_unlock(&locks[0]);
		finish(ids, 2);
	} else if (!strcmp(how, "moves")) {
		start(ids, 2, in_motion);
		finish(ids, 2);
	} else if (!strcmp(how, "barrier")) {
		start(ids, 4, at_barrier);
		finish(ids, 4);
	} else if (!strcmp(how, "join")) {
		pthread_mutex_lock(&locks[0]);
		start(ids, 1, for_held);
		finish(ids, 1);
	}
	printf("passed %ld\n", passed);
	return 0;
}
