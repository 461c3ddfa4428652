/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dispatched.c - system calls come back to the program itself while `solve` runs (Syscall User Dispatch), as an
 * emulator of another system has it. A return probe's own system call would, too.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif
#define CALLS 50

static volatile char blocks; /* 0: system calls are the kernel's */
static volatile int dispatched;

__attribute__((noinline)) int solve(int n)
{
	__asm__ volatile("" : : : "memory");
	return n * 2;
}

/* A system call inside of an observed function is still the program's own. */
__attribute__((noinline)) long ask(void)
{
	long result = SYS_getppid;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
	return result;
}

static void take(int number, siginfo_t *how, void *context)
{
	(void)number, (void)how, (void)context;
	blocks = 0;
	dispatched++;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = take, .sa_flags = SA_SIGINFO };
	int sum = 0;

	sigaction(SIGSYS, &action, NULL);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L, &blocks)) {
		puts("the kernel cannot");
		return 77;
	}
	for (int i = 0; i < CALLS; i++) {
		blocks = 1;
		sum += solve(i);
		blocks = 0;
	}
	blocks = 1;
	ask();
	blocks = 0;
	printf("sum %d dispatched %d\n", sum, dispatched);
	return 0;
}
