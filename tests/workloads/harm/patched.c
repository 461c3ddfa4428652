/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a jump over the first instructions of a function of its own, as hooks and live patches do, and calls it while
 * it is joined. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

long compute(long x);
static __attribute__((noinline, used)) long other(long x) { return x + 1000; }

__asm__(".text\n.p2align 4\n.globl compute\n.type compute, @function\ncompute:\n\tmov %rdi, %rax\n\tpush %rbx\n\tmov %rax, %rbx\n\tadd $1, %rax\n"
	"\tpush %rbp\n\tpop %rbp\n\tpop %rbx\n\tret\n.size compute, . - compute\n");

__attribute__((noinline)) long steady(long x)
{
	__asm__ volatile("");
	return x - 1;
}

int main(void)
{
	uint8_t *code = (uint8_t *)compute, *page = (uint8_t *)((uintptr_t)code & ~4095ul);
	int32_t distance = (uint8_t *)other - (code + 5);
	long sum = 0;

	if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	code[0] = 0xe9;
	memcpy(code + 1, &distance, sizeof(distance));
	if (mprotect(page, 8192, PROT_READ | PROT_EXEC))
		return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() == 'c')
		for (int i = 0; i < 100; i++)
			sum += compute(i) + steady(i);
	printf("sum %ld\n", sum);
	return 0;
}
