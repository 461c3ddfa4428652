/* SPDX-License-Identifier: BSD-2-Clause */
/* A signal stack that is an array of main(), and is disarmed while its handler runs: the kernel does not know it then.
 * The handler takes a lock while one is taken below. */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define AUTODISARM (1U << 31) /* SS_AUTODISARM of linux/signal.h, which does not go with the C library's */

static omp_lock_t below, above;
static volatile long handled;

static void on_alarm(int number)
{
	(void)number;
	omp_set_lock(&above);
	omp_unset_lock(&above);
	handled++;
}

int main(void)
{
	char bytes[65536];
	stack_t stack = { .ss_sp = bytes, .ss_size = sizeof(bytes), .ss_flags = AUTODISARM };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct itimerval often = { { 0, 500 }, { 0, 500 } };

	omp_init_lock(&below);
	omp_init_lock(&above);
	if (sigaltstack(&stack, NULL))
		perror("sigaltstack");
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 500) {
		omp_set_lock(&below);
		omp_unset_lock(&below);
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	puts("done");
	return 0;
}
