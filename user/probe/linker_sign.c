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

#include "arch/scan.h"
#include "probe/branches.h"
#include "probe/kernel_private.h"

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

/* The calls of the function at `to` in one stretch of code. */
struct sign_search {
	struct linker_signs *signs;
	const struct image *image;
	struct decoder *decoder;
	const struct code_segment *segment;
	uint64_t to;
};

/* False: it is in doubt, or there are too many. */
static bool add_call(void *context, const struct scan_hit *hit)
{
	const struct sign_search *s = context;
	struct linker_signs *signs = s->signs;

	if (hit->target != s->to)
		return true;
	if (signs->count == LINKER_SIGNS || !is_instruction(s->image, s->decoder, hit->address))
		return false;
	signs->offsets[signs->count] = s->segment->offset + (hit->address - s->segment->address);
	signs->cookies[signs->count++] = state_distance(s->image, hit->address);
	return true;
}

/* False: one of them is in doubt, or there are too many. */
static bool add_calls(struct linker_signs *signs, const struct image *image, struct decoder *decoder,
		      const struct code_segment *segment, uint64_t to)
{
	struct sign_search search = { signs, image, decoder, segment, to };
	const struct code_scan scan = { .wanted = SCAN_CALL | SCAN_JUMP, .found = add_call, .context = &search };
	uint64_t size = segment->size;
	uint8_t *code = size <= LINKER_CODE_MOST ? branches_code_at(image, segment->address, &size) : NULL;
	bool sure = code && code_scan(&scan, code, size, size, segment->address);

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
