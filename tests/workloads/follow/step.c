/*
 * Lives for a millisecond and calls libcalls: once in a constructor, N times in main, and, with a second number, N times in each of so many
 * forked children. Ends with 3.
 */
#include "follow.h"

#include <sys/wait.h>

__attribute__((constructor)) static void early(void)
{
	calls_step(-1);
}

static void work(long calls)
{
	for (long i = 0; i < calls; i++)
		calls_step(i);
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 10, children = argc > 2 ? atol(argv[2]) : 0;

	work(calls);
	tell(calls + 1);
	for (long i = 0; i < children; i++) {
		pid_t child = fork();

		if (!child) {
			work(calls);
			tell(calls);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 3;
}
