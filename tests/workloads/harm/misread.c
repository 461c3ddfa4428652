/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions whose first instruction the kernel takes for another one when a breakpoint is on it: xchg with r8 for a
 * nop, vpor for a jump, vmovdqu for a conditional one. Their only other instruction is ret, so there is no better
 * place.
 */
#include <stdio.h>
#include <string.h>

long exchange(long a, long b, long c, long d, long value);
void join(const void *left, const void *right, void *out);
void copy(void *out);

__asm__(".text\n"
	".globl exchange\n.type exchange, @function\nexchange:\n\txchg %rax, %r8\n\tret\n.size exchange, . - exchange\n"
	".globl join\n.type join, @function\njoin:\n\tvpor (%rdi), %xmm1, %xmm0\n\tret\n.size join, . - join\n"
	".globl copy\n.type copy, @function\ncopy:\n\tvmovdqu %xmm0, (%rdi)\n\tret\n.size copy, . - copy\n");

int main(void)
{
	unsigned char ones[16], out[16];
	long sum = 0;

	for (int i = 0; i < 100; i++)
		sum += exchange(0, 0, 0, 0, i);
	if (__builtin_cpu_supports("avx")) {
		memset(ones, 1, sizeof(ones));
		memset(out, 0, sizeof(out));
		for (int i = 0; i < 100; i++) {
			__asm__ volatile(
				"vpxor %%xmm0, %%xmm0, %%xmm0\n\tvpxor %%xmm1, %%xmm1, %%xmm1\n\tmov %0, %%rdi\n\tcall join\n\tmov %1, %%rdi\n\tcall copy"
				:
				: "r"(ones), "r"(out)
				: "rdi", "xmm0", "xmm1", "memory");
			sum += out[3];
		}
	} else {
		sum += 100;
	}
	printf("sum %ld\n", sum);
	return 0;
}
