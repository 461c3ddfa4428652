/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * length.c - how long is this instruction? Of the common ones, from their bytes.
 *
 * Most of the time that gaspbpf spends on a file goes into stepping through code, and a disassembler takes some 400 ns
 * for an instruction, mostly to write its text. Nine of ten instructions are of a few forms whose length is plain.
 * Those are told here, in a few ns; all else is left to the disassembler, also what may be no instruction at all. So
 * this need not be complete, but whatever it says must be what the disassembler says: tests/unit/length_test.c compares
 * them.
 *
 * Sources: Intel SDM volume 2, chapter 2 (formats) and appendix A (opcode maps).
 */
#include <stdbool.h>

#include "arch/instruction.h"

/* What follows an opcode. */
enum {
	ASK,          /* left to the disassembler */
	PLAIN,        /* nothing */
	BYTE,         /* an immediate or a displacement of 8 bits, */
	WORD,         /* of 32, with a 66 prefix of 16 bits, */
	BRANCH,       /* of 32 bits, where a 66 prefix would be odd, */
	WIDE,         /* of 32, with REX.W of 64 bits */
	OPERAND,      /* ModRM and what that asks for, */
	OPERAND_BYTE, /* and 8 bits behind it, */
	OPERAND_WORD, /* or 32 or 16 bits */
	MEMORY,       /* ModRM, but not of two registers */
	GROUP,        /* ModRM whose middle bits choose the instruction */
};

static const uint8_t one_byte[256] = {
	[0x00 ... 0x03] = OPERAND,
	[0x04] = BYTE,
	[0x05] = WORD,
	[0x08 ... 0x0b] = OPERAND,
	[0x0c] = BYTE,
	[0x0d] = WORD,
	[0x10 ... 0x13] = OPERAND,
	[0x14] = BYTE,
	[0x15] = WORD,
	[0x18 ... 0x1b] = OPERAND,
	[0x1c] = BYTE,
	[0x1d] = WORD,
	[0x20 ... 0x23] = OPERAND,
	[0x24] = BYTE,
	[0x25] = WORD,
	[0x28 ... 0x2b] = OPERAND,
	[0x2c] = BYTE,
	[0x2d] = WORD,
	[0x30 ... 0x33] = OPERAND,
	[0x34] = BYTE,
	[0x35] = WORD,
	[0x38 ... 0x3b] = OPERAND,
	[0x3c] = BYTE,
	[0x3d] = WORD,
	[0x50 ... 0x5f] = PLAIN,
	[0x63] = OPERAND,
	[0x68] = WORD,
	[0x69] = OPERAND_WORD,
	[0x6a] = BYTE,
	[0x6b] = OPERAND_BYTE,
	[0x70 ... 0x7f] = BYTE,
	[0x80] = OPERAND_BYTE,
	[0x81] = OPERAND_WORD,
	[0x83] = OPERAND_BYTE,
	[0x84 ... 0x8b] = OPERAND,
	[0x8d] = MEMORY,
	[0x90] = PLAIN,
	[0x98 ... 0x99] = PLAIN,
	[0xa8] = BYTE,
	[0xa9] = WORD,
	[0xb0 ... 0xb7] = BYTE,
	[0xb8 ... 0xbf] = WIDE,
	[0xc0 ... 0xc1] = GROUP,
	[0xc3] = PLAIN,
	[0xc6 ... 0xc7] = GROUP,
	[0xc9] = PLAIN,
	[0xcc] = PLAIN,
	[0xd0 ... 0xd3] = GROUP,
	[0xe8 ... 0xe9] = BRANCH,
	[0xeb] = BYTE,
	[0xf6 ... 0xf7] = GROUP,
	[0xfe ... 0xff] = GROUP,
};

/* Behind 0f, with no prefix but REX; two_bytes_66 and so on have the forms with another prefix. */
static const uint8_t two_bytes[256] = {
	[0x0b] = PLAIN,
	[0x10 ... 0x11] = OPERAND,
	[0x14 ... 0x15] = OPERAND,
	[0x1f] = GROUP,
	[0x28 ... 0x29] = OPERAND,
	[0x2e ... 0x2f] = OPERAND,
	[0x40 ... 0x4f] = OPERAND,
	[0x51] = OPERAND,
	[0x54 ... 0x59] = OPERAND,
	[0x5c ... 0x5f] = OPERAND,
	[0x80 ... 0x8f] = BRANCH,
	[0x90 ... 0x9f] = OPERAND,
	[0xa2] = PLAIN,
	[0xa3] = OPERAND,
	[0xaf] = OPERAND,
	[0xb6 ... 0xb7] = OPERAND,
	[0xbe ... 0xbf] = OPERAND,
	[0xc6] = OPERAND_BYTE,
	[0xc8 ... 0xcf] = PLAIN,
};

static const uint8_t two_bytes_66[256] = {
	[0x10 ... 0x11] = OPERAND, [0x14 ... 0x15] = OPERAND, [0x1f] = GROUP,
	[0x28 ... 0x29] = OPERAND, [0x2e ... 0x2f] = OPERAND, [0x40 ... 0x4f] = OPERAND,
	[0x54 ... 0x59] = OPERAND, [0x5c ... 0x5f] = OPERAND, [0x60 ... 0x62] = OPERAND,
	[0x6c ... 0x6f] = OPERAND, [0x70] = OPERAND_BYTE,     [0x7e ... 0x7f] = OPERAND,
	[0xaf] = OPERAND,          [0xb6 ... 0xb7] = OPERAND, [0xbe ... 0xbf] = OPERAND,
	[0xc6] = OPERAND_BYTE,     [0xd4] = OPERAND,          [0xd6] = OPERAND,
	[0xdb] = OPERAND,          [0xef] = OPERAND,          [0xfa ... 0xfb] = OPERAND,
	[0xfe] = OPERAND,
};

static const uint8_t two_bytes_f2[256] = {
	[0x10 ... 0x11] = OPERAND, [0x2a] = OPERAND,          [0x2c ... 0x2d] = OPERAND,
	[0x51] = OPERAND,          [0x58 ... 0x5a] = OPERAND, [0x5c ... 0x5f] = OPERAND,
};

static const uint8_t two_bytes_f3[256] = {
	[0x10 ... 0x11] = OPERAND, [0x2a] = OPERAND,          [0x2c ... 0x2d] = OPERAND, [0x51] = OPERAND,
	[0x58 ... 0x5a] = OPERAND, [0x5c ... 0x5f] = OPERAND, [0x6f] = OPERAND,          [0x7e ... 0x7f] = OPERAND,
	[0xb8] = OPERAND,          [0xbc ... 0xbd] = OPERAND,
};

/* Bytes of a ModRM operand that begins at `at`, with its SIB byte and its displacement; 0: it is cut. */
static unsigned operand_size(const uint8_t *code, unsigned at, unsigned size)
{
	uint8_t mod = at < size ? code[at] >> 6 : 0, rm = at < size ? code[at] & 7 : 0;
	unsigned length = 1;

	if (at + 1 >= size)
		return at < size && mod == 3;
	if (mod != 3 && rm == 4) {
		length = 2;
		if (mod == 0 && (code[at + 1] & 7) == 5)
			return length + 4;
	}
	if (mod == 0 && rm == 5)
		return length + 4;
	return length + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* What follows an opcode of a group: `which` of them it is. */
static unsigned of_group(bool two, uint8_t op, unsigned which)
{
	if (two) /* nop */
		return which == 0 ? MEMORY : ASK;
	switch (op) {
	case 0xc0:
	case 0xc1: /* shifts; 6 is an alias of 4 */
		return which == 6 ? ASK : OPERAND_BYTE;
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return which == 6 ? ASK : OPERAND;
	case 0xc6: /* mov */
		return which == 0 ? OPERAND_BYTE : ASK;
	case 0xc7:
		return which == 0 ? OPERAND_WORD : ASK;
	case 0xf6: /* test, not, neg, mul, div */
		return which == 0 ? OPERAND_BYTE : which == 1 ? ASK : OPERAND;
	case 0xf7:
		return which == 0 ? OPERAND_WORD : which == 1 ? ASK : OPERAND;
	case 0xfe: /* inc, dec */
		return which < 2 ? OPERAND : ASK;
	default: /* inc, dec, call, jmp, push: not far ones */
		return which == 3 || which == 5 || which == 7 ? ASK : OPERAND;
	}
}

/* The prefixes that occur: at most one of 66, f2, f3, and REX. */
struct prefixes {
	uint8_t legacy, rex; /* 0: none */
};

static unsigned follows(const struct prefixes *prefixes, bool two, uint8_t op, const uint8_t *code, unsigned at,
			unsigned size)
{
	const uint8_t *map = !two                       ? one_byte
			     : prefixes->legacy == 0x66 ? two_bytes_66
			     : prefixes->legacy == 0xf2 ? two_bytes_f2
			     : prefixes->legacy == 0xf3 ? two_bytes_f3
							: two_bytes;
	unsigned kind = map[op];

	if (!two && prefixes->legacy && prefixes->legacy != 0x66)
		return ASK;
	if (kind == GROUP)
		kind = at < size ? of_group(two, op, code[at] >> 3 & 7) : ASK;
	if (kind == MEMORY)
		kind = at < size && code[at] >> 6 != 3 ? OPERAND : ASK;
	/* Where a prefix changes the size of what is no operand, processors differ, or nobody writes it. */
	if (prefixes->legacy == 0x66 && !two &&
	    (kind == BRANCH || kind == BYTE || (kind == PLAIN && op != 0x90) || op >= 0xfe))
		return ASK;
	return kind;
}

unsigned instruction_plain_length(const uint8_t *code, size_t whole)
{
	unsigned size = whole < INSTRUCTION_MOST ? whole : INSTRUCTION_MOST, at = 0, length, kind;
	struct prefixes prefixes = { 0 };
	bool two, half;
	uint8_t op;

	if (at < size && (code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3))
		prefixes.legacy = code[at++];
	if (at < size && (code[at] & 0xf0) == 0x40)
		prefixes.rex = code[at++];
	two = at + 1 < size && code[at] == 0x0f;
	at += two;
	if (at >= size)
		return 0;
	op = code[at++];
	half = prefixes.legacy == 0x66 && !(prefixes.rex & 8);
	kind = follows(&prefixes, two, op, code, at, size);
	length = at;
	if (kind == OPERAND || kind == OPERAND_BYTE || kind == OPERAND_WORD) {
		unsigned operand = operand_size(code, at, size);

		if (!operand)
			return 0;
		length += operand;
	}
	switch (kind) {
	case ASK:
		return 0;
	case BYTE:
	case OPERAND_BYTE:
		length += 1;
		break;
	case WORD:
	case OPERAND_WORD:
		length += half ? 2 : 4;
		break;
	case WIDE:
		length += prefixes.rex & 8 ? 8 : half ? 2 : 4;
		break;
	case BRANCH:
		length += 4;
	}
	return length <= size ? length : 0;
}
