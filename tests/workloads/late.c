/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A team in which one thread comes last to every barrier, and has the lock that all others wait for: not by being slow,
 * but by looking. It comes when the others sleep in their calls, which /proc tells, so it is so on the busiest machine.
 *
 * When the counted work is over ("done"), the others are in a barrier that the late one comes to only at the end; with
 * --held 1 thread 0 waits for the lock instead, which the late one has.
 */
#include "job.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 64

static long nthreads = 4, late = 2, held;
static struct job job = { .name = "late", .rank = -1, .rounds = 10 };
static struct job_thread team[THREADS_MAX];
static pthread_barrier_t barrier;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER, own[THREADS_MAX];
static _Atomic long about_to[THREADS_MAX]; /* the step that a thread's next observed call belongs to */
static _Atomic long taken;                 /* the step for which the late one has taken the lock */
static _Atomic bool go, over;
static _Atomic long started, waiting, passed; /* passed: turns with the lock that are over */

static void pause_until(_Atomic bool *flag)
{
	while (!*flag)
		job_sleep_us(500);
}

static char state_of(int tid)
{
	char path[64], text[256];
	const char *after;
	int fd, got;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return '?';
	text[got] = 0;
	after = strrchr(text, ')');
	return after && after[1] ? after[2] : '?';
}

/* Until the others have said that they are about to call, and sleep: in that call, since they do nothing else in
 * between. */
static void wait_for_others(long step)
{
	for (long i = 0; i < nthreads; i++)
		while (i != late && (about_to[i] < step || state_of(team[i].tid) != 'S'))
			job_sleep_us(200);
}

static void lock(struct counts *counts, pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	count_call(counts, "pthread_mutex_lock", 0);
}

static void unlock(struct counts *counts, pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
	count_call(counts, "pthread_mutex_unlock", 0);
}

static void meet(struct counts *counts)
{
	pthread_barrier_wait(&barrier);
	count_call(counts, "pthread_barrier_wait", 0);
}

static void one_round(struct counts *counts, long index, long step)
{
	for (int i = 0; i < 3; i++) {
		lock(counts, &own[index]);
		unlock(counts, &own[index]);
	}
	if (index == late) {
		wait_for_others(step);
		meet(counts);
		lock(counts, &shared);
		taken = step;
		wait_for_others(step + 1);
		unlock(counts, &shared);
		return;
	}
	about_to[index] = step;
	meet(counts);
	while (taken < step)
		job_sleep_us(200);
	about_to[index] = step + 1;
	lock(counts, &shared);
	unlock(counts, &shared);
	passed++;
}

/* As the job is found when its work is done. */
static void last_step(struct counts *counts, long index, long step)
{
	if (index == late) {
		while (passed < job.rounds * (nthreads - 1))
			job_sleep_us(200);
		if (held)
			lock(counts, &shared);
		taken = step;
		wait_for_others(step);
		waiting++;
		pause_until(&over);
		if (held)
			unlock(counts, &shared);
	} else {
		while (taken < step)
			job_sleep_us(200);
		about_to[index] = step;
		if (held && !index) {
			lock(counts, &shared);
			unlock(counts, &shared);
		}
	}
	meet(counts);
}

static void *worker(void *argument)
{
	struct job_thread *me = argument;
	long index = me - team, step = 1;

	me->tid = (int)syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), me->name);
	started++;
	pause_until(&go);
	for (long round = 0; round < job.rounds; round++, step += 2)
		one_round(&me->counts, index, step);
	last_step(&me->counts, index, step);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct job_option more[] = {
		{ "--threads", &nthreads }, { "--late", &late }, { "--held", &held }, { NULL, NULL }
	};
	pthread_t threads[THREADS_MAX];

	job_options(&job, argc, argv, more);
	if (nthreads < 2 || nthreads > THREADS_MAX || late < 0 || late >= nthreads)
		return 2;
	pthread_barrier_init(&barrier, NULL, nthreads);
	for (long i = 0; i < nthreads; i++) {
		pthread_mutex_init(&own[i], NULL);
		snprintf(team[i].name, sizeof(team[i].name), "team-%ld", i);
		if (pthread_create(&threads[i], NULL, worker, &team[i]))
			return 1;
	}
	while (started < nthreads)
		job_sleep_us(500);
	job_begin(&job);
	go = true;
	while (!waiting)
		job_sleep_us(500);
	job_finish(&job);
	over = true;
	for (long i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	return job_truth(&job, job.rounds, 0, NULL, team, (int)nthreads);
}
