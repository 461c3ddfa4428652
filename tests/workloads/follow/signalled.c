/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread loads and unloads a library ROUNDS times, while another sends it SIGURG without a pause, the next one as
 * soon as the last one has come: each has to. (Go's runtime preempts its threads in this way.)
 */
#include "follow.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int came, over;

static void on_signal(int number)
{
	(void)number;
	came++;
}

/* One that is lost is waited for until the end. */
static void *send(void *to)
{
	long sent = 0;

	while (!over) {
		pthread_kill(*(pthread_t *)to, SIGURG);
		for (sent++; came < sent && !over;)
			;
	}
	return (void *)sent;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	pthread_t self = pthread_self(), sender;
	void *sent, *library;

	signal(SIGURG, on_signal);
	if (pthread_create(&sender, NULL, send, &self))
		return 97;
	for (long i = 0; i < rounds; i++) {
		library = dlopen("libeager.so", RTLD_NOW);
		if (!library)
			return 98;
		dlclose(library);
	}
	over = 1;
	pthread_join(sender, &sent);
	printf("%ld of those sent are missing\n", (long)sent - came);
	return 0;
}
