/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A 32-bit program, without any library: gaspbpf must say that it does not observe such. Sleeps for ten seconds at
 * most. The main function is _start; system calls are made by int 0x80.
 */
static long call(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}

void _start(void);

void _start(void)
{
	enum { EXIT = 1, WRITE = 4, NANOSLEEP = 162 };
	static const char text[] = "ready\n";
	long duration[2] = { 10, 0 };

	call(WRITE, 1, (long)text, sizeof(text) - 1);
	call(NANOSLEEP, (long)duration, 0, 0);
	call(EXIT, 0, 0, 0);
}
