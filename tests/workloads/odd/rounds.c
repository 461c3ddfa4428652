/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that jump back to their own first instruction: each is called 10 times, and goes round 200 times in each
 * call. With FLEES there is one more, which is left by longjmp every second time, and called again from the same place.
 */
#ifdef FLEES
#include <setjmp.h>
#endif
#include <stdio.h>

#define CALLS 10
#define ROUNDS 200

__asm__(".text\n"
	".macro function name\n.p2align 4\n.globl \\name\n.type \\name, @function\n\\name:\n.endm\n"
	".macro end name\n.size \\name, . - \\name\n.fill 200, 1, 0x90\n.endm\n"
	"function spin\n decq (%rdi)\n jg spin\n ret\nend spin\n"
	/* The probe is behind the first instructions: it is in the loop, too. */
	"function behind\n mov (%rdi), %rax\n test %rax, %rax\n je 1f\n decq (%rdi)\n jmp behind\n1: ret\nend behind\n"
	/* Back by way of code that lies elsewhere. */
	"function parted\n decq (%rdi)\n jg parted.cold\n ret\nend parted\n"
	".pushsection .text.unlikely, \"ax\"\n.fill 300, 1, 0x90\n.type parted.cold, @function\n"
	"parted.cold: inc %rax\n .byte 0xe9\n .long parted - . - 4\n.size parted.cold, . - parted.cold\n.popsection\n"
	/* Back by a jump table. */
	"function switched\n decq (%rdi)\n setg %al\n movzbl %al, %eax\n lea 1f(%rip), %rdx\n movslq (%rdx,%rax,4), %rax\n add %rdx, %rax\n"
	" jmp *%rax\n2: ret\nend switched\n"
	".pushsection .rodata\n.balign 4\n1: .long 2b - 1b, switched - 1b\n.popsection\n"
#ifdef FLEES
	"function fled\n decq (%rdi)\n jg fled\n test %esi, %esi\n jne flee\n ret\nend fled\n"
#endif
	/* No round: it calls itself. */
	"function recursive\n decq (%rdi)\n jle 1f\n call recursive\n1: ret\nend recursive\n");

void spin(volatile long *left), behind(volatile long *left), parted(volatile long *left), switched(volatile long *left);
void recursive(volatile long *left);

#ifdef FLEES
void fled(volatile long *left, int flees);

static jmp_buf back;

__attribute__((noipa, used)) void flee(void)
{
	longjmp(back, 1);
}
#endif

int main(void)
{
	volatile long left;

	for (volatile int i = 0; i < CALLS; i++) {
		left = ROUNDS, spin(&left);
		left = ROUNDS, behind(&left);
		left = ROUNDS, parted(&left);
		left = ROUNDS, switched(&left);
#ifdef FLEES
		if (!setjmp(back))
			left = ROUNDS, fled(&left, i & 1);
#endif
		left = 5, recursive(&left);
	}
	puts("done");
	return 0;
}
