/*
 * entries.S - where programs enter libpupc.
 *
 * Each function begins with a nop of five bytes, which newer kernels turn into a call when it is probed: half the price of a
 * breakpoint. Nobody watching, an event costs a call, the nop and a return.
 */
	.macro	entry name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.cfi_startproc
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00	/* nopl 0(%rax,%rax,1) */
	.endm

	.macro	finish name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text

	entry	pupc_event_start
	ret
	finish	pupc_event_start

	entry	pupc_event_end
	ret
	finish	pupc_event_end

	entry	pupc_event_atomic
	ret
	finish	pupc_event_atomic

	entry	pupc_create_event
	jmp	pupc_create_event_body
	finish	pupc_create_event

	entry	pupc_control
	jmp	pupc_control_body
	finish	pupc_control

	/* PUPC 1.1's text and examples have these names, too. */
	.globl	pupc_start, pupc_end, pupc_event_stop
	.type	pupc_start, @function
	.type	pupc_end, @function
	.type	pupc_event_stop, @function
	.set	pupc_start, pupc_event_start
	.set	pupc_end, pupc_event_end
	.set	pupc_event_stop, pupc_event_end

	.section .note.GNU-stack, "", @progbits
