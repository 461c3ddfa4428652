/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entries.S - where programs enter libpupc.
 *
 * Each function begins with a nop of one byte, which the kernel emulates when it is probed. (One of five bytes would be cheaper on
 * Linux 6.18, which makes a call of it; but children made by fork die of that.) Nobody watching, an event costs a call, the nops and a return.
 */
	.macro	entry name, align=16
	.globl	\name
	.type	\name, @function
	.balign	\align
\name:
	.cfi_startproc
	nop
	.endm

	.macro	finish name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/*
	 * Floating point values come in vector registers, which no probe can read, and al says that there may be some. The first four are
	 * stored in the red zone, and a call is observed at _reals or at _plain (models/pupc.model). The nop at _reals has one byte: what
	 * newer kernels make of one with five writes below the stack pointer.
	 */
	.macro	announce name
	entry	\name
	testb	%al, %al
	jnz	1f
	finish	\name

	entry	\name\()_plain, 1
	ret
1:	movsd	%xmm0, -32(%rsp)
	movsd	%xmm1, -24(%rsp)
	movsd	%xmm2, -16(%rsp)
	movsd	%xmm3, -8(%rsp)
	finish	\name\()_plain

	.globl	\name\()_reals
	.type	\name\()_reals, @function
\name\()_reals:
	.cfi_startproc
	nop
	ret
	finish	\name\()_reals
	.endm

	.text

	announce pupc_event_start
	announce pupc_event_end
	announce pupc_event_atomic

	entry	pupc_create_event
	jmp	pupc_create_event_body
	finish	pupc_create_event

	entry	pupc_control
	jmp	pupc_control_body
	finish	pupc_control

	/* FORTRAN 77's: the number by reference, and no values. */
	.macro	by_reference name
	entry	\name\()_
	movl	(%rdi), %edi
	xorl	%eax, %eax
	jmp	*\name@GOTPCREL(%rip)
	finish	\name\()_
	.endm

	by_reference pupc_event_start
	by_reference pupc_event_end
	by_reference pupc_event_atomic

	/* PUPC 1.1's text and examples have these names, too. */
	.globl	pupc_start, pupc_end, pupc_event_stop
	.type	pupc_start, @function
	.type	pupc_end, @function
	.type	pupc_event_stop, @function
	.set	pupc_start, pupc_event_start
	.set	pupc_end, pupc_event_end
	.set	pupc_event_stop, pupc_event_end

	.section .note.GNU-stack, "", @progbits
