/* SPDX-License-Identifier: BSD-2-Clause */
/* Coroutines by setjmp() and longjmp() on pieces of one stack: no code loads the stack pointer but longjmp's. solve()
 * yields in its midst. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf home, coroutines[2];
static int current;
static volatile int done[2];
static volatile long total;

static void yield(void)
{
	if (!_setjmp(coroutines[current]))
		_longjmp(home, 1);
}

__attribute__((noinline)) long solve(long n)
{
	long sum = n;

	for (int i = 0; i < 3; i++) {
		sum += i;
		yield();
	}
	return sum;
}

static void __attribute__((noinline)) begin(int me)
{
	if (!_setjmp(coroutines[me]))
		_longjmp(home, 1);
	for (int i = 0; i < 5; i++)
		total += solve(i);
	done[me] = 1;
	for (;;) {
		current = me;
		yield();
	}
}

/* The room below is jumped over, not written to. */
static void __attribute__((noinline)) make(int me, int bytes)
{
	char *volatile room = __builtin_alloca(bytes);

	(void)room;
	begin(me);
}

int main(void)
{
	volatile int i;

	for (i = 0; i < 2; i++)
		if (!_setjmp(home))
			make(i, 100000 + i * 300000);
	for (i = 0; i < 100 && !(done[0] && done[1]); i++)
		if (!_setjmp(home)) {
			current = i & 1;
			_longjmp(coroutines[i & 1], 1);
		}
	printf("total %ld\n", total);
	return 0;
}
