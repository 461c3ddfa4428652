/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two user-level threads that take turns by swapcontext inside a function: both have a call of turn() in progress, on
 * stacks of their own, when the other one enters it. A return address changed on the wrong stack kills this program. A
 * signal handler on an alternate stack calls on_signal_stack() in between.
 */
#include "job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK 65536

static struct job job = { .name = "contexts", .rank = -1, .rounds = 20 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static ucontext_t scheduler, fibers[2];
static char stacks[2][STACK], signal_stack[STACK];
static uint64_t sum;

long turn(int who, long n);
long on_signal_stack(long n);

/* Begins, lets the other one run, goes on, and does the same one level deeper. */
__attribute__((noipa)) long turn(int who, long n)
{
	long below = 0;

	count_call(counts, "turn", 0);
	swapcontext(&fibers[who], &fibers[!who]);
	if (n > 0)
		below = turn(who, n - 1);
	swapcontext(&fibers[who], &fibers[!who]);
	return below + n + who;
}

__attribute__((noipa)) long on_signal_stack(long n)
{
	count_call(counts, "on_signal_stack", 0);
	return n == 0 ? 1 : on_signal_stack(n - 1) + 1;
}

static void handler(int number)
{
	sum += on_signal_stack(3);
}

static void fiber(int who)
{
	sum += turn(who, 3);
	swapcontext(&fibers[who], who == 0 ? &fibers[1] : &scheduler);
	abort();
}

static void one_round(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks[i];
		fibers[i].uc_stack.ss_size = STACK;
		makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
	}
	raise(SIGUSR1);
	swapcontext(&scheduler, &fibers[0]);
}

int main(int argc, char **argv)
{
	stack_t alternate = { .ss_sp = signal_stack, .ss_size = STACK };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	long rounds = 0;

	job_options(&job, argc, argv, NULL);
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < job.warmup; i++)
		one_round();
	sum = 0;
	job_begin(&job);
	counts = &counted;
	for (; job_more(&job, rounds); rounds++)
		one_round();
	counts = &thrown_away;
	job_finish(&job);
	uint64_t result = job_mix(sum);
	for (long i = 0; i < job.after; i++)
		one_round();
	printf("checksum %016lx rounds %ld\n", result, rounds);
	return job_truth(&job, rounds, result, &counted, NULL, 0);
}
