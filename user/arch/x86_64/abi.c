/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abi.c - how calls are made on x86-64: the System V ABI, AMD64 supplement.
 */
#include <sys/ptrace.h>
#include <sys/user.h>

#include "arch/arch.h"

#define VECTOR_REGISTERS 8 /* that arguments are passed in */

const char *const arch_argument_names[GB_REGISTERS] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
const uint8_t arch_arguments[GB_REGISTERS] = { 5, 4, 1, 2, 8, 9 };
const uint8_t arch_call_arguments[6] = { 5, 4, 1, 10, 8, 9 }; /* r10 in the place of rcx, which the call takes */
const uint8_t arch_sampled[GB_LOOK_REGISTERS] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 };

bool arch_keeps(int reg)
{
	return reg == 3 /* rbx */ || reg == REGISTER_FRAME || reg == REGISTER_SP || (reg >= 12 && reg <= 15);
}

bool arch_stopped_at(pid_t tid, uint64_t *address)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, tid, 0, &registers))
		return false;
	*address = registers.rip;
	return true;
}

struct arguments arguments_begin(bool hidden_result)
{
	return (struct arguments){ .integers = hidden_result };
}

enum argument_place arguments_next(struct arguments *arguments, enum argument_class class, unsigned words,
				   bool aligned16, unsigned *at)
{
	if (class == ARGUMENT_INTEGER && arguments->integers + words <= GB_REGISTERS) {
		*at = arguments->integers;
		arguments->integers += words;
		return IN_INTEGER_REGISTER;
	}
	if (class == ARGUMENT_FLOAT && arguments->floats + words <= VECTOR_REGISTERS) {
		*at = arguments->floats;
		arguments->floats += words;
		return IN_FLOAT_REGISTER;
	}
	if (aligned16)
		arguments->stack += arguments->stack % 2;
	*at = arguments_stack_word(arguments->stack);
	arguments->stack += words;
	return ON_STACK;
}

/* The return address comes first. */
unsigned arguments_stack_word(unsigned index)
{
	return ARCH_RETURN_WORD + 8 * index;
}

enum relocation arch_relocation(uint32_t type)
{
	switch (type) {
	case R_X86_64_RELATIVE:
		return RELOCATION_BASE;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		return RELOCATION_SLOT;
	case R_X86_64_64:
		return RELOCATION_SYMBOL;
	default:
		return RELOCATION_OTHER;
	}
}
