/* SPDX-License-Identifier: BSD-2-Clause */
#include "library.h"

#include <stdlib.h>

static long (*the_handler)(long);

__attribute__((noipa)) static long add(long n, long what)
{
	return n + what;
}

long nasty_leaf(long n)
{
	return 3 * n + 1;
}

long nasty_plain(long n)
{
	return add(add(n, 3), 3) + 1;
}

long nasty_spin(struct spin *spin)
{
	spin->entered = 1;
	while (!spin->leave)
		__asm__ volatile("pause");
	return 11;
}

long nasty_call(long (*f)(void *), void *argument)
{
	return f(argument) + 1;
}

void nasty_sort(long *values, long n, int (*order)(const void *, const void *))
{
	qsort(values, n, sizeof(values[0]), order);
	values[0] = add(values[0], 0);
}

long nasty_wait(sem_t *semaphore)
{
	return sem_wait(semaphore) + 5;
}

void nasty_set_handler(long (*handler)(long))
{
	the_handler = handler;
}

long nasty_trigger(long n)
{
	return add(the_handler(n), 0);
}
