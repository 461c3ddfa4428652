/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function for each kind of place that a probe can have. They do nothing, so that what is timed is the probe.
 *
 *   site_push     a push: the kernel emulates it
 *   site_endbr    endbr64, which is single-stepped, and behind it a push: gaspbpf moves its probe there
 *   site_test     test, which is single-stepped, and behind it a jump: the same (glibc's free() begins so)
 *   site_step     stepped, and nothing cheaper near
 *   site_many_N   2,000 of the kind of site_push
 */
	.macro	function name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	.macro	done name
	ret
	.size	\name, . - \name
	.endm

	.text
	function site_push
	push	%rbp
	pop	%rbp
	done	site_push

	function site_endbr
	endbr64
	push	%rbp
	pop	%rbp
	done	site_endbr

	function site_test
	test	%rdi, %rdi
	je	1f
	nop
1:
	done	site_test

	function site_step
	mov	%rdi, %rax
	done	site_step

	/* site_many_0 ... site_many_1999, all alike, and a table of them */
	.altmacro
	.macro	many name
	function site_many_\name
	push	%rbp
	pop	%rbp
	done	site_many_\name
	.section .data.rel.ro.site_many, "aw", @progbits
	.quad	site_many_\name
	.text
	.endm

	.section .data.rel.ro.site_many, "aw", @progbits
	.globl	site_many
	.type	site_many, @object
	.balign	8
site_many:
	.text

	.set	count, 0
	.rept	2000
	many	%count
	.set	count, count + 1
	.endr
	.noaltmacro

	.section .note.GNU-stack, "", @progbits
