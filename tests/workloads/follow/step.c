/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lives for a millisecond and calls libcalls: once in a constructor, N times in main, and, with a second number, N
 * times in each of so many forked children. Ends with 3. With FOLLOW_GATE it waits in main: it makes FOLLOW_GATE.ready,
 * and goes on when there is FOLLOW_GATE.go; it does not end before there is FOLLOW_GATE.end.
 */
#include "follow.h"

#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void early(void)
{
	calls_step(-1);
}

static void make(const char *gate, const char *what)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.%s", gate, what);
	close(open(path, O_WRONLY | O_CREAT, 0666));
}

static void wait_for(const char *gate, const char *what)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.%s", gate, what);
	for (int i = 0; access(path, F_OK) && i < 12000; i++)
		usleep(10000);
}

static void work(long calls)
{
	for (long i = 0; i < calls; i++)
		calls_step(i);
}

int main(int argc, char **argv)
{
	const char *gate = getenv("FOLLOW_GATE");
	long calls = argc > 1 ? atol(argv[1]) : 10, children = argc > 2 ? atol(argv[2]) : 0;

	if (gate) {
		make(gate, "ready");
		wait_for(gate, "go");
	}
	work(calls);
	tell(calls + !gate); /* behind a gate it is observed from there on */
	for (long i = 0; i < children; i++) {
		pid_t child = fork();

		if (!child) {
			work(calls);
			tell(calls);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	if (gate) {
		make(gate, "done");
		wait_for(gate, "end");
	}
	return 3;
}
