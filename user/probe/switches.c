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
 *   xchg ...,%rsp      pop %rsp
 *
 * clang's alloca() looks like the second. That costs such programs the dearer way of seeing returns, and nothing else.
 *
 * The bytes of such an instruction may also stand inside another one. Where a function is known to begin before them, it is decoded
 * up to there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/instruction.h"
#include "probe/plan_private.h"

#define CHUNK (1u << 20)
#define LONGEST 8          /* bytes of the patterns */
#define CODE_MOST (1ull << 30)
#define DECODED_MOST (1u << 20) /* bytes of a function up to a suspicious instruction */

/* Bits of the registers that code of a compiler may load rsp from: rbx, rsp, rbp, r12 to r15. */
#define KEPT_REGISTERS ((1u << 3) | (1u << 4) | (1u << 5) | (1u << 12) | (1u << 13) | (1u << 14) | (1u << 15))

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
	case 0x87: /* xchg */
		return wide_reg == 4 || (mod == 3 && wide_rm == 4);
	default:
		return false;
	}
}

/* The offset in the file where the function around this one begins, as far as a name or the unwinding tables tell; 0: nothing does. */
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

/* True where an instruction begins at this offset in the file, or nobody can tell. */
static bool begins_there(const struct image *image, uint64_t offset)
{
	uint64_t start = function_start(image, offset), size = start ? offset - start + LONGEST : 0, at = 0;
	struct decoder *decoder;
	uint8_t *code;

	if (!start || size > DECODED_MOST || decoder_new(&decoder))
		return true;
	code = malloc(size);
	if (!code || pread(image->fd, code, size, start) != (ssize_t)size)
		size = 0;
	while (at + LONGEST < size) {
		unsigned length = instruction_length(decoder, code + at, size - at);

		at += length ?: 1;
	}
	free(code);
	decoder_free(decoder);
	return !size || at + LONGEST == size;
}

static bool switches_in(const struct image *image, const uint8_t *code, size_t size, uint64_t offset)
{
	for (size_t i = 0; i + 3 <= size; i++)
		if ((code[i] & 0xf8) == 0x48 && loads_stack_pointer(code + i) && begins_there(image, offset + i))
			return true;
	return false;
}

bool image_switches_stacks(const struct image *image)
{
	uint8_t *buffer = malloc(CHUNK + LONGEST);
	bool found = !buffer;
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count && !found; i++) {
		for (uint64_t at = 0; at < code[i].size && at < CODE_MOST && !found; at += CHUNK) {
			uint64_t left = code[i].size - at;
			ssize_t got = pread(image->fd, buffer, left < CHUNK + LONGEST ? left : CHUNK + LONGEST, code[i].offset + at);

			found = got > 0 && switches_in(image, buffer, got, code[i].offset + at);
		}
	}
	free(buffer);
	return found;
}
