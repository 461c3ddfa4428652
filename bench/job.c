/*
 * job.c - the program that is observed: loops of calls, timed by itself, on demand.
 *
 * It reads commands from its standard input and is idle in between, so one process is measured with and without
 * observers, and observers come and go while it waits:
 *
 *   loop NAME CALLS ROUNDS      the ns that each of ROUNDS times CALLS calls took, on one line
 *
 * NAME is a function of sites.S, a pair of calls: `malloc` (and free), `lock` (and unlock), or `switch`: a round trip between
 * two threads, which is two context switches where both are on one CPU (the driver sees to that). Outside the loops it calls
 * nothing that anybody observes: no stdio, no allocation. What is counted by others must be equal to CALLS x ROUNDS.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MOST 1000
#define BLOCK       64 /* bytes that are allocated */

void site_nop5(long);
void site_push(long);
void site_endbr(long);
void site_test(long);
void site_step(long);

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

static const struct {
	const char *name;
	void (*call)(long);
} calls[] = {
	{ "site_nop5", site_nop5 }, { "site_push", site_push }, { "site_endbr", site_endbr }, { "site_test", site_test },
	{ "site_step", site_step }, { "malloc", malloc_free }, { "lock", lock_unlock }, { "switch", round_trip },
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void say(const char *text, size_t length)
{
	if (write(STDOUT_FILENO, text, length) != (ssize_t)length)
		_exit(1);
}

static uint64_t time_calls(void (*call)(long), long count)
{
	uint64_t start = now();

	for (long i = 0; i < count; i++)
		call(i);
	return now() - start;
}

static void run(const char *name, long count, long rounds)
{
	static uint64_t took[ROUNDS_MOST];
	static char line[ROUNDS_MOST * 24];
	void (*call)(long) = NULL;
	size_t used = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name))
			call = calls[i].call;
	if (!call || rounds < 1 || rounds > ROUNDS_MOST)
		_exit(2);
	for (long r = 0; r < rounds; r++)
		took[r] = time_calls(call, count);
	for (long r = 0; r < rounds; r++)
		used += snprintf(line + used, sizeof(line) - used, "%lu%c", took[r], r + 1 < rounds ? ' ' : '\n');
	say(line, used);
}

/* Sends back whatever comes. */
static void *partner(void *unused)
{
	char byte;

	while (read(to_partner[0], &byte, 1) == 1 && write(from_partner[1], &byte, 1) == 1)
		;
	return NULL;
}

static void start_partner(void)
{
	pthread_t thread;

	if (pipe(to_partner) || pipe(from_partner) || pthread_create(&thread, NULL, partner, NULL))
		_exit(1);
}

int main(void)
{
	static char line[256];
	ssize_t length;

	prctl(PR_SET_PDEATHSIG, 9); /* the benchmark was killed: no process of it stays */
	start_partner();
	say("ready\n", 6);
	while ((length = read(STDIN_FILENO, line, sizeof(line) - 1)) > 0) {
		char name[32];
		long count, rounds;

		line[length] = 0;
		if (sscanf(line, "loop %31s %ld %ld", name, &count, &rounds) != 3)
			return 2;
		run(name, count, rounds);
	}
	return 0;
}
