/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that stand in calls whose arguments come from everywhere: constants, registers, the stack frame, memory.
 * stands() never returns. Each caller says on standard output what it passes: "TID A B C D".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASES 8

/* A call, not a jump. */
#define STANDS(...) do { stands(__VA_ARGS__); __asm__ volatile("" : : : "memory"); } while (0)

static pthread_barrier_t said;
long number = 1000;
volatile long changes = 5;
static long *leaked;

/* Every register that a call may change is changed. */
__attribute__((noipa)) void stands(long a, int b, const void *c, unsigned long d);
__attribute__((noipa)) void stands(long a, int b, const void *c, unsigned long d)
{
	pthread_barrier_wait(&said);
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
	__asm__ volatile("" : : : "rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10", "r11");
	for (;;)
		pause();
}

__attribute__((noipa)) static long opaque(long value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static void say(long a, int b, const void *c, unsigned long d)
{
	printf("%d %ld %d %p %lu\n", gettid(), a, b, c, d);
	fflush(stdout);
}

__attribute__((noipa)) static void constants(void)
{
	say(1, -2, NULL, 4000000000UL);
	STANDS(1, -2, NULL, 4000000000UL);
}

__attribute__((noipa)) static void parameters(long a, int b, const char *c, unsigned long d)
{
	say(a, b, c, d);
	STANDS(a, b, c, d);
}

__attribute__((noipa)) static void computed(long a)
{
	long x = opaque(a * 3), y = opaque(x + 1);

	say(x, (int)y, &number, (unsigned long)x ^ 1);
	STANDS(x, (int)y, &number, (unsigned long)x ^ 1);
}

__attribute__((noipa)) static void own_frame(long a)
{
	char room[64];

	memset(room, (int)a, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	say(a, 0, room, sizeof(room));
	STANDS(a, 0, room, sizeof(room));
}

/* What is passed is changed in memory later: it must not be told as certain. */
__attribute__((noipa)) static void leaks(long a)
{
	long local = opaque(a);

	leaked = &local;
	say(local, (int)local, &local, changes);
	STANDS(local, (int)local, &local, changes);
	__asm__ volatile("" : : "r"(&local) : "memory");
}

__attribute__((noipa)) static void branches(long a)
{
	say(a, a > 10 ? 2 : a > 5 ? 3 : 1, NULL, 1);
	for (long i = 0; i < opaque(3); i++)
		if (i == opaque(1))
			STANDS(a, a > 10 ? 2 : a > 5 ? 3 : 1, NULL, (unsigned long)i);
}

__attribute__((noipa)) static void switched(long a)
{
	long b = 0;

	switch (opaque(a)) {
	case 0: b = 10; break;
	case 1: b = opaque(11); break;
	case 2: b = 12; break;
	case 3: b = opaque(13); break;
	case 4: b = 14; break;
	case 7: b = opaque(17); break;
	default: b = 20;
	}
	say(b, (int)a, NULL, (unsigned long)b);
	STANDS(b, (int)a, NULL, (unsigned long)b);
}

static void *run(void *argument)
{
	switch ((int)(intptr_t)argument) {
	case 0: constants(); break;
	case 1: parameters(-5, 6, "seven", 8); break;
	case 2: computed(14); break;
	case 3: own_frame(99); break;
	case 4: leaks(31); break;
	case 5: branches(7); break;
	case 6: switched(3); break;
	case 7: parameters(opaque(1L << 40), -1, (const char *)&number, ~0UL); break;
	}
	return NULL;
}

int main(void)
{
	pthread_t id;

	pthread_barrier_init(&said, NULL, CASES + 1);
	for (int i = 0; i < CASES; i++)
		if (pthread_create(&id, NULL, run, (void *)(intptr_t)i))
			return 1;
	pthread_barrier_wait(&said);
	*(volatile long *)leaked = 666;
	changes = 667;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
