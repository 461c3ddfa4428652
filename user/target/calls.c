/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.c - the calls that a library makes, and how far up the stack its own caller stands meanwhile.
 *
 * A runtime may have a library in front of it that only passes calls on: MPI's Fortran library calls the C library.
 * Whoever is seen calling the C library then is that wrapper, and the user's own line is one frame further up. Walking
 * a stack takes an unwinder; but a wrapper's frame has one size at the place of its call, and .eh_frame tells it, so
 * that a single word of the stack will do.
 *
 * Calls are found by their bytes (arch/scan.h): one with a target that begins a function of the file, or with a target
 * or slot that the file's relocations give a name. Bytes in the midst of another instruction may look like one. That
 * does no harm: nothing ever returns there. A function may also end by a jump to the one it passes the call on to.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/instruction.h"
#include "arch/scan.h"
#include "target/unwind.h"

#define CODE_MOST (64ull << 20) /* bytes of a file's code that is looked through */
#define TABLE_MOST (64ull << 20)
#define CALLS_MOST (1u << 20)
#define SLOTS_MOST (1u << 22)
#define LOOKS_MOST (1u << 26) /* what a file that was made to keep us busy gets */
#define FRAME_MOST 65536      /* bytes of a frame that is believed */

struct slot {
	uint64_t address;
	const char *name;
};

struct reading {
	const struct image *image;
	struct slot *slots; /* of other functions' addresses, sorted */
	size_t nslots;
	struct image_call *calls;
	size_t ncalls, room;
	uint64_t *returns; /* calls[i].return_offset as an address */
	bool *jumps;       /* calls[i] is a jump */
	uint32_t looks;
};

static int by_slot(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

const char *image_called_name(const struct image *image, const char *name)
{
	const struct image_private *priv = private_of(image);
	const struct symbol *own = image_symbol(image, name);

	if (own)
		return own->name;
	for (size_t low = 0, high = priv->nimports; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(priv->imports[middle], name);

		if (!order)
			return priv->imports[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* --- slots ------------------------------------------------------------- */

static void take_relocations(struct reading *r, const struct elf_file *elf, const Elf64_Shdr *section,
			     const Elf64_Sym *symbols, size_t nsymbols, const char *names, size_t names_size)
{
	Elf64_Rela *relocations = elf_section_bytes(elf, section, TABLE_MOST);
	size_t count = relocations ? section->sh_size / sizeof(*relocations) : 0;
	struct slot *grown = count && count <= SLOTS_MOST - r->nslots
				     ? realloc(r->slots, (r->nslots + count) * sizeof(*grown))
				     : NULL;

	if (grown)
		r->slots = grown;
	for (size_t i = 0; grown && i < count; i++) {
		uint64_t type = ELF64_R_TYPE(relocations[i].r_info), symbol = ELF64_R_SYM(relocations[i].r_info);
		const char *name;

		if (arch_relocation(type) != RELOCATION_SLOT || symbol >= nsymbols ||
		    symbols[symbol].st_name >= names_size)
			continue;
		name = image_called_name(r->image, names + symbols[symbol].st_name);
		if (name)
			grown[r->nslots++] = (struct slot){ .address = relocations[i].r_offset, .name = name };
	}
	free(relocations);
}

static void read_slots(struct reading *r, const struct elf_file *elf)
{
	const Elf64_Shdr *dynamic = elf_section_of_type(elf, SHT_DYNSYM), *strings;
	Elf64_Sym *symbols;
	char *names;

	if (!dynamic || dynamic->sh_link >= elf->nsections)
		return;
	strings = &elf->sections[dynamic->sh_link];
	symbols = elf_section_bytes(elf, dynamic, TABLE_MOST);
	names = elf_section_bytes(elf, strings, TABLE_MOST);
	for (size_t i = 0; symbols && names && i < elf->nsections; i++)
		if (elf->sections[i].sh_type == SHT_RELA)
			take_relocations(r, elf, &elf->sections[i], symbols, dynamic->sh_size / sizeof(*symbols), names,
					 strings->sh_size);
	if (r->nslots)
		qsort(r->slots, r->nslots, sizeof(*r->slots), by_slot);
	free(symbols);
	free(names);
}

static const char *slot_name(const struct reading *r, uint64_t address)
{
	const struct slot key = { .address = address };
	const struct slot *found = r->nslots ? bsearch(&key, r->slots, r->nslots, sizeof(key), by_slot) : NULL;

	return found ? found->name : NULL;
}

/* --- calls ------------------------------------------------------------- */

static void add_call(struct reading *r, const struct code_segment *segment, uint64_t after, const char *name,
		     uint64_t callee, bool jumps)
{
	uint64_t address = segment->address + after;
	const struct unwind_range *range = image_unwind_range_at(r->image, address - 1);

	if (!range || range->continued)
		return;
	if (r->ncalls == r->room) {
		size_t room = r->room ? r->room * 2 : 1024;
		struct image_call *calls = r->room < CALLS_MOST ? realloc(r->calls, room * sizeof(*calls)) : NULL;
		uint64_t *returns = calls ? realloc(r->returns, room * sizeof(*returns)) : NULL;
		bool *more = returns ? realloc(r->jumps, room * sizeof(*more)) : NULL;

		r->calls = calls ?: r->calls;
		r->returns = returns ?: r->returns;
		r->jumps = more ?: r->jumps;
		if (!more)
			return;
		r->room = room;
	}
	r->returns[r->ncalls] = address;
	r->jumps[r->ncalls] = jumps;
	r->calls[r->ncalls++] = (struct image_call){
		.return_offset = segment->offset + after,
		.function = range->address,
		.callee = callee,
		.name = name,
	};
}

/* A stretch of code that is looked through. */
struct code_reading {
	struct reading *reading;
	const struct code_segment *segment;
	const uint8_t *bytes;
};

/* Behind which name is this entry of the procedure linkage table? */
static const char *linked_name(const struct code_reading *c, uint64_t at)
{
	uint64_t slot;

	return instruction_is_stub(c->bytes + at, c->segment->size - at, c->segment->address + at, &slot)
		       ? slot_name(c->reading, slot)
		       : NULL;
}

static bool take_call(void *context, const struct scan_hit *hit)
{
	const struct code_reading *c = context;
	uint64_t after = hit->end - c->segment->address, at = hit->target - c->segment->address;
	const struct unwind_range *range;
	const char *name;

	if (hit->what == SCAN_CALL_SLOT) {
		name = slot_name(c->reading, hit->target);
		if (name)
			add_call(c->reading, c->segment, after, name, 0, false);
		return true;
	}
	if (at >= c->segment->size)
		return true;
	name = linked_name(c, at);
	range = name ? NULL : image_unwind_range_at(c->reading->image, hit->target);
	if (name || (range && !range->continued && range->address == hit->target))
		add_call(c->reading, c->segment, after, name, name ? 0 : range->address, hit->what == SCAN_JUMP);
	return true;
}

static void read_code(struct reading *r, const struct elf_file *elf, const struct code_segment *segment)
{
	struct code_reading reading = { r, segment, elf_bytes(elf, segment->offset, segment->size, CODE_MOST) };
	const struct code_scan scan = { .wanted = SCAN_CALL | SCAN_JUMP | SCAN_CALL_SLOT,
					.found = take_call,
					.context = &reading };

	if (reading.bytes)
		code_scan(&scan, reading.bytes, segment->size, segment->size, segment->address);
	free((uint8_t *)reading.bytes);
}

/* --- frames ------------------------------------------------------------ */

/* A row of an entry: it holds for calls whose return address is in (from, to]. */
static bool apply_row(void *context, const struct unwind_row *row)
{
	struct reading *r = context;
	size_t low = 0;

	if (!row->known || row->base != REGISTER_SP || row->offset < ARCH_RETURN_WORD || row->offset > FRAME_MOST ||
	    row->offset % 8)
		return true;
	for (size_t high = r->ncalls; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (r->returns[middle] <= row->from)
			low = middle + 1;
		else
			high = middle;
	}
	for (r->looks++; low < r->ncalls && r->returns[low] <= row->to && r->looks < LOOKS_MOST; low++, r->looks++)
		r->calls[low].frame = r->jumps[low] ? 0 : row->offset;
	return r->looks < LOOKS_MOST;
}

static void meet_entry(void *context, const struct unwind_entry *e)
{
	unwind_rows(e, apply_row, context);
}

/* --- the door ---------------------------------------------------------- */

static void read_calls(const struct image *image, struct image_private *priv)
{
	struct reading r = { .image = image };
	const struct code_segment *code;
	struct elf_file elf;
	size_t count, kept = 0;

	if (elf_file_read(&elf, image->fd))
		return;
	read_slots(&r, &elf);
	code = image_code(image, &count);
	for (size_t i = 0; i < count; i++)
		if (!i || code[i].offset >= code[i - 1].offset + code[i - 1].size) /* so that calls come in order */
			read_code(&r, &elf, &code[i]);
	elf_file_free(&elf);
	for (size_t i = 1; i < r.ncalls; i++)
		if (r.returns[i] <= r.returns[i - 1])
			r.ncalls = i;
	unwind_visit(image, meet_entry, &r);
	for (size_t i = 0; i < r.ncalls; i++)
		if (r.calls[i].frame || r.jumps[i])
			r.calls[kept++] = r.calls[i];
	free(r.slots);
	free(r.returns);
	free(r.jumps);
	priv->calls = r.calls;
	priv->ncalls = kept;
}

const struct image_call *image_calls(const struct image *image, size_t *count)
{
	struct image_private *priv = private_of(image);

	if (!priv->calls_read)
		read_calls(image, priv);
	priv->calls_read = true;
	*count = priv->ncalls;
	return priv->calls;
}

const struct image_call *image_call_at(const struct image *image, uint64_t return_offset)
{
	size_t count, low = 0;
	const struct image_call *calls = image_calls(image, &count);

	for (size_t high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].return_offset == return_offset)
			return &calls[middle];
		if (calls[middle].return_offset < return_offset)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
