/* SPDX-License-Identifier: BSD-2-Clause */
/* Preemptive user-level threads whose stacks are arrays of main(): a timer's handler switches between them, in the
 * midst of OpenMP's locks. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#define THREADS 3

static ucontext_t contexts[THREADS], home;
static volatile int now, ended;
static volatile long work[THREADS];
static double until;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void switch_to_next(int number)
{
	int from = now;

	(void)number;
	now = (now + 1) % THREADS;
	swapcontext(&contexts[from], &contexts[now]);
}

static void mask_timer(int how)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	sigprocmask(how, &mask, NULL);
}

static void run(int me)
{
	static omp_lock_t locks[THREADS];

	omp_init_lock(&locks[me]);
	mask_timer(SIG_UNBLOCK);
	for (; seconds() < until; work[me]++)
		for (int i = 0; i < 100; i++) {
			omp_set_lock(&locks[me]);
			omp_unset_lock(&locks[me]);
		}
	mask_timer(SIG_BLOCK);
	if (++ended == THREADS)
		setcontext(&home);
	for (;;)
		switch_to_next(0);
}

int main(void)
{
	char stacks[THREADS][65536];
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction action = { .sa_handler = switch_to_next, .sa_flags = SA_RESTART };

	until = seconds() + 2;
	mask_timer(SIG_BLOCK);
	for (int i = 0; i < THREADS; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&contexts[i], (void (*)(void))run, 1, i);
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	if (!ended)
		swapcontext(&home, &contexts[0]);
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	printf("done %d\n", work[0] > 0 && work[1] > 0 && work[2] > 0);
	return 0;
}
