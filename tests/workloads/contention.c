/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock that threads wait for. One of them, --holder, works under it; the others only come by.
 *
 *   --what 0   they wait for it
 *   --what 1   they try to take it, again and again
 *
 * --healed 1: each works before it takes the lock; 2: each thread has a lock of its own. Each thread takes the time of
 * its own waits and holds. Built with OpenMP it is a team, and the lock a critical section (only --what 0, --healed 1).
 */
#include "job.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 16
#define AGAIN_US    20      /* from one attempt to the next */
#define SOON        1000000 /* ns; as docs/analyses/locks.md has it */

static struct job job = { .name = "contention", .rounds = 60 };
static long nthreads = 4, holder = 1, hold_us = 3000, apart_us = 3000, what, healed;

static struct member {
	pthread_t id;
	long tid;
	int64_t wait, wait_max, hold, spin;
	uint64_t failed;
	char apart[64]; /* the locks lie in cache lines of their own */
	pthread_mutex_t own;
} team[THREADS_MAX];

static void note_wait(struct member *me, int64_t began, int64_t ended)
{
	me->wait += ended - began;
	if (me->wait_max < ended - began)
		me->wait_max = ended - began;
}

#ifdef _OPENMP

static void one_round(struct member *me)
{
	int64_t began = job_now(), has;

#pragma omp critical(sums)  /* omp */
	{
		has = job_now();
		if (me == &team[holder] && !healed)
			job_sleep_us(hold_us);
		me->hold += job_now() - has;
	}
	note_wait(me, began, has);
}

#else

static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;

static void try_until(struct member *me, pthread_mutex_t *lock)
{
	int64_t failed = 0, now = job_now();

	while (pthread_mutex_trylock(lock)) { /* tries */
		int64_t end = job_now();

		me->failed++;
		me->spin += end - now + (failed && now - failed <= SOON ? now - failed : 0);
		failed = end;
		job_spin_us(AGAIN_US);
		now = job_now();
	}
	if (failed && now - failed <= SOON)
		me->spin += now - failed;
}

static void one_round(struct member *me)
{
	pthread_mutex_t *lock = healed == 2 ? &me->own : &all;
	int64_t began = job_now(), has;

	if (me == &team[holder]) {
		pthread_mutex_lock(lock); /* holds */
		has = job_now();
		if (healed != 1)
			job_sleep_us(hold_us);
		me->hold += job_now() - has;
		pthread_mutex_unlock(lock);
		note_wait(me, began, has);
		return;
	}
	if (what)
		try_until(me, lock);
	else
		pthread_mutex_lock(lock); /* waits */
	has = job_now();
	me->hold += job_now() - has;
	pthread_mutex_unlock(lock);
	note_wait(me, began, has);
}

#endif

static void *work(void *argument)
{
	struct member *me = argument;

	me->tid = syscall(SYS_gettid);
	for (long i = 0; i < job.rounds; i++) {
		job_sleep_us(apart_us);
		if (me == &team[holder] && healed == 1)
			job_sleep_us(hold_us);
		one_round(me);
	}
	return NULL;
}

static void run(void)
{
#ifdef _OPENMP
#pragma omp parallel for num_threads(nthreads) schedule(static, 1)
	for (long i = 0; i < nthreads; i++)
		work(&team[i]);
#else
	for (long i = 0; i < nthreads; i++)
		pthread_create(&team[i].id, NULL, work, &team[i]);
	for (long i = 0; i < nthreads; i++)
		pthread_join(team[i].id, NULL);
#endif
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = {
		{ "--threads", &nthreads }, { "--holder", &holder }, { "--hold-us", &hold_us }, { "--apart-us", &apart_us },
		{ "--what", &what },        { "--healed", &healed }, { NULL, NULL },
	};
	char text[4000];
	int used;

	job_options(&job, argc, argv, options);
	if (nthreads < 1 || nthreads > THREADS_MAX || holder < 0 || holder >= nthreads)
		return 2;
	for (long i = 0; i < nthreads; i++)
		pthread_mutex_init(&team[i].own, NULL);
	job_begin(&job);
	run();
	job_finish(&job);
	used = snprintf(text, sizeof(text), ",\n \"holder\": %ld, \"members\": [", team[holder].tid);
	for (long i = 0; i < nthreads; i++)
		used += snprintf(text + used, sizeof(text) - used,
				 "%s{\"tid\": %ld, \"wait_ns\": %ld, \"wait_max_ns\": %ld, \"hold_ns\": %ld, \"spin_ns\": %ld, "
				 "\"failed\": %ld}",
				 i ? ", " : "", team[i].tid, (long)team[i].wait, (long)team[i].wait_max, (long)team[i].hold,
				 (long)team[i].spin, (long)team[i].failed);
	snprintf(text + used, sizeof(text) - used, "]");
	job.more_truth = text;
	return job_truth(&job, job.rounds, 0, &(struct counts){ 0 }, NULL, 0);
}
