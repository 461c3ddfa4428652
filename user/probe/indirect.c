/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * indirect.c - functions of which there are several: IFUNCs.
 *
 * With __attribute__((target_clones)) or ((ifunc)) a function's name is that of a resolver. The dynamic linker calls it
 * once, before the program's own code runs, and from then on each call goes to the implementation that it chose. A
 * probe on the name's address would count resolvers. So the implementations are observed in its place, all of them,
 * under the function's name.
 *
 * The resolver names them: it takes their addresses, to return one. What it takes the address of, and is the start of a
 * function, is one. An address is formed by the code, comes from a word that the linker fills in, or, in a program that
 * is loaded where it was linked, stands in the instruction. Where the resolver only calls another function of its file
 * for the choice, that one is looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/branches.h"
#include "probe/plan_private.h"
#include "probe/tables.h"

#define DEPTH_MOST 2 /* functions that a resolver leaves the choice to */

struct implementations {
	const struct image *image;
	struct decoder *decoder;
	bool fixed; /* loaded where it was linked */
	uint64_t resolver;
	struct symbol *found;
	size_t count, most;
};

/* What clang 17 and before call the resolver of solve(): no symbol has the function's own name. */
static const char clang_suffix[] = ".ifunc";

size_t indirect_name_length(const struct symbol *symbol)
{
	size_t length = strlen(symbol->name), suffix = strlen(clang_suffix);

	if (symbol->ifunc && length > suffix && !strcmp(symbol->name + length - suffix, clang_suffix))
		length -= suffix;
	return length;
}

const struct symbol *indirect_symbol(const struct image *image, const char *name)
{
	const struct symbol *symbol = image_symbol(image, name);
	char clang[256];

	if (symbol || snprintf(clang, sizeof(clang), "%s%s", name, clang_suffix) >= (int)sizeof(clang))
		return symbol;
	symbol = image_symbol(image, clang);
	return symbol && symbol->ifunc ? symbol : NULL;
}

/* Does a function begin there? */
static bool function_at(const struct image *image, uint64_t address, struct symbol *function)
{
	const struct unwind_range *range = image_unwind_range_at(image, address);
	const struct symbol *symbol;
	uint64_t offset;

	if (!image_offset_at(image, address, &offset))
		return false;
	symbol = image_symbol_at(image, offset);
	if (symbol && symbol->address == address) {
		*function = *symbol;
		return !symbol->ifunc;
	}
	/* Without a name, in a stripped file. */
	*function = (struct symbol){
		.name = "", .offset = offset, .address = address, .size = range ? range->size : 0, .local = true
	};
	return range && range->address == address && !range->continued;
}

static void add(struct implementations *i, uint64_t address)
{
	struct symbol function;

	if (address == i->resolver || i->count == i->most || !function_at(i->image, address, &function))
		return;
	for (size_t k = 0; k < i->count; k++)
		if (i->found[k].offset == function.offset)
			return;
	i->found[i->count++] = function;
}

/* The address that this instruction puts into a register; 0: none. */
static uint64_t address_taken(const struct implementations *i, const uint8_t *code, unsigned length, uint64_t at)
{
	uint64_t address;
	uint32_t word;

	if (instruction_forms(code, length, at, &address))
		return address;
	if (instruction_load_word(code, length, at, &address))
		return image_pointer_at(i->image, address);
	return i->fixed && instruction_constant(code, length, &word) ? word : 0;
}

static void look_at(struct implementations *i, uint64_t address, uint64_t size, unsigned depth)
{
	uint8_t *code = size && size <= FUNCTION_MOST ? branches_code_at(i->image, address, &size) : NULL;
	size_t before = i->count;
	unsigned length;

	for (uint64_t at = 0; code && at < size; at += length) {
		length = instruction_length(i->decoder, code + at, size - at);
		if (!length)
			break;
		add(i, address_taken(i, code + at, length, address + at));
	}
	for (uint64_t at = 0; code && i->count == before && depth < DEPTH_MOST && at < size; at += length) {
		struct symbol callee;
		int64_t distance;
		bool always;

		length = instruction_length(i->decoder, code + at, size - at);
		if (!length)
			break;
		switch (instruction_transfer(code + at, length, &distance, &always)) {
		case TRANSFER_BRANCH:
		case TRANSFER_CALL:
			if (function_at(i->image, address + at + length + distance, &callee) &&
			    callee.address != address)
				look_at(i, callee.address, callee.size, depth + 1);
			break;
		default:
			break;
		}
	}
	free(code);
}

size_t indirect_find(const struct image *image, const struct symbol *symbol, struct symbol *found, size_t most)
{
	const struct unwind_range *range = image_unwind_range_at(image, symbol->address);
	struct implementations i = { .image = image, .resolver = symbol->address, .found = found, .most = most };
	uint64_t size = symbol->size ?: range && range->address == symbol->address ? range->size : 0;
	struct tables tables;

	if (tables_open(&tables, image) || decoder_new(&i.decoder))
		return 0;
	i.fixed = tables.fixed;
	look_at(&i, symbol->address, size, 0);
	decoder_free(i.decoder);
	return i.count;
}
