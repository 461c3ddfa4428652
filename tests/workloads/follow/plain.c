/* SPDX-License-Identifier: BSD-2-Clause */
/* libplain.so: a library as libc is one, that everything may use; its model joins where there is no parallel runtime. */
#include <unistd.h>

void plain_take(int number);
void plain_hold(volatile int until[2]);

void plain_take(int number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
}

/* Says that it is in, and returns once the first one is not 0 any more. */
void plain_hold(volatile int until[2])
{
	until[1] = 1;
	while (!*until)
		usleep(1000);
}
