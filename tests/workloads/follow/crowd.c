/* SPDX-License-Identifier: BSD-2-Clause */
/* crowd N: N threads, two at a time, each allocates ten blocks and ends; then the first thread forks a child that does
 * so, too. */
#include "job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(void)
{
	for (int i = 0; i < 10; i++) {
		volatile char *block = malloc(48);

		block[0] = 1;
		free((void *)block);
	}
}

static void *worker(void *unused)
{
	allocate();
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 200, status;
	pthread_t pair[2];
	pid_t child;

	for (int i = 0; i + 1 < threads; i += 2) {
		for (int k = 0; k < 2; k++)
			if (pthread_create(&pair[k], NULL, worker, NULL))
				return 1;
		for (int k = 0; k < 2; k++)
			pthread_join(pair[k], NULL);
	}
	child = fork();
	if (!child) {
		allocate();
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("checksum %d rounds %d\n", status, threads);
	return 0;
}
