/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that are left by siglongjmp out of a signal handler: the handler runs inside nested functions of the program,
 * on the same stack or on one of its own, and may itself call functions of the program. Afterwards the same functions
 * are called again and return.
 */
#include "tell.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#define NESTED 12
#define STACK  65536

static struct tale nest_tale = { .name = "nest" }, handle_tale = { .name = "handle" }, left_tale = { .name = "left" };
static sigjmp_buf back;
static char signal_stack[STACK];
static volatile long sum, jumped;
static volatile sig_atomic_t leave;
static volatile int *volatile nowhere;

long nest(long depth, long how);
long handle(long depth);
void left(long depth);

enum how { RETURN, JUMP, SIGNAL_RETURN, SIGNAL_JUMP, STACK_RETURN, STACK_JUMP, CRASH, WAYS };

/* On the way down; at the bottom the signal comes, as `how` says. */
OBSERVED long nest(long depth, long how)
{
	long below = 0;

	called(&nest_tale);
	if (depth > 0) {
		below = nest(depth - 1, how);
	} else if (how == JUMP) {
		siglongjmp(back, 1);
	} else if (how == CRASH) {
		leave = 1;
		*nowhere = 1;
	} else if (how != RETURN) {
		leave = how == SIGNAL_JUMP || how == STACK_JUMP;
		raise(how == SIGNAL_RETURN || how == SIGNAL_JUMP ? SIGUSR1 : SIGUSR2);
	}
	return returning(&nest_tale, below + depth);
}

/* Never returns. */
OBSERVED void left(long depth)
{
	called(&left_tale);
	if (depth > 0)
		left(depth - 1);
	else
		siglongjmp(back, 1);
	returning(&left_tale, 0);
}

/* In the handler, perhaps on a stack that lies above or below the one that was interrupted. */
OBSERVED long handle(long depth)
{
	called(&handle_tale);
	return returning(&handle_tale, depth > 0 ? handle(depth - 1) + 1 : 1);
}

static void handler(int number)
{
	sum += handle(3);
	if (leave)
		left(2);
}

static void one_round(long round)
{
	for (int how = 0; how < WAYS; how++) {
		if (sigsetjmp(back, 1) == 0)
			sum += nest(NESTED, how);
		else
			jumped++;
		/* Shallower and deeper than what was left. */
		sum += nest(0, RETURN) + nest(2 * NESTED, RETURN);
	}
}

int main(int argc, char **argv)
{
	stack_t alternate = { .ss_sp = signal_stack, .ss_size = STACK };
	struct sigaction here = { .sa_handler = handler }, there = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	struct job job = { .name = "jumps", .rounds = 10 };

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &here, NULL);
	sigaction(SIGUSR2, &there, NULL);
	sigaction(SIGSEGV, &there, NULL);
	tell_rounds(&job, argc, argv, NULL, one_round);
	tell_function(&nest_tale);
	tell_function(&handle_tale);
	tell_function(&left_tale);
	tell("jumped", jumped);
	tell("sum", sum);
	return 0;
}
