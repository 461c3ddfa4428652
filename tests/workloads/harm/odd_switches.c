/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A coroutine on a piece of the thread's own stack, left and entered inside OpenMP regions. HOW chooses the instruction
 * that changes the stack pointer.
 */
#include <stdio.h>

#define ROUNDS 50
#define STACK (1 << 17)

static void *of_main, *of_coroutine;
static volatile int steps;

void change(void **save, void **load);
__asm__(".text\n"
	"change:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
#if HOW == 1
	"	mov (%rsi), %rax\n	sub %rsp, %rax\n	add %rax, %rsp\n"
#elif HOW == 2
	"	mov (%rsi), %rax\n	lea (%rax), %rsp\n"
#elif HOW == 3
	"	mov (%rsi), %rax\n	cmp %rax, %rax\n	cmove %rax, %rsp\n"
#elif HOW == 4
	"	pushq (%rsi)\n	pop %rsp\n"
#else
	"	mov (%rsi), %rax\n	xor %rsp, %rax\n	xor %rax, %rsp\n"
#endif
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n");

static void coroutine(void)
{
	for (;;) {
#pragma omp parallel num_threads(1)
		{
			steps++;
			change(&of_coroutine, &of_main);
		}
	}
}

static void visit(void)
{
#pragma omp parallel num_threads(1)
	{
		change(&of_main, &of_coroutine);
		steps++;
	}
}

int main(void)
{
	char stack[STACK] __attribute__((aligned(16)));
	void **top = (void **)(stack + STACK - 64);

	*--top = NULL; /* where the coroutine would return to */
	*--top = coroutine;
	of_coroutine = top - 6;
	for (int i = 0; i < ROUNDS; i++)
		visit();
	printf("steps %d\n", steps);
	return 0;
}
