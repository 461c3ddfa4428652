/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that end in the middle of a call: cancelled in pthread_cond_wait, sem_wait and pthread_join, or by pthread_exit from
 * nested functions of the program. On the way they run destructors and cleanup handlers, which unlock what the others wait for. An
 * unwinder that cannot pass a frame skips them, and the job hangs.
 */
#include "tell.h"

#include <cstdlib>
#include <initializer_list>
#include <pthread.h>
#include <semaphore.h>

#define NESTED 5

static struct tale wait_tale = { "wait_for_news", 0, 0 }, hold_tale = { "hold", 0, 0 }, leave_tale = { "leave_thread", 0, 0 },
		   join_tale = { "join_other", 0, 0 };
static long destroyed, cleaned, ended;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, other_may_end;
static int waiting;

extern "C" {
long wait_for_news(long how);
long hold(long depth, long how);
long leave_thread(long n);
long join_other(pthread_t other);
}

struct guard {
	guard() { pthread_mutex_lock(&mutex); }
	~guard()
	{
		pthread_mutex_unlock(&mutex);
		__atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
	}
};

struct witness {
	~witness() { __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED); }
};

static void unlock(void *)
{
	pthread_mutex_unlock(&mutex);
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_RELAXED);
}

static void note(void *)
{
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_RELAXED);
}

/* Waits with the mutex in an object (how 0), or in a cleanup handler (1), or for a semaphore (2). 3: does not wait. */
OBSERVED long wait_for_news(long how)
{
	called(&wait_tale);
	witness here;
	if (how == 0) {
		guard held;
		waiting = 1;
		for (;;)
			pthread_cond_wait(&news, &mutex);
	} else if (how == 1) {
		pthread_mutex_lock(&mutex);
		pthread_cleanup_push(unlock, nullptr);
		waiting = 1;
		for (;;)
			pthread_cond_wait(&news, &mutex);
		pthread_cleanup_pop(1);
	} else if (how == 2) {
		pthread_cleanup_push(note, nullptr);
		__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
		sem_wait(&semaphore);
		pthread_cleanup_pop(0);
	}
	return returning(&wait_tale, how);
}

OBSERVED long leave_thread(long n)
{
	called(&leave_tale);
	guard held;
	if (n % 2 == 0)
		pthread_exit(nullptr);
	return returning(&leave_tale, n);
}

OBSERVED long join_other(pthread_t other)
{
	called(&join_tale);
	pthread_cleanup_push(note, nullptr);
	__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
	pthread_join(other, nullptr);
	pthread_cleanup_pop(0);
	return returning(&join_tale, 1);
}

/* Something to destroy in every frame. how 4: leaves the thread by itself. */
OBSERVED long hold(long depth, long how)
{
	long below;

	called(&hold_tale);
	witness here;
	if (depth > 0)
		below = hold(depth - 1, how);
	else if (how == 4)
		below = leave_thread(1) + leave_thread(0);
	else
		below = wait_for_news(how);
	return returning(&hold_tale, below + 1);
}

static void *work(void *how)
{
	if (hold(NESTED, 3) == 3 + NESTED + 1)
		hold(NESTED, reinterpret_cast<long>(how));
	return &ended;
}

static void *other(void *)
{
	while (sem_wait(&other_may_end))
		;
	return nullptr;
}

static void *join(void *other)
{
	join_other(reinterpret_cast<pthread_t>(other));
	return &ended;
}

/* The thread is in its wait, or about to be: it holds no mutex that it has not given to the wait. */
static void wait_until_it_waits()
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		int there = __atomic_load_n(&waiting, __ATOMIC_ACQUIRE);
		pthread_mutex_unlock(&mutex);
		if (there)
			break;
		job_sleep_us(200);
	}
	job_sleep_us(500);
}

static void end_of(pthread_t thread)
{
	void *result;

	pthread_join(thread, &result);
	ended += result == PTHREAD_CANCELED || result == nullptr;
	/* Hangs here if the thread did not unlock. */
	pthread_mutex_lock(&mutex);
	waiting = 0;
	pthread_mutex_unlock(&mutex);
}

static void one_round(long)
{
	pthread_t thread, second;

	for (long how = 0; how <= 4; how++) {
		if (how == 3)
			continue;
		if (pthread_create(&thread, nullptr, work, reinterpret_cast<void *>(how)))
			abort();
		if (how != 4) {
			wait_until_it_waits();
			pthread_cancel(thread);
		}
		end_of(thread);
	}
	if (pthread_create(&second, nullptr, other, nullptr) ||
	    pthread_create(&thread, nullptr, join, reinterpret_cast<void *>(second)))
		abort();
	wait_until_it_waits();
	pthread_cancel(thread);
	end_of(thread);
	sem_post(&other_may_end);
	pthread_join(second, nullptr);
}

int main(int argc, char **argv)
{
	struct job job = {};

	job.name = "cancel";
	job.rounds = 30;
	sem_init(&semaphore, 0, 0);
	sem_init(&other_may_end, 0, 0);
	tell_rounds(&job, argc, argv, nullptr, one_round);
	for (auto tale : { &wait_tale, &hold_tale, &leave_tale, &join_tale })
		tell_function(tale);
	tell("destroyed", destroyed);
	tell("cleaned", cleaned);
	tell("ended", ended);
	return 0;
}
