/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocates and locks now and then for ten seconds at most. Built twice: static and stripped (libc is inside it, no
 * name is left), and as "golike", with the section by which Go programs are known.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef GO_SECTION
__attribute__((section(".go.buildinfo"), used)) static const char buildinfo[32] = "\xff Go buildinf:";
#endif

int main(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec rest = { 0, 10000000 };

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (int i = 0; i < 1000; i++) {
		void *block = malloc(100);

		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		free(block);
		nanosleep(&rest, NULL);
	}
	return 0;
}
