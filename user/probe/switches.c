/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switches.c - does this code change stacks by itself?
 *
 * swapcontext() and the libraries of fibers are known by their names. But a dozen lines of assembler do the same, and
 * then there is no name to know. What such code cannot do without is to load the stack pointer with a value from
 * elsewhere, and compilers do that in few ways only (instruction_find_switch()).
 *
 * The bytes of such an instruction may also stand inside another one. Where a function is known to begin before them,
 * it is decoded up to there, once: a function that is full of such bytes would else be decoded over and over.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/instruction.h"
#include "probe/plan_private.h"

#define CHUNK (1u << 20)
#define SCANNED 1024 /* bytes that take as long as one that is decoded */
#define CODE_MOST (1ull << 30)
#define DECODED_MOST (1u << 20) /* bytes from one suspicious instruction of a function to the next */

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
	const uint8_t *chunk;    /* a part of the file that has been read: mostly what is to be decoded is in it */
	uint64_t chunk_offset;
	size_t chunk_size;
};

/* The code from here on, in the chunk; NULL: not all of it is there. */
static const uint8_t *in_chunk(const struct decoded *decoded, uint64_t offset, uint64_t size)
{
	uint64_t at = offset - decoded->chunk_offset;

	return offset >= decoded->chunk_offset && at + size <= decoded->chunk_size ? decoded->chunk + at : NULL;
}

/* Goes on to the instruction at this offset, or the one behind. False: it cannot be told. */
static bool decode_up_to(struct decoded *decoded, uint64_t offset)
{
	uint64_t first = decoded->at, size = first < offset ? offset - first : 0;
	const uint8_t *code;
	uint8_t *read = NULL;

	if (!size)
		return true;
	if (size > DECODED_MOST || image_reads(decoded->image, EFFORT_SWITCHES, size))
		return false;
	code = in_chunk(decoded, first, size + INSTRUCTION_MOST);
	if (!code)
		code = read = calloc(1, size + INSTRUCTION_MOST);
	if (!code || (read && pread(decoded->image->fd, read, size + INSTRUCTION_MOST, first) < (ssize_t)size)) {
		free(read);
		return false;
	}
	while (decoded->at < offset)
		decoded->at += instruction_length(decoded->decoder, code + (decoded->at - first),
						  size + INSTRUCTION_MOST - (decoded->at - first))
				       ?: 1;
	free(read);
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

/* SWITCH_BYTES bytes behind them can be read, too. */
static bool switches_in(struct decoded *decoded, const uint8_t *code, size_t size, uint64_t offset)
{
	decoded->chunk = code;
	decoded->chunk_offset = offset;
	decoded->chunk_size = size;
	for (size_t i = 0; (i = instruction_find_switch(code, i, size)) < size; i++)
		if (begins_there(decoded, offset + i))
			return true;
	return false;
}

bool image_switches_stacks(const struct image *image)
{
	struct decoded decoded = { .image = image };
	uint8_t *buffer = calloc(1, CHUNK + 2 * SWITCH_BYTES);
	bool found = !buffer;
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count && !found; i++) {
		for (uint64_t at = 0; at < code[i].size && at < CODE_MOST && !found; at += CHUNK) {
			uint64_t left = code[i].size - at;
			ssize_t got = pread(image->fd, buffer,
					    left < CHUNK + SWITCH_BYTES ? left : CHUNK + SWITCH_BYTES,
					    code[i].offset + at);

			if (got > 0)
				memset(buffer + got, 0, SWITCH_BYTES);
			found = got > 0 && (image_reads(image, EFFORT_SWITCHES, got / SCANNED) ||
					    switches_in(&decoded, buffer, got, code[i].offset + at));
		}
	}
	decoder_free(decoded.decoder);
	free(buffer);
	return found;
}
