/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UPC threads that wait for each other, on the stand-in runtime. The first argument says how:
 *
 *   (none)   all but the last one are at a barrier; that one is at the gate, and comes when it opens
 *   split    the same, but by a notify and then a wait
 *   two      the same, and the last but one has notified, but does not wait yet: it is at the gate, too
 *   gone     all but the last one are at a barrier; that one has ended without a word, when the gate opened
 *   first    the same of the first one
 *   held     the last one has a lock and is at the gate; all others wait for the lock
 *   cycle    thread 0 has one lock and waits for another one, thread 1 the other way round
 *   late     the last one takes a lock when the gate opens, and keeps it until DIR/more is there; threads 0 and 1 wait
 *            for it. The last but one
 *            has taken another lock just before, for which nobody waits
 *
 * Who is about to wait creates DIR/enters.THREAD.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "upc_runtime.h"

/* What threads have of their own is thus no multiple of its alignment. */
static UPC_OWN __attribute__((aligned(64), used)) char apart[1];
static UPC_OWN struct job job = { .name = "upc_stuck" };

static void mark(const char *name)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/%s.%d", job.gate, name, MYTHREAD);
	file = open(path, O_CREAT | O_WRONLY, 0666);
	if (file < 0)
		exit(4);
	close(file);
}

static void await(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", job.gate, name);
	while (access(path, F_OK))
		job_sleep_us(10000);
}

__attribute__((noinline)) static void meet(int id)
{
	mark("enters");
	__upc_barrier(id);
	__asm__ volatile("" : : : "memory"); /* a call, not a jump */
}

__attribute__((noinline)) static void notify(int id)
{
	__upc_notify(id);
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void wait_for_rest(int id)
{
	mark("enters");
	__upc_wait(id);
	__asm__ volatile("" : : : "memory");
}

/* Threads from `first` on come late: the very last one to the notify, the others to the wait. */
static void meet_in_two(int first)
{
	if (MYTHREAD == THREADS - 1)
		job_begin(&job);
	notify(8);
	if (MYTHREAD >= first && MYTHREAD < THREADS - 1)
		job_begin(&job);
	wait_for_rest(8);
}

__attribute__((noinline)) static void take(upc_shared_ptr lock)
{
	mark("enters");
	upc_lock(lock);
	__asm__ volatile("" : : : "memory");
}

/* The last one has the lock. */
static void hold(bool late)
{
	upc_shared_ptr lock = upc_all_lock_alloc(), other = upc_all_lock_alloc();
	bool last = MYTHREAD == THREADS - 1;
	char sign[32];

	if (late && MYTHREAD == THREADS - 2) {
		await("go");
		upc_lock(other);
		mark("holds");
		await("more");
		upc_unlock(other);
		return;
	}

	if (last && late) {
		job_begin(&job);
		snprintf(sign, sizeof(sign), "holds.%d", THREADS - 2);
		await(sign);
	}
	if (last)
		upc_lock(lock);
	if (last && late) {
		mark("holds");
		await("more");
	} else if (last) {
		__upc_barrier(1);
		job_begin(&job);
	} else {
		snprintf(sign, sizeof(sign), "holds.%d", THREADS - 1);
		if (late && MYTHREAD > 1)
			return;
		if (late)
			await(sign);
		else
			__upc_barrier(1);
		take(lock);
	}
	upc_unlock(lock);
}

static void take_both(void)
{
	upc_shared_ptr first = upc_all_lock_alloc(), second = upc_all_lock_alloc();

	if (MYTHREAD < 2)
		upc_lock(MYTHREAD ? second : first);
	__upc_barrier(1);
	if (MYTHREAD < 2)
		take(MYTHREAD ? first : second);
}

static void go_away(void)
{
	job_begin(&job);
#ifdef UPC_PTHREADS
	pthread_exit(NULL);
#else
	_exit(0);
#endif
}

int upc_main(int argc, char **argv)
{
	bool told = argc > 1 && argv[1][0] != '-';
	const char *how = told ? argv[1] : "";

	job_options(&job, argc - told, argv + told, NULL);
	job.rank = MYTHREAD;
	if (!strcmp(how, "cycle")) {
		take_both();
	} else if (!strcmp(how, "split") || !strcmp(how, "two")) {
		meet_in_two(THREADS - (*how == 't' ? 2 : 1));
	} else if (!strcmp(how, "held") || !strcmp(how, "late")) {
		hold(!strcmp(how, "late"));
	} else {
		bool first = !strcmp(how, "first");

		if (MYTHREAD == (first ? 0 : THREADS - 1) && (first || !strcmp(how, "gone")))
			go_away();
		if (MYTHREAD == THREADS - 1 && !first)
			job_begin(&job);
		meet(7);
	}
	if (!MYTHREAD)
		printf("all %d met\n", THREADS);
	return 0;
}
