/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traits.c - what a file tells of how it was built: a text in it, a struct in its DWARF.
 */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/dwarf_reader.h"
#include "target/image_private.h"

#define SECTION_MOST (64ull << 20) /* bytes of a section that are searched */
#define PIECE (256u << 10)         /* of a section, at a time */
#define DEADLINE 2000u             /* ms for all units together */

/* Does `text`, which ends with a NUL within `size` bytes or with them, begin as the pattern says? */
static bool begins_like(const char *pattern, const char *text, size_t size)
{
	const char *star = NULL, *retry = NULL, *end = text + strnlen(text, size);

	/* A '*' at the pattern's end is implied. */
	while (*pattern) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (text < end && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star && retry < end) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	return true;
}

static bool holds_text(const char *bytes, size_t size, const char *pattern)
{
	size_t fixed = strcspn(pattern, "*?");
	const char *end = bytes + size;

	for (const char *at = bytes; fixed && at < end; at++) {
		at = memmem(at, end - at, pattern, fixed);
		if (!at)
			return false;
		if (begins_like(pattern + fixed, at + fixed, end - at - fixed))
			return true;
	}
	return false;
}

/* Constants and variables, where the texts are; not the tables of how functions are left. */
static bool is_data(const struct elf_file *elf, const Elf64_Shdr *section)
{
	return section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_ALLOC) &&
	       !(section->sh_flags & (SHF_EXECINSTR | SHF_COMPRESSED)) && section != elf_section(elf, ".eh_frame");
}

bool image_has_text(const struct image *image, const char *pattern)
{
	struct elf_file elf;
	int error = elf_file_read(&elf, image->fd);
	bool found = false;

	if (error)
		return error == -ENOMEM;
	for (size_t i = 0; i < elf.nsections && !found; i++) {
		const Elf64_Shdr *section = &elf.sections[i];
		char *bytes = is_data(&elf, section) ? elf_section_bytes(&elf, section, SECTION_MOST) : NULL;

		found = bytes && holds_text(bytes, section->sh_size, pattern);
		free(bytes);
	}
	found |= elf.starved;
	elf_file_free(&elf);
	return found;
}

/* Names that are looked for in one reading. */
struct names {
	const char *const *names;
	size_t count, longest;
	bool *found;
	const struct image *image;
	uint8_t *begins; /* a bit for each pair of bytes that a name begins with */
};

#define PAIRS (1u << 16)

static unsigned pair(const char *at)
{
	return (uint8_t)at[0] | (uint8_t)at[1] << 8;
}

static bool names_begin(struct names *n)
{
	n->begins = calloc(1, PAIRS / 8);
	for (size_t i = 0; n->begins && i < n->count; i++) {
		size_t length = strlen(n->names[i]);

		n->longest = length > n->longest ? length : n->longest;
		if (length > 1)
			n->begins[pair(n->names[i]) / 8] |= 1u << pair(n->names[i]) % 8;
	}
	return n->begins;
}

static void names_find(struct names *n, const char *bytes, size_t size)
{
	for (size_t at = 0; at + 1 < size; at++) {
		unsigned p = pair(bytes + at);

		if (!(n->begins[p / 8] & 1u << p % 8))
			continue;
		for (size_t i = 0; i < n->count; i++) {
			size_t length = strlen(n->names[i]);

			if (length <= size - at && length > 1 && !memcmp(bytes + at, n->names[i], length))
				n->found[i] = true;
		}
	}
}

/* Piece by piece; a name may lie across two of them. False: it could not be read to its end. */
static bool names_in(struct names *n, const struct elf_file *elf, uint64_t offset, uint64_t size, char *piece)
{
	for (uint64_t at = 0; at < size; at += PIECE) {
		uint64_t left = size - at, some = left < PIECE + n->longest ? left : PIECE + n->longest;

		if (image_reads(n->image, EFFORT_TEXTS, some) || !elf_read(elf, offset + at, some, piece))
			return false;
		names_find(n, piece, some);
	}
	return true;
}

/* Some programs have no table of sections any more: then all that is loaded of them. */
static bool names_in_segments(struct names *n, const struct elf_file *elf, char *piece)
{
	bool good = true;

	for (size_t i = 0; good && i < elf->nsegments; i++)
		if (elf->segments[i].p_type == PT_LOAD)
			good = names_in(n, elf, elf->segments[i].p_offset, elf->segments[i].p_filesz, piece);
	return good;
}

bool image_find_names(const struct image *image, const char *const names[], size_t count, bool found[])
{
	struct names n = { .image = image, .names = names, .count = count, .found = found };
	struct elf_file elf = { 0 };
	char *piece = NULL;
	bool good = names_begin(&n) && (piece = malloc(PIECE + n.longest)) && !elf_file_read(&elf, image->fd);

	for (size_t i = 0; good && i < elf.nsections; i++)
		if (is_data(&elf, &elf.sections[i]))
			good = names_in(&n, &elf, elf.sections[i].sh_offset, elf.sections[i].sh_size, piece);
	if (good && !elf.nsections)
		good = names_in_segments(&n, &elf, piece);
	good &= !elf.starved;
	if (!good)
		memset(found, true, count);
	elf_file_free(&elf);
	free(piece);
	free(n.begins);
	return good;
}

const bool *image_texts(struct image *image, const char *const texts[], size_t count)
{
	struct image_private *priv = private_of(image);

	if (priv->texts && priv->texts_of == texts && priv->ntexts == count)
		return priv->texts;
	free(priv->texts);
	priv->texts = calloc(count + 1, sizeof(*priv->texts));
	priv->texts_of = texts;
	priv->ntexts = count;
	if (priv->texts && !image_find_names(image, texts, count, priv->texts)) {
		free(priv->texts);
		priv->texts = NULL;
	}
	return priv->texts;
}

bool image_has_landing_pads(const struct image *image)
{
	struct elf_file elf;
	bool found;

	if (elf_file_read(&elf, image->fd))
		return true;
	found = !elf.nsections || elf_section(&elf, ".gcc_except_table");
	elf_file_free(&elf);
	return found;
}

struct search {
	const char *name, *member;
	uint64_t size;
	const char *const *members; /* bit-fields; NULL: anything */
	size_t count;
	uint8_t *bits;
	bool found;
};

/* The first member has this name, and is no bit-field. */
static bool starts_with(Dwarf_Die *entry, const char *member)
{
	Dwarf_Die child;
	const char *name;

	if (dwarf_child(entry, &child))
		return false;
	while (dwarf_tag(&child) != DW_TAG_member)
		if (dwarf_siblingof(&child, &child))
			return false;
	name = dwarf_diename(&child);
	return name && !strcmp(name, member) && !dwarf_hasattr(&child, DW_AT_bit_size);
}

/* How many bits the member has, if it is a bit-field; 0: it is none. */
static unsigned field_bits(Dwarf_Die *member)
{
	int bits = dwarf_hasattr(member, DW_AT_bit_size) ? dwarf_bitsize(member) : 0;

	return bits > 0 && bits < 64 ? bits : 0;
}

/* Its members are these bit-fields and no others. */
static bool consists_of(Dwarf_Die *entry, const struct search *search)
{
	size_t seen = 0;
	Dwarf_Die child;

	for (int more = dwarf_child(entry, &child); !more; more = dwarf_siblingof(&child, &child)) {
		const char *name = dwarf_tag(&child) == DW_TAG_member ? dwarf_diename(&child) : NULL;

		if (!name)
			continue;
		if (seen == search->count || strcmp(name, search->members[seen]) ||
		    !(search->bits[seen] = field_bits(&child)))
			return false;
		seen++;
	}
	return seen == search->count;
}

static bool look_at(void *context, Dwarf_Die *entry, uint32_t depth)
{
	struct search *search = context;
	const char *name;

	if (search->found || dwarf_tag(entry) != DW_TAG_structure_type)
		return false;
	name = dwarf_diename(entry);
	if (!name || strcmp(name, search->name))
		return false;
	search->found = search->members ? consists_of(entry, search)
					: dwarf_bytesize(entry) == (int)search->size &&
						  (!search->member || starts_with(entry, search->member));
	return false;
}

static bool search_structs(struct image *image, struct search *search)
{
	struct dwarf_reader *reader = image_dwarf(image);
	uint64_t deadline = now_ms() + DEADLINE;

	for (size_t i = 0; reader && i < reader->nunits && !search->found && now_ms() < deadline; i++)
		unit_walk(reader, &reader->units[i], deadline, look_at, search);
	return search->found;
}

bool image_has_struct(struct image *image, const char *name, uint32_t size, const char *member)
{
	struct search search = { .name = name, .member = member, .size = size };

	return search_structs(image, &search);
}

bool image_has_bits(struct image *image, const char *name, const char *const *members, size_t count, uint8_t *bits)
{
	struct search search = { .name = name, .members = members, .count = count, .bits = bits };

	return search_structs(image, &search);
}
