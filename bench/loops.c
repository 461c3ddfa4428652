/* SPDX-License-Identifier: BSD-2-Clause */
/* loops.c - see loops.h. */
#include "loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MOST 1000

uint64_t loops_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void loops_say(const char *text, size_t length)
{
	if (write(STDOUT_FILENO, text, length) != (ssize_t)length)
		_exit(1);
}

static uint64_t time_calls(const struct loop *loop, long calls)
{
	uint64_t start = loops_now();

	if (loop->run) {
		loop->run(calls);
		return loops_now() - start;
	}
	for (long i = 0; i < calls; i++)
		loop->call(i);
	return loops_now() - start;
}

static void run(const struct loop *loop, long calls, long rounds)
{
	static uint64_t took[ROUNDS_MOST];
	static char line[ROUNDS_MOST * 24];
	size_t used = 0;

	if (rounds < 1 || rounds > ROUNDS_MOST)
		_exit(2);
	for (long r = 0; r < rounds; r++)
		took[r] = time_calls(loop, calls);
	for (long r = 0; r < rounds; r++)
		used += snprintf(line + used, sizeof(line) - used, "%lu%c", took[r], r + 1 < rounds ? ' ' : '\n');
	loops_say(line, used);
}

static const struct loop *find(const struct loop *loops, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, loops[i].name))
			return &loops[i];
	_exit(2);
}

void serve_loops(const struct loop *loops, size_t count, bool (*other)(const char *command))
{
	static char line[256];
	ssize_t length;

	prctl(PR_SET_PDEATHSIG, 9); /* the benchmark was killed: no process of it stays */
	loops_say(line, snprintf(line, sizeof(line), "ready %d\n", getpid()));
	while ((length = read(STDIN_FILENO, line, sizeof(line) - 1)) > 0) {
		char name[32];
		long calls, rounds;

		line[length] = 0;
		if (sscanf(line, "loop %31s %ld %ld", name, &calls, &rounds) == 3)
			run(find(loops, count, name), calls, rounds);
		else if (!other || !other(line))
			_exit(2);
	}
}
