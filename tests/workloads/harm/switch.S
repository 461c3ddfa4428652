/* SPDX-License-Identifier: BSD-2-Clause */
# void switch_stack(void **from, void *to): as user-level thread libraries do it, without libc's knowledge.
	.text
	.globl	switch_stack
	.type	switch_stack, @function
switch_stack:
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, (%rdi)
	mov	%rsi, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.size	switch_stack, . - switch_stack
	.section .note.GNU-stack, "", @progbits
