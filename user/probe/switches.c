/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switches.c - does this code change stacks by itself?
 *
 * swapcontext() and the libraries of fibers are known by their names. But a dozen lines of assembler do the same, and
 * then there is no name to know. What such code cannot do without is to load the stack pointer with a
 * value from elsewhere, and compilers do that in few ways only: from rbp, from a place in their own frame, or from
 * a register that they had saved it in, which survives calls. Everything else counts as a change of stacks:
 *
 *   mov (%rsi),%rsp    from memory outside the frame
 *   mov %rdi,%rsp      from a register that does not survive calls
 *   lea (%rdi),%rsp    the same
 *   add %rax,%rsp      by a distance that is worked out; also or, xor, cmov (a sub is how compilers make room)
 *   xchg ...,%rsp      pop %rsp, where other registers and a jump or return come next
 *
 * clang's alloca() looks like the second. That costs such programs the dearer way of seeing returns, and nothing else.
 *
 * The bytes of such an instruction may also stand inside another one. Where a function is known to begin before them,
 * it is decoded up to there, once: a function that is full of such bytes would else be decoded over and over.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/instruction.h"
#include "probe/plan_private.h"

#define CHUNK (1u << 20)
#define SCANNED 1024 /* bytes that take as long as one that is decoded */
#define LONGEST 8    /* bytes of the patterns */
#define CODE_MOST (1ull << 30)
#define DECODED_MOST (1u << 20) /* bytes from one suspicious instruction of a function to the next */

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

/* The offset in the file where the function around this one begins, as far as a name or the unwinding tables tell; 0:
 * nothing does. */
static uint64_t function_start(const struct image *image, uint64_t offset)
{
	const struct symbol *symbol = image_symbol_at(image, offset);
	uint64_t start = symbol ? symbol->offset : 0;
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t address = code[i].address + (offset - code[i].offset);
		const struct unwind_range *range;

		if (offset - code[i].offset >= code[i].size)
			continue;
		range = image_unwind_range_at(image, address);
		if (range && range->address >= code[i].address && offset - (address - range->address) > start)
			start = offset - (address - range->address);
	}
	return start;
}

/* How far the code of a function has been decoded: what is asked for next is mostly behind that. */
struct decoded {
	const struct image *image;
	struct decoder *decoder; /* NULL: none was needed yet */
	uint64_t start, at;      /* offsets in the file: of the function, and of the next instruction */
};

/* Goes on to the instruction at this offset, or the one behind. False: it cannot be told. */
static bool decode_up_to(struct decoded *decoded, uint64_t offset)
{
	uint64_t first = decoded->at, size = first < offset ? offset - first : 0;
	uint8_t *code;

	if (!size)
		return true;
	if (size > DECODED_MOST || image_reads(decoded->image, EFFORT_SWITCHES, size))
		return false;
	code = calloc(1, size + INSTRUCTION_MOST);
	if (!code || pread(decoded->image->fd, code, size + INSTRUCTION_MOST, first) < (ssize_t)size) {
		free(code);
		return false;
	}
	while (decoded->at < offset)
		decoded->at += instruction_length(decoded->decoder, code + (decoded->at - first),
						  size + INSTRUCTION_MOST - (decoded->at - first))
				       ?: 1;
	free(code);
	return true;
}

/* True where an instruction begins at this offset in the file, or nobody can tell. */
static bool begins_there(struct decoded *decoded, uint64_t offset)
{
	uint64_t start = function_start(decoded->image, offset);

	if (!start || (!decoded->decoder && decoder_new(&decoded->decoder)))
		return true;
	if (start != decoded->start)
		decoded->start = decoded->at = start;
	return !decode_up_to(decoded, offset) || decoded->at == offset;
}

/* LONGEST bytes behind them can be read, too. */
static bool switches_in(struct decoded *decoded, const uint8_t *code, size_t size, uint64_t offset)
{
	for (size_t i = 0; i + 3 <= size; i++)
		if ((((code[i] & 0xf8) == 0x48 && loads_stack_pointer(code + i)) ||
		     pops_stack_pointer(code + i, size - i)) &&
		    begins_there(decoded, offset + i))
			return true;
	return false;
}

bool image_switches_stacks(const struct image *image)
{
	struct decoded decoded = { .image = image };
	uint8_t *buffer = calloc(1, CHUNK + 2 * LONGEST);
	bool found = !buffer;
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count && !found; i++) {
		for (uint64_t at = 0; at < code[i].size && at < CODE_MOST && !found; at += CHUNK) {
			uint64_t left = code[i].size - at;
			ssize_t got = pread(image->fd, buffer, left < CHUNK + LONGEST ? left : CHUNK + LONGEST,
					    code[i].offset + at);

			if (got > 0)
				memset(buffer + got, 0, LONGEST);
			found = got > 0 && (image_reads(image, EFFORT_SWITCHES, got / SCANNED) ||
					    switches_in(&decoded, buffer, got, code[i].offset + at));
		}
	}
	decoder_free(decoded.decoder);
	free(buffer);
	return found;
}
