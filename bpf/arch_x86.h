/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch_x86.h - x86-64. See bpf/arch.h; the ABI is the System V ABI, AMD64 supplement.
 */
#ifndef GASPBPF_BPF_ARCH_X86_H
#define GASPBPF_BPF_ARCH_X86_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "gaspbpf/arch.h"

#define RETURN_WORD 8 /* bytes that a call puts on the stack: the return address */

static __always_inline __u64 arch_ip(const struct pt_regs *ctx)
{
	return ctx->ip;
}

static __always_inline __u64 arch_sp(const struct pt_regs *ctx)
{
	return ctx->sp;
}

/* The stack pointer as it was at the function's first instruction, now that it has returned. */
static __always_inline __u64 arch_sp_before(const struct pt_regs *ctx)
{
	return ctx->sp - RETURN_WORD;
}

/* The return address, from the stack pointer at the function's first instruction. 0, or it cannot be read. */
static __always_inline long arch_return_address(__u64 sp, __u64 *address)
{
	return bpf_probe_read_user(address, sizeof(*address), (void *)sp);
}

/* Does a direct call return there, to something within this code, or one through the table that the linker fills in? */
static __noinline __attribute__((unused)) int arch_is_direct_call(__u64 caller, __u64 code, __u32 size)
{
	struct {
		__u8 start[3], last[5];
	} before = { 0 };
	__s32 distance;

	if (bpf_probe_read_user(&before, sizeof(before), (void *)(caller - sizeof(before))))
		return 0;
	if (before.start[2] == 0xff && before.last[0] == 0x15)
		return 1; /* call *distance(%rip) */
	__builtin_memcpy(&distance, &before.last[1], sizeof(distance));
	return before.last[0] == 0xe8 && caller + distance - code < size;
}

/* The integer argument registers. At fixed places, one by one: the verifier wants the context read so. */
static __always_inline void arch_take_arguments(const struct pt_regs *ctx, volatile __u64 *to)
{
	to[0] = ctx->di;
	to[1] = ctx->si;
	to[2] = ctx->dx;
	to[3] = ctx->cx;
	to[4] = ctx->r8;
	to[5] = ctx->r9;
}

/* The words of an integer result. */
static __always_inline void arch_take_result(const struct pt_regs *ctx, __u64 *first, __u64 *second)
{
	*first = ctx->ax;
	*second = ctx->dx;
}

/* Does a conditional branch (instruction_condition()) branch? Its low bit turns the meaning round. */
static __always_inline bool arch_condition_holds(const struct pt_regs *ctx, __u32 condition)
{
	__u64 flags = ctx->flags;
	bool carry = flags & 0x1, parity = flags & 0x4, zero = flags & 0x40, sign = flags & 0x80,
	     overflow = flags & 0x800;
	bool holds;

	switch (condition >> 1) {
	case 0:
		holds = overflow;
		break;
	case 1:
		holds = carry;
		break;
	case 2:
		holds = zero;
		break;
	case 3:
		holds = carry || zero;
		break;
	case 4:
		holds = sign;
		break;
	case 5:
		holds = parity;
		break;
	case 6:
		holds = sign != overflow;
		break;
	default:
		holds = zero || sign != overflow;
	}
	return holds != (condition & 1);
}

/* The thread's control block. */
static __always_inline __u64 arch_thread_pointer(const struct task_struct *task)
{
	return task->thread.fsbase;
}

/* A thread's registers as it last came into the kernel, by DWARF's numbers. */
static __always_inline void arch_take_registers(const struct pt_regs *regs, __u64 to[GB_LOOK_REGISTERS])
{
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
	to[16] = regs->ip;
}

/* The number of the system call that it is in; negative: in none. */
static __always_inline __u64 arch_system_call(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

#endif
