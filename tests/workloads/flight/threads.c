/* SPDX-License-Identifier: BSD-2-Clause */
/* Four threads take turns at a lock; then three wait at a barrier that the first one reaches only when GATE/late is
 * there. */
#include <pthread.h>
#include <stdatomic.h>

#include "log.h"

static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int through;

static void *work(void *argument)
{
	long number = (long)argument;
	void *block = NULL;

	log_open(number);
	gate_wait("go");
	for (long i = 0; i < rounds; i++) {
		DO("GASP_PTHREAD_MUTEX_LOCK", pthread_mutex_lock(&mutex));
		DO("GASP_PTHREAD_MUTEX_UNLOCK", pthread_mutex_unlock(&mutex));
		DO("GASP_C_MALLOC", block = malloc(100 + i % 50));
		DO("GASP_C_FREE", free(block));
	}
	if (!number)
		gate_wait("late");
	DO("GASP_PTHREAD_BARRIER_WAIT", pthread_barrier_wait(&barrier));
	through++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	flight_options(argc, argv);
	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 1; i < 4; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	gate_mark("ready", 0);
	work((void *)0);
	while (through < 4)
		usleep(1000);
	gate_mark("done", 0);
	gate_wait("end");
	_exit(getenv("FLIGHT_STATUS") ? atoi(getenv("FLIGHT_STATUS")) : 0);
}
