/* SPDX-License-Identifier: BSD-2-Clause */
/* Built with -fsanitize=address: at its end it traces its own process, to look for leaks. Nobody else may do so then.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *result)
{
	for (int i = 0; i < 100; i++)
		free(malloc(100));
	return result;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	printf("no leak\n");
	return 0;
}
