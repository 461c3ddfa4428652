/* SPDX-License-Identifier: BSD-2-Clause */
/* libcalls.so: a runtime that nobody knows beforehand. One function, and it does nothing. */
void calls_step(int number);

void calls_step(int number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
}
