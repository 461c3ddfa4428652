/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants stand among a function's code, and read like its last instructions. As code knows exceptions, ends are seen by breakpoints on those. */
#include <cstdio>
#include <stdexcept>

extern "C" unsigned long behind(unsigned long which);
extern "C" unsigned long amidst(unsigned long which);

#define CONSTANTS "1:\t.quad 0xc3c3c3c3c3c3c3c3, 0x5bc35bc35bc35bc3, 0x55c355c355c355c3, 0x9090c39090c39090\n"

asm(".text\n"
    ".globl behind\n.type behind, @function\nbehind:\n\tpush %rbx\n\tlea 1f(%rip), %rax\n\tmov (%rax,%rdi,8), %rax\n\tpop %rbx\n\tret\n" CONSTANTS
    ".size behind, . - behind\n"
    ".globl amidst\n.type amidst, @function\namidst:\n\tpush %rbx\n\tjmp 2f\n" CONSTANTS
    "2:\tlea 1b(%rip), %rax\n\tmov (%rax,%rdi,8), %rax\n\tpop %rbx\n\tret\n.size amidst, . - amidst\n");

int main()
{
	unsigned long sum = 0;

	try {
		for (unsigned long i = 0; i < 1000; i++)
			sum = sum * 31 + behind(i & 3) + 7 * amidst(i & 3);
		if (sum == 12)
			throw std::runtime_error("twelve");
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
	std::printf("sum %lx\n", sum);
	return 0;
}
