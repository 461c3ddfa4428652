/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c - the program that is observed: functions of sites.S, libc's malloc and locks, context switches (loops.h).
 *
 * Besides its loops it obeys:
 *
 *   pace THREADS RATE MS       threads that call site_push, RATE times a second in all, for so many ms; RATE 0: as
 * often as they can. Answers calls, ns, and ns of CPU time. crowd THREADS CALLS        so many threads call site_push
 * CALLS times each. Answers the ns of CPU time of all of them.
 *
 * `switch` is a round trip between two threads, which is two context switches where both are on one CPU (the driver
 * sees to that). `heap` keeps a few hundred blocks of several sizes: a turn is malloc, calloc, realloc and two frees.
 * `manyN` calls N functions of sites.S in turn.
 */
#include "loops.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 64 /* bytes that are allocated */
#define LIVE 256 /* blocks that `heap` keeps, of each kind */
#define THREADS_MOST 256
#define SLICE_NS 200000 /* how often a thread that keeps a pace looks at the clock */

void site_push(long);
void site_endbr(long);
void site_test(long);
void site_step(long);
extern void (*const site_many[])(long);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int to_partner[2], from_partner[2];

static void malloc_free(long unused)
{
	free(malloc(BLOCK));
}

static void lock_unlock(long unused)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void round_trip(long unused)
{
	char byte = 0;

	if (write(to_partner[1], &byte, 1) != 1 || read(from_partner[0], &byte, 1) != 1)
		_exit(1);
}

static void heap(long i)
{
	static void *kept[LIVE], *zeroed[LIVE];
	static const unsigned short sizes[] = { 24, 40, 64, 100, 256, 600 };
	unsigned at = (unsigned)(i * 7) % LIVE;

	free(kept[at]);
	free(zeroed[at]);
	kept[at] = malloc(sizes[i % 6]);
	zeroed[at] = calloc(sizes[(i + 1) % 6] / 8, 8);
	kept[at] = realloc(kept[at], sizes[(i + 3) % 6]);
}

static void many20(long i)
{
	site_many[i % 20](i);
}

static void many200(long i)
{
	site_many[i % 200](i);
}

static void many2000(long i)
{
	site_many[i % 2000](i);
}

static void many1(long i)
{
	site_many[0](i);
}

static const struct loop loops[] = {
	{ "site_push", site_push }, { "site_endbr", site_endbr },
	{ "site_test", site_test }, { "site_step", site_step },
	{ "malloc", malloc_free },  { "lock", lock_unlock },
	{ "switch", round_trip },   { "heap", heap },
	{ "many1", many1 },         { "many20", many20 },
	{ "many200", many200 },     { "many2000", many2000 },
};

/* --- threads that call ------------------------------------------------- */

struct caller {
	pthread_t thread;
	uint64_t end;        /* ns; 0: when `calls` are made */
	double per_ns;       /* calls; 0: as many as possible */
	uint64_t calls, cpu; /* cpu: ns */
};

static pthread_barrier_t all_there;

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void *keep_pace(void *context)
{
	struct caller *caller = context;
	uint64_t start = loops_now(), now;

	while ((now = loops_now()) < caller->end) {
		uint64_t due = caller->per_ns > 0 ? (uint64_t)(caller->per_ns * (double)(now - start))
						  : caller->calls + 100;
		struct timespec pause = { 0, SLICE_NS };

		for (; caller->calls < due; caller->calls++)
			site_push((long)caller->calls);
		if (caller->per_ns > 0)
			nanosleep(&pause, NULL);
	}
	caller->cpu = cpu_now();
	return NULL;
}

static void *call_all(void *context)
{
	struct caller *caller = context;
	uint64_t start;

	pthread_barrier_wait(&all_there);
	site_push(0); /* the kernel's state of this thread is made at its first call */
	start = cpu_now();
	for (uint64_t i = 1; i < caller->calls; i++)
		site_push((long)i);
	caller->cpu = (cpu_now() - start) * caller->calls / (caller->calls - 1);
	return NULL;
}

static struct caller run_threads(unsigned threads, void *(*run)(void *), struct caller each)
{
	static struct caller callers[THREADS_MOST];
	struct caller sum = { 0 };

	for (unsigned i = 0; i < threads; i++) {
		callers[i] = each;
		if (pthread_create(&callers[i].thread, NULL, run, &callers[i]))
			_exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(callers[i].thread, NULL);
		sum.calls += callers[i].calls;
		sum.cpu += callers[i].cpu;
	}
	return sum;
}

static bool other(const char *command)
{
	char line[96];
	unsigned threads;
	uint64_t number, ms, start = loops_now();
	struct caller sum;

	if (sscanf(command, "pace %u %lu %lu", &threads, &number, &ms) == 3 && threads && threads <= THREADS_MOST) {
		sum = run_threads(
			threads, keep_pace,
			(struct caller){ .end = start + ms * 1000000, .per_ns = (double)number / threads / 1e9 });
		loops_say(line, snprintf(line, sizeof(line), "%lu %lu %lu\n", sum.calls, loops_now() - start, sum.cpu));
	} else if (sscanf(command, "crowd %u %lu", &threads, &number) == 2 && threads && threads <= THREADS_MOST &&
		   number > 1) {
		pthread_barrier_init(&all_there, NULL, threads);
		sum = run_threads(threads, call_all, (struct caller){ .calls = number });
		loops_say(line, snprintf(line, sizeof(line), "%lu\n", sum.cpu));
	} else {
		return false;
	}
	return true;
}

/* Sends back whatever comes. */
static void *partner(void *unused)
{
	char byte;

	while (read(to_partner[0], &byte, 1) == 1 && write(from_partner[1], &byte, 1) == 1)
		;
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pipe(to_partner) || pipe(from_partner) || pthread_create(&thread, NULL, partner, NULL))
		return 1;
	serve_loops(loops, sizeof(loops) / sizeof(loops[0]), other);
	return 0;
}
