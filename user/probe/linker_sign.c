/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linker_sign.c - where a dynamic linker gives debuggers the sign that its list of objects changes.
 *
 * It calls a function that does nothing, and debuggers put a breakpoint on its first instruction. A probe there would
 * be hit in place of theirs: the kernel takes the trap, also that of another process which has some probe, and gdb
 * would never learn of a library (ltrace would wait for ever). So what is probed are the instructions that call it,
 * which nobody else needs. They are searched for as bytes, and must be whole instructions of a function that is decoded
 * from its beginning.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "probe/branches.h"
#include "probe/kernel_private.h"

#define CALL_BYTES 5
#define CALL 0xe8
#define JUMP 0xe9

/*
 * From an instruction to the linker's word on what it is about (r_state in <link.h>); 0: unknown. A breakpoint knows
 * its own address, so that is all the kernel side needs.
 */
static uint64_t state_distance(const struct image *linker, uint64_t address)
{
	uint64_t variable;

	if (image_variable(linker, "_r_debug", &variable))
		return 0;
	variable += offsetof(struct r_debug, r_state);
	return variable > address && variable - address < INT32_MAX ? variable - address : 0;
}

/* Does an instruction of its function begin here? */
static bool is_instruction(const struct image *image, struct decoder *decoder, uint64_t address)
{
	const struct unwind_range *range = image_unwind_range_at(image, address);
	uint64_t size = range ? range->size : 0, at = 0;
	uint8_t *code = range && size <= FUNCTION_MOST ? branches_code_at(image, range->address, &size) : NULL;

	while (code && at < size && range->address + at < address) {
		unsigned length = instruction_length(decoder, code + at, size - at);

		if (!length)
			break;
		at += length;
	}
	free(code);
	return code && range->address + at == address;
}

/* False: one of them is in doubt, or there are too many. */
static bool add_calls(struct linker_signs *signs, const struct image *image, struct decoder *decoder,
		      const struct code_segment *segment, uint64_t to)
{
	uint64_t size = segment->size;
	uint8_t *code = size <= LINKER_CODE_MOST ? branches_code_at(image, segment->address, &size) : NULL;
	bool sure = code;

	for (uint64_t at = 0; sure && at + CALL_BYTES <= size; at++) {
		int32_t distance;

		if (code[at] != CALL && code[at] != JUMP)
			continue;
		memcpy(&distance, code + at + 1, sizeof(distance));
		if (segment->address + at + CALL_BYTES + distance != to)
			continue;
		sure = signs->count < LINKER_SIGNS && is_instruction(image, decoder, segment->address + at);
		if (!sure)
			break;
		signs->offsets[signs->count] = segment->offset + at;
		signs->cookies[signs->count++] = state_distance(image, segment->address + at);
	}
	free(code);
	return sure;
}

void linker_signs_find(struct linker_signs *signs, const struct image *image, const struct symbol *sign)
{
	const struct code_segment *code;
	struct decoder *decoder = NULL;
	size_t count;
	bool sure;

	memset(signs, 0, sizeof(*signs));
	signs->device = image->device;
	signs->inode = image->inode;
	code = image_code(image, &count);
	sure = !decoder_new(&decoder);
	for (size_t i = 0; i < count && sure; i++)
		sure = add_calls(signs, image, decoder, &code[i], sign->address);
	decoder_free(decoder);
	if (!sure || signs->count < LINKER_SIGNS_LEAST)
		signs->count = 0;
}
