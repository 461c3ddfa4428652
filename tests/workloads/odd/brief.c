/* SPDX-License-Identifier: BSD-2-Clause */
/* Lives for about a millisecond: 100 allocations of 64 bytes, 100 frees, then it is gone. `brief REPEAT` does it in
 * children, one after the other. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(void)
{
	for (int i = 0; i < 100; i++) {
		volatile char *block = malloc(64);

		block[0] = 1;
		free((void *)block);
	}
}

int main(int argc, char **argv)
{
	int repeat = argc > 1 ? atoi(argv[1]) : 0;

	if (!repeat)
		work();
	for (int i = 0; i < repeat; i++) {
		pid_t child = fork();

		if (child == 0) {
			work();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
