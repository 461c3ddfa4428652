/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_switch.c - bytes that load the stack pointer from elsewhere.
 *
 * Compilers do that in few ways only: from rbp, from a place in their own frame, or from a register that they had saved
 * it in, which survives calls. Everything else counts as a change of stacks:
 *
 *   mov (%rsi),%rsp    from memory outside the frame
 *   mov %rdi,%rsp      from a register that does not survive calls
 *   lea (%rdi),%rsp    the same
 *   add %rax,%rsp      by a distance that is worked out; also or, xor, cmov (a sub is how compilers make room)
 *   xchg ...,%rsp      pop %rsp, where other registers and a jump or return come next
 *
 * clang's alloca() looks like the second. That costs such programs the dearer way of seeing returns, and nothing else.
 */
#include "arch/instruction.h"

/* Bits of the registers that code of a compiler may load rsp from: rbx, rsp, rbp, r12 to r15. */
#define KEPT_REGISTERS ((1u << 3) | (1u << 4) | (1u << 5) | (1u << 12) | (1u << 13) | (1u << 14) | (1u << 15))

/*
 * lea, with these operands: from the frame, or from any register with a distance below it? gcc keeps the old stack
 * pointer in one where it aligns a frame anew, and goes back to it so: lea -0x10(%r10),%rsp.
 */
static bool is_lea_of_compilers(const uint8_t *code, uint8_t mod, uint8_t rm)
{
	uint8_t rex = code[0], base = (code[3] & 7) | (rex & 1 ? 8 : 0), index = code[3] >> 3 & 7;
	int8_t distance = code[3];

	if (rm == 4) /* a SIB byte */
		return index == 4 && !(rex & 2) && mod != 0 && KEPT_REGISTERS >> base & 1;
	rm |= rex & 1 ? 8 : 0;
	return (mod == 1 && distance < 0) || (mod != 0 && KEPT_REGISTERS >> rm & 1);
}

/* Do these bytes, which begin with a REX.W prefix, load the stack pointer from elsewhere? */
static bool loads_stack_pointer(const uint8_t *code)
{
	uint8_t rex = code[0], op = code[1], mod = code[2] >> 6, reg = (code[2] >> 3 & 7), rm = code[2] & 7;
	unsigned wide_reg = reg | (rex & 4 ? 8 : 0), wide_rm = rm | (rex & 1 ? 8 : 0);

	switch (op) {
	case 0x89: /* mov reg, r/m */
		return mod == 3 && wide_rm == 4 && !(KEPT_REGISTERS >> wide_reg & 1);
	case 0x8b: /* mov r/m, reg */
		if (wide_reg != 4)
			return false;
		if (mod == 3)
			return !(KEPT_REGISTERS >> wide_rm & 1);
		return wide_rm != 4 && !(wide_rm == 5 && mod != 0); /* not from the own frame */
	case 0x87:                                                  /* xchg */
		return wide_reg == 4 || (mod == 3 && wide_rm == 4);
	case 0x8d: /* lea */
		return wide_reg == 4 && mod != 3 && !is_lea_of_compilers(code, mod, code[2] & 7);
	case 0x01:
	case 0x09:
	case 0x31: /* add, or, xor reg, r/m */
		return mod == 3 && wide_rm == 4;
	case 0x03:
	case 0x0b:
	case 0x33: /* add, or, xor r/m, reg */
		return wide_reg == 4;
	case 0x0f: /* cmovcc r/m, reg */
		return (code[2] & 0xf0) == 0x40 && (code[3] >> 3 & 7) == 4 && !(rex & 4);
	default:
		return false;
	}
}

/* Do these bytes begin with pop %rsp, and then other registers and the way out? The one byte alone would be found
 * everywhere. */
static bool pops_stack_pointer(const uint8_t *code, size_t size)
{
	size_t at = 1;

	if (code[0] != 0x5c)
		return false;
	while (at < size) {
		if (code[at] == 0x41 && at + 1 < size && (code[at + 1] & 0xf8) == 0x58)
			at += 2;
		else if ((code[at] & 0xf8) == 0x58)
			at++;
		else
			break;
	}
	return at < size && (code[at] == 0xc3 || code[at] == 0xff || code[at] == 0xe9 || code[at] == 0xeb);
}

#define ANY 0x100 /* makes a value that no byte has by chance */
#define IS(mask, value)             \
	{                           \
		mask, ANY | (value) \
	}
#define TO_RSP IS(0xc7, 0xc4)    /* register to register, and the second may be rsp */
#define FROM_REST IS(0x38, 0x20) /* the first may be rsp */

/*
 * What the third byte must be behind a REX.W prefix and this one. A tenth of a library's bytes may be such a prefix.
 * This leaves few of them, and without a branch that the processor would have to guess.
 */
static const struct {
	uint8_t mask;
	uint16_t value; /* 0: it cannot be */
} third_bytes[256] = {
	[0x01] = TO_RSP,         [0x03] = FROM_REST, [0x09] = TO_RSP,    [0x0b] = FROM_REST,
	[0x0f] = IS(0xf0, 0x40), [0x31] = TO_RSP,    [0x33] = FROM_REST, [0x87] = IS(0, 0),
	[0x89] = TO_RSP,         [0x8b] = FROM_REST, [0x8d] = FROM_REST,
};

size_t instruction_find_switch(const uint8_t *code, size_t at, size_t size)
{
	for (; at + SWITCH_LEAST <= size; at++) {
		const uint8_t *c = code + at;
		bool wide = (c[0] & 0xf8) == 0x48;
		bool loads = wide & ((ANY | (c[2] & third_bytes[c[1]].mask)) == third_bytes[c[1]].value);

		if ((loads | (c[0] == 0x5c)) && (loads ? loads_stack_pointer(c) : pops_stack_pointer(c, size - at)))
			return at;
	}
	return size;
}
