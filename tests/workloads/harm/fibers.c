/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User-level threads ("fibers") that switch stacks inside functions of the program, all of them with calls in progress
 * at the same time: by swapcontext, or built with -DOWN by a few instructions of our own (switch.S), of which no import
 * tells; on one thread, or handed on to the next of several threads at each switch (--workers N): then a call begins on
 * one thread and returns on another.
 *
 * With --beside 1 the stacks are one mapping with what the thread pointer points to, as a C library's own stacks are.
 *
 * The kernel keeps the return addresses that a return probe replaced in one list for each thread. Here they come back
 * in another order, or to another thread.
 */
#include "tell.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifndef OWN
#include <ucontext.h>
#endif

#define STACK  65536
#define LEVELS 3
#define MOST   256

#ifdef OWN
typedef void *context; /* the stack pointer, below the registers saved by switch_stack() */
#else
typedef ucontext_t context;
#endif

struct fiber {
	context context;
	char *stack;
	long who, result;
	bool finished;
};

/* An OS thread that runs fibers. */
struct worker {
	context context;
	struct fiber *fiber;
	long queue[MOST], queued, taken; /* indices of fibers that it may run; guarded by mutex */
};

static long fibers_wanted = 100, workers_wanted = 1, beside_wanted;
static struct fiber fibers[MOST];
static struct worker workers[8];
static _Thread_local struct worker *this_worker;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long unfinished; /* fibers; guarded by mutex */

static struct tale turn_tale = { .name = "turn" }, once_tale = { .name = "once" };

static _Atomic long moved_once, moved_turn; /* calls that returned on another thread than the one they began on */

long turn(long who, long n);
long once(long who, long n);
void fiber_main(void);

/* A fiber may be on another thread after each switch: the address of this_worker must not be kept. */
OBSERVED static struct worker *worker(void)
{
	__asm__ volatile("");
	return this_worker;
}

#ifdef OWN
/* Saves what a call must keep, puts the stack pointer into *from, and goes on where the other stack was left. */
void switch_stack(void **from, void *to);

static void switch_to(context *from, context *to)
{
	switch_stack(from, *to);
}

/* What switch_stack() is to find on the new stack: six registers, and where to go on. */
static void prepare(struct fiber *f)
{
	void **top = (void **)(f->stack + STACK);

	*--top = NULL; /* where fiber_main() would return to; and the stack is aligned as at a call */
	*--top = (void *)fiber_main;
	for (int i = 0; i < 6; i++)
		*--top = NULL;
	f->context = top;
}
#else
static void switch_to(context *from, context *to)
{
	swapcontext(from, to);
}

static void prepare(struct fiber *f)
{
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK;
	makecontext(&f->context, fiber_main, 0);
}
#endif

static void yield(void)
{
	struct worker *w = worker();
	struct fiber *f = w->fiber;

	switch_to(&f->context, &w->context);
}

/* The call of another function in progress, above one of turn(). */
OBSERVED long once(long who, long n)
{
	struct worker *before = worker();

	called(&once_tale);
	yield();
	moved_once += worker() != before;
	return returning(&once_tale, who * 100 + n);
}

/* Begins, lets others run, calls itself, lets others run, returns. */
OBSERVED long turn(long who, long n)
{
	struct worker *before = worker();

	called(&turn_tale);
	yield();
	if (n > 0 && turn(who, n - 1) != who * 1000 + n - 1)
		abort();
	/* Some leave earlier than others, so that they do not come back in the order in which they went. */
	if (who % 3 == n % 3)
		yield();
	if (once(who, n) != who * 100 + n)
		abort();
	moved_turn += worker() != before;
	return returning(&turn_tale, who * 1000 + n);
}

void fiber_main(void)
{
	struct fiber *f = worker()->fiber;

	f->result = turn(f->who, LEVELS);
	f->finished = true;
	yield();
	abort();
}

/* -1: there is none now. */
static long take(struct worker *w)
{
	long who = -1;

	pthread_mutex_lock(&mutex);
	if (w->taken < w->queued)
		who = w->queue[w->taken++ % MOST];
	pthread_mutex_unlock(&mutex);
	return who;
}

static void hand_on(struct worker *w, struct fiber *f)
{
	struct worker *next = &workers[(w - workers + 1) % workers_wanted];

	pthread_mutex_lock(&mutex);
	if (f->finished)
		unfinished--;
	else
		next->queue[next->queued++ % MOST] = f->who;
	pthread_mutex_unlock(&mutex);
}

static void run(struct worker *w, struct fiber *f)
{
	w->fiber = f;
	switch_to(&w->context, &f->context);
}

static bool over(void)
{
	pthread_mutex_lock(&mutex);
	bool all_done = unfinished == 0;
	pthread_mutex_unlock(&mutex);
	return all_done;
}

static void *work(void *argument)
{
	struct worker *w = argument;

	this_worker = w;
	while (!over()) {
		long who = take(w);

		if (who < 0) {
			job_sleep_us(50);
			continue;
		}
		run(w, &fibers[who]);
		hand_on(w, &fibers[who]);
	}
	return NULL;
}

/* Where the mapping begins that holds the thread pointer. */
static uintptr_t own_mapping(void)
{
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long low, high;
	char line[512];

	if (!maps)
		abort();
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &low, &high) == 2 && self >= low && self < high) {
			fclose(maps);
			return low;
		}
	abort();
}

/* They must end up in that mapping: next to it, and of its kind. */
static void make_stacks_beside(void)
{
	size_t size = fibers_wanted * STACK;
	uintptr_t end = own_mapping();
	char *stacks = mmap((void *)(end - size), size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (stacks == MAP_FAILED || own_mapping() > (uintptr_t)stacks)
		abort();
	for (long i = 0; i < fibers_wanted; i++)
		fibers[i].stack = stacks + i * STACK;
}

static long sum;

static void one_round(long round)
{
	pthread_t threads[8];

	for (long i = 0; i < workers_wanted; i++)
		workers[i].queued = workers[i].taken = 0;
	if (beside_wanted && !fibers[0].stack)
		make_stacks_beside();
	for (long i = 0; i < fibers_wanted; i++) {
		fibers[i].who = i;
		fibers[i].finished = false;
		if (!fibers[i].stack)
			fibers[i].stack = aligned_alloc(64, STACK);
		prepare(&fibers[i]);
		workers[0].queue[workers[0].queued++] = i;
	}
	unfinished = fibers_wanted;
	for (long i = 1; i < workers_wanted; i++)
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			abort();
	work(&workers[0]);
	for (long i = 1; i < workers_wanted; i++)
		pthread_join(threads[i], NULL);
	for (long i = 0; i < fibers_wanted; i++)
		sum += fibers[i].result;
}

int main(int argc, char **argv)
{
	struct job job = { .name = "fibers", .rounds = 4 };
	struct job_option more[] = {
		{ "--fibers", &fibers_wanted },
		{ "--workers", &workers_wanted },
		{ "--beside", &beside_wanted },
		{ NULL, NULL },
	};

	tell_rounds(&job, argc, argv, more, one_round);
	tell_function(&turn_tale);
	tell_function(&once_tale);
	tell("turn_moved", moved_turn);
	tell("once_moved", moved_once);
	tell("sum", sum);
	return 0;
}
