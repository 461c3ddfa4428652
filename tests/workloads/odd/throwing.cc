/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A C++ job that throws through its own functions, and whose threads are cancelled in pthread_cond_wait while they hold
 * objects with destructors. Where a return address was changed on the stack, the exception ends in std::terminate and a cancelled
 * thread leaves its mutex locked.
 */
#include "job.h"

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>

static struct job job;
static struct counts counted, thrown_away, *counts = &thrown_away;
static int destroyed;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

struct witness {
	~witness() { destroyed++; }
};

struct guard {
	guard() { pthread_mutex_lock(&mutex); }
	~guard() { pthread_mutex_unlock(&mutex); destroyed++; }
};

extern "C" long thrower(long n);
extern "C" long passer(long n);

__attribute__((noipa)) long thrower(long n)
{
	count_call(counts, "thrower", 0);
	witness one;
	if (n % 3 != 0)
		throw std::runtime_error("thrown on purpose");
	return n;
}

/* The exception passes through this one. */
__attribute__((noipa)) long passer(long n)
{
	count_call(counts, "passer", 0);
	witness one;
	return thrower(n) + 1;
}

static long try_it(long n)
{
	try {
		return passer(n);
	} catch (const std::runtime_error &) {
		return 1000;
	}
}

static void *wait_forever(void *)
{
	guard held;

	for (;;)
		pthread_cond_wait(&never, &mutex);
	return nullptr;
}

static void cancel_one()
{
	pthread_t thread;

	if (pthread_create(&thread, nullptr, wait_forever, nullptr))
		abort();
	job_sleep_us(2000);
	pthread_cancel(thread);
	pthread_join(thread, nullptr);
	/* Hangs here if the cancelled thread did not unlock. */
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static uint64_t one_round(long round)
{
	uint64_t sum = 0;

	for (long n = 0; n < 9; n++)
		sum += try_it(n + round);
	cancel_one();
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	long rounds = 0;

	job.name = "throwing";
	job.rank = -1;
	job.rounds = 10;
	job_options(&job, argc, argv, nullptr);
	for (long i = 0; i < job.warmup; i++)
		one_round(i);
	destroyed = 0;
	job_begin(&job);
	counts = &counted;
	for (; job_more(&job, rounds); rounds++)
		sum += one_round(rounds);
	counts = &thrown_away;
	job_finish(&job);
	sum = job_mix(sum + destroyed);
	for (long i = 0; i < job.after; i++)
		one_round(i);
	printf("checksum %016lx rounds %ld\n", sum, rounds);
	return job_truth(&job, rounds, sum, &counted, nullptr, 0);
}
