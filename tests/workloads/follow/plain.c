/* SPDX-License-Identifier: BSD-2-Clause */
/* libplain.so: a library as libc is one, that everything may use; its model joins where there is no parallel runtime. */
void plain_take(int number);

void plain_take(int number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
}
