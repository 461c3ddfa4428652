/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A team of threads that uses every function of the c and pthread models a known number of times.
 *
 * The counted window is pure: the workers exist before it opens and live on after it closes, and inside it they call
 * nothing but what they count. That matters because libc calls itself at the very addresses an observer probes:
 * realloc(NULL) is a malloc, thread creation allocates, and a thread that ends frees its cache. So the job never calls
 * realloc(NULL), and creates threads inside the window only when asked to (--create N), for tests that look at
 * pthread_create and pthread_join alone.
 */
#include "job.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 64
#define BLOCKS      8           /* allocations of each kind, per thread and round */

static long nthreads = 4, slow = -1, slow_us = 2000, create, allocations = 1, locks = 1;
static struct job job = { .name = "threads", .rank = -1, .rounds = 50 };
static struct job_thread team[THREADS_MAX];

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long turn;               /* of turn_mutex: whose turn it is */
static uint64_t shared_sum;     /* of mutex */
static uint64_t table[16];      /* of rwlock */

/* The workers follow this word and sleep between phases; they touch no lock that an observer could see. */
enum phase { WARMUP, READY, COUNTED, FINISHED, AFTER };
static _Atomic int phase = WARMUP;
static _Atomic long arrived;
static _Atomic bool another;    /* round 0 of the team decides whether there is a next round */
static long rounds_done;

static void *idle_child(void *argument)
{
	*(uint64_t *)argument += 1;
	return NULL;
}

static uint64_t allocate(struct counts *counts, long round)
{
	uint64_t sum = 0;

	for (long i = 0; i < BLOCKS; i++) {
		size_t size = 24 + 40 * ((round + i) % 11), more = size * 3;
		unsigned char *block = malloc(size), *zeroed = calloc(i + 1, 48), *aligned, *line = NULL;

		count_call(counts, "malloc", size);
		count_call(counts, "calloc", (i + 1) * 48);
		block[0] = (unsigned char)i;
		block = realloc(block, more);
		count_call(counts, "realloc", more);
		aligned = aligned_alloc(64, 128 * (i + 1));
		count_call(counts, "aligned_alloc", 128 * (i + 1));
		if (posix_memalign((void **)&line, 256, size))
			abort();
		count_call(counts, "posix_memalign", size);
		aligned[0] = line[0] = (unsigned char)(round + i);
		sum += block[0] + zeroed[i] + aligned[0] + line[0];
		free(block);
		free(zeroed);
		free(aligned);
		free(line);
		for (int f = 0; f < 4; f++)
			count_call(counts, "free", 0);
	}
	return sum;
}

static void use_mutex(struct counts *counts, uint64_t value)
{
	pthread_mutex_lock(&mutex);
	count_call(counts, "pthread_mutex_lock", 0);
	shared_sum += value;
	pthread_mutex_unlock(&mutex);
	count_call(counts, "pthread_mutex_unlock", 0);
	count_call(counts, "pthread_mutex_trylock", 0);
	if (pthread_mutex_trylock(&mutex) == 0) {
		shared_sum ^= 0;
		pthread_mutex_unlock(&mutex);
		count_call(counts, "pthread_mutex_unlock", 0);
	}
}

static uint64_t use_rwlock(struct counts *counts, long index, long round)
{
	uint64_t seen;

	pthread_rwlock_wrlock(&rwlock);
	table[(index + round) % 16] += round;
	pthread_rwlock_unlock(&rwlock);
	pthread_rwlock_rdlock(&rwlock);
	seen = table[0] != UINT64_MAX;
	pthread_rwlock_unlock(&rwlock);
	count_call(counts, "pthread_rwlock_wrlock", 0);
	count_call(counts, "pthread_rwlock_rdlock", 0);
	count_call(counts, "pthread_rwlock_unlock", 0);
	count_call(counts, "pthread_rwlock_unlock", 0);
	return seen;
}

/* The threads take turns in order of their index; each wakes the others when it has had its turn. */
static void take_turn(struct counts *counts, long index)
{
	pthread_mutex_lock(&turn_mutex);
	count_call(counts, "pthread_mutex_lock", 0);
	while (turn != index) {
		pthread_cond_wait(&turn_changed, &turn_mutex);
		count_call(counts, "pthread_cond_wait", 0);
	}
	turn = (index + 1) % nthreads;
	pthread_cond_broadcast(&turn_changed);
	count_call(counts, "pthread_cond_broadcast", 0);
	pthread_cond_signal(&turn_changed);
	count_call(counts, "pthread_cond_signal", 0);
	pthread_mutex_unlock(&turn_mutex);
	count_call(counts, "pthread_mutex_unlock", 0);
}

static uint64_t create_and_join(struct counts *counts)
{
	uint64_t sum = 0;

	for (long i = 0; i < create; i++) {
		pthread_t child;

		if (pthread_create(&child, NULL, idle_child, &sum))
			abort();
		count_call(counts, "pthread_create", 0);
		pthread_join(child, NULL);
		count_call(counts, "pthread_join", 0);
	}
	return sum;
}

static void wait_barrier(struct counts *counts)
{
	pthread_barrier_wait(&barrier);
	count_call(counts, "pthread_barrier_wait", 0);
}

static uint64_t one_round(struct counts *counts, long index, long round)
{
	uint64_t sum = job_mix(round * 131 + index);

	if (allocations)
		sum += allocate(counts, round);
	if (locks) {
		use_mutex(counts, sum);
		sum += use_rwlock(counts, index, round);
		take_turn(counts, index);
	}
	if (index == 0)
		sum += create_and_join(counts);
	if (index == slow)
		job_spin_us(slow_us);
	wait_barrier(counts);
	return sum;
}

/* Rounds of the whole team: thread 0 decides after each whether there is one more, the others learn it behind a
 * barrier. */
static uint64_t counted_rounds(struct counts *counts, long index)
{
	uint64_t sum = 0;
	long round = 0;

	for (;;) {
		if (index == 0)
			another = job_more(&job, round);
		wait_barrier(counts);
		if (!another)
			break;
		sum += one_round(counts, index, round++);
	}
	if (index == 0)
		rounds_done = round;
	return sum;
}

static void uncounted_rounds(long index, long rounds)
{
	static _Thread_local struct counts thrown_away;

	for (long round = 0; round < rounds; round++)
		one_round(&thrown_away, index, round);
}

static void wait_for_phase(int wanted)
{
	while (phase < wanted)
		job_sleep_us(500);
}

static void *worker(void *argument)
{
	struct job_thread *me = argument;
	long index = me - team;
	uint64_t sum;

	me->tid = (int)syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), me->name);
	uncounted_rounds(index, job.warmup);
	arrived++;
	wait_for_phase(COUNTED);
	sum = counted_rounds(&me->counts, index);
	arrived++;
	wait_for_phase(AFTER);
	uncounted_rounds(index, job.after);
	return (void *)sum;
}

static void wait_for_team(long target)
{
	while (arrived < target)
		job_sleep_us(500);
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--threads", &nthreads }, { "--slow", &slow }, { "--slow-us", &slow_us },
		{ "--create", &create }, { "--alloc", &allocations }, { "--locks", &locks }, { NULL, NULL } };
	pthread_t threads[THREADS_MAX];
	uint64_t checksum = 0;

	job_options(&job, argc, argv, more);
	if (nthreads < 1 || nthreads > THREADS_MAX)
		return 2;
	pthread_barrier_init(&barrier, NULL, nthreads);
	for (long i = 0; i < nthreads; i++) {
		snprintf(team[i].name, sizeof(team[i].name), "worker-%ld", i);
		if (pthread_create(&threads[i], NULL, worker, &team[i]))
			return 1;
	}
	wait_for_team(nthreads);
	/* What the warm-up summed is not part of the result. */
	shared_sum = 0;
	memset(table, 0, sizeof(table));
	job_begin(&job);
	phase = COUNTED;
	wait_for_team(2 * nthreads);
	checksum = shared_sum;
	for (int i = 0; i < 16; i++)
		checksum = job_mix(checksum + table[i]);
	job_finish(&job);
	phase = AFTER;
	for (long i = 0; i < nthreads; i++) {
		void *sum;

		pthread_join(threads[i], &sum);
		checksum += (uint64_t)sum;
	}
	printf("checksum %016lx rounds %ld\n", checksum, rounds_done);
	return job_truth(&job, rounds_done, checksum, NULL, team, nthreads);
}
