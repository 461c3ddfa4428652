/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind.c - the pieces of code that .eh_frame knows.
 *
 * A compiler may put the parts of a function that are seldom run elsewhere ("cold"). In a stripped file no symbol tells
 * what such a part is. But an unwinder must find its way through it, so it has an entry of its own in .eh_frame, and
 * that entry tells one thing more: code that begins in the middle of a function runs inside a frame that is set up
 * already, so its description starts with where that frame is. A function's starts with nothing, since at its first
 * instruction nothing has happened yet.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "target/unwind.h"

#define EH_FRAME_MOST (256ull << 20)
#define RANGES_MOST (1u << 22)

/* What the entries of one CIE have in common. */
struct common {
	Dwarf_Off offset;
	bool usable;
	bool augmented;   /* each entry has its own augmentation data, its size first */
	uint8_t encoding; /* DW_EH_PE_* of addresses */
	uint64_t unit;    /* bytes of code that a step of one stands for */
	const uint8_t *rules, *rules_end;
};

struct section {
	const struct image *image;
	Elf_Data data;
	uint64_t address;
	const unsigned char *ident;
	struct common common;
	unwind_entry_fn visit;
	void *context;
};

struct range_list {
	struct unwind_range *ranges;
	size_t count, room;
};

bool unwind_uleb(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	unsigned shift = 0;

	*value = 0;
	while (*at < end && shift < 64) {
		uint8_t byte = *(*at)++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static size_t encoded_size(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return 0;
	}
}

/* One number of the sizes that occur, signed where its encoding says so. */
static bool read_encoded(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t *value)
{
	size_t size = encoded_size(encoding);
	bool is_signed = encoding & DW_EH_PE_signed;
	uint64_t raw = 0;

	if (!size || (size_t)(end - *at) < size)
		return false;
	memcpy(&raw, *at, size);
	*at += size;
	if (is_signed && size == 4)
		raw = (int64_t)(int32_t)raw;
	else if (is_signed && size == 2)
		raw = (int64_t)(int16_t)raw;
	*value = raw;
	return true;
}

/* The personality routine: an encoding and an address, of no interest. */
static bool skip_personality(const uint8_t **at, const uint8_t *end)
{
	uint64_t address;
	uint8_t encoding;

	if (*at == end)
		return false;
	encoding = *(*at)++;
	return read_encoded(at, end, encoding, &address);
}

/* The 'R' of a CIE's augmentation: how its entries write addresses. */
static void read_augmentation(const Dwarf_CIE *cie, struct common *common)
{
	const uint8_t *at = cie->augmentation_data, *end = at ? at + cie->augmentation_data_size : NULL;
	const char *letter = cie->augmentation;

	common->encoding = DW_EH_PE_absptr;
	common->augmented = *letter == 'z';
	common->usable = common->augmented || !*letter;
	for (letter += common->augmented; common->usable && *letter; letter++) {
		switch (*letter) {
		case 'R':
			common->usable = at < end;
			common->encoding = at < end ? *at++ : 0;
			break;
		case 'L':
			common->usable = at < end;
			at++;
			break;
		case 'P':
			common->usable = skip_personality(&at, end);
			break;
		case 'S':
		case 'B':
			break;
		default:
			common->usable = false;
		}
	}
}

static const struct common *common_at(struct section *s, Dwarf_Off offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (s->common.offset == offset)
		return &s->common;
	s->common = (struct common){ .offset = offset };
	/* One may be as long as the section, and each entry be of another one than that before it. */
	if (!dwarf_next_cfi(s->ident, &s->data, true, offset, &next, &entry) && dwarf_cfi_cie_p(&entry) &&
	    !image_reads(s->image, EFFORT_UNWIND, next - offset)) {
		read_augmentation(&entry.cie, &s->common);
		s->common.unit = entry.cie.code_alignment_factor;
		s->common.rules = entry.cie.initial_instructions;
		s->common.rules_end = entry.cie.initial_instructions_end;
	}
	return &s->common;
}

/* Do these instructions say where the frame is before they advance by a single byte of code? */
static bool begins_in_frame(const uint8_t *at, const uint8_t *end)
{
	uint64_t skipped;

	while (at < end) {
		uint8_t op = *at++;

		if (op == DW_CFA_def_cfa || op == DW_CFA_def_cfa_offset || op == DW_CFA_def_cfa_expression)
			return true;
		if (op >> 6 == 2) { /* DW_CFA_offset: a register was saved */
			if (!unwind_uleb(&at, end, &skipped))
				return false;
			continue;
		}
		if (op != DW_CFA_nop)
			return false;
	}
	return false;
}

static void add_range(void *context, const struct unwind_entry *entry)
{
	struct unwind_range range = { .address = entry->address, .size = entry->size };
	struct range_list *list = context;

	range.continued = begins_in_frame(entry->rules, entry->rules_end);
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 256;
		struct unwind_range *grown = list->count < RANGES_MOST ? realloc(list->ranges, room * sizeof(*grown))
								       : NULL;

		if (!grown)
			return;
		list->ranges = grown;
		list->room = room;
	}
	list->ranges[list->count++] = range;
}

static void meet_entry(struct section *s, const Dwarf_FDE *fde)
{
	const struct common *common = common_at(s, fde->CIE_pointer);
	const uint8_t *at = fde->start, *end = fde->end;
	uint64_t where = s->address + (at - (const uint8_t *)s->data.d_buf), skipped;
	struct unwind_entry entry = {
		.unit = common->unit,
		.common_rules = common->rules,
		.common_rules_end = common->rules_end,
	};

	if (!common->usable || (common->encoding & 0x70 && (common->encoding & 0x70) != DW_EH_PE_pcrel))
		return;
	if (!read_encoded(&at, end, common->encoding, &entry.address) ||
	    !read_encoded(&at, end, common->encoding & 0x07, &entry.size) || !entry.size)
		return;
	if (common->encoding & DW_EH_PE_pcrel)
		entry.address += where;
	if (common->augmented) {
		if (!unwind_uleb(&at, end, &skipped) || skipped > (size_t)(end - at))
			return;
		at += skipped;
	}
	entry.rules = at;
	entry.rules_end = end;
	if (image_reads(s->image, EFFORT_UNWIND, common->rules_end - common->rules))
		return;
	s->visit(s->context, &entry);
}

static int by_address(const void *a, const void *b, void *context)
{
	const struct unwind_range *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_section(struct section *s)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	int result;

	while (!(result = dwarf_next_cfi(s->ident, &s->data, true, offset, &next, &entry)) || result < 0) {
		if (result < 0 && next <= offset)
			break;
		if (image_reads(s->image, EFFORT_UNWIND, 1))
			break;
		if (!result && !dwarf_cfi_cie_p(&entry))
			meet_entry(s, &entry.fde);
		offset = next;
	}
}

void unwind_visit(const struct image *image, unwind_entry_fn visit, void *context)
{
	struct elf_file elf;
	const Elf64_Shdr *header;

	if (elf_file_read(&elf, image->fd))
		return;
	header = elf_section(&elf, ".eh_frame");

	struct section s = {
		.image = image,
		.ident = elf.header.e_ident,
		.common.offset = (Dwarf_Off)-1,
		.visit = visit,
		.context = context,
		.data.d_buf = header ? elf_section_bytes(&elf, header, EH_FRAME_MOST) : NULL,
	};

	if (s.data.d_buf) {
		s.data.d_type = ELF_T_BYTE;
		s.data.d_version = EV_CURRENT;
		s.data.d_size = header->sh_size;
		s.address = header->sh_addr;
		read_section(&s);
		free(s.data.d_buf);
	}
	elf_file_free(&elf);
}

/* All of them, in ascending order; NULL: none known. The image keeps them. */
static const struct unwind_range *unwind_ranges(const struct image *image, size_t *count)
{
	struct image_private *priv = private_of(image);
	struct range_list list = { .count = 0 };

	if (!priv->unwind_read) {
		unwind_visit(image, add_range, &list);
		if (reading_sorts(list.ranges, list.count, sizeof(*list.ranges), by_address, NULL))
			list.count = 0;
		priv->unwind = list.ranges;
		priv->nunwind = list.count;
	}
	priv->unwind_read = true;
	*count = priv->nunwind;
	return priv->unwind;
}

const struct unwind_range *image_unwind_range_at(const struct image *image, uint64_t address)
{
	size_t count, low = 0;
	const struct unwind_range *ranges = unwind_ranges(image, &count);

	for (size_t high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - ranges[low - 1].address < ranges[low - 1].size ? &ranges[low - 1] : NULL;
}
