/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inlined.c - functions that a program has only inlined, so that no probe can see them.
 *
 * The compiler leaves an abstract entry of an inlined function in the DWARF, with DW_AT_inline. Where there is no
 * symbol of that name nor of a clone of it (name.constprop.0), no code of its own is left.
 *
 * Link-time optimisation of gcc inlines when the abstract entries are long written, so they have no DW_AT_inline.
 * Its units are named "<artificial>": in those the inlined bodies themselves are visited, and name their origin.
 *
 * Entries that dwz moved to a file shared by several programs are not searched: they may be another program's.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "target/dwarf_reader.h"
#include "util/array.h"
#include "util/log.h"

#define NAMES_MOST (4u << 20)
#define NAME_BYTES_MOST (64u << 20)
#define NAME_LENGTH_MOST 4096u
#define ORIGINS_MOST (8u << 20)
#define DEADLINE 5000u /* ms for all units together */

struct inlined_names {
	char **names; /* in order of strcmp once read */
	size_t count, room;
	uint64_t bytes;
	Dwarf_Off *origins; /* entries whose names are still to be added */
	size_t norigins, origins_room;
	bool full;
};

static bool add_name(struct inlined_names *set, const char *name)
{
	size_t length = name ? strnlen(name, NAME_LENGTH_MOST) : 0;

	if (!length || length == NAME_LENGTH_MOST)
		return true;
	if (set->count == NAMES_MOST || set->bytes + length > NAME_BYTES_MOST)
		return false;
	if (array_one_more(&set->names, &set->room, set->count, sizeof(*set->names)))
		return false;
	set->names[set->count] = strdup(name);
	if (!set->names[set->count])
		return false;
	set->count++;
	set->bytes += length + 1;
	return true;
}

static const char *linkage_name(Dwarf_Die *entry)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(entry, DW_AT_linkage_name, &attribute));
}

static void add_entry(struct inlined_names *set, Dwarf_Die *entry)
{
	if (!set->full)
		set->full = !add_name(set, dwarf_diename(entry)) || !add_name(set, linkage_name(entry));
}

static bool collect_abstract(void *context, Dwarf_Die *entry, uint32_t depth)
{
	struct inlined_names *set = context;

	switch (dwarf_tag(entry)) {
	case DW_TAG_subprogram:
		if (dwarf_func_inline(entry))
			add_entry(set, entry);
		return false;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return !set->full;
	default:
		return false;
	}
}

static bool add_origin(struct inlined_names *set, Dwarf_Off origin)
{
	if (set->norigins == ORIGINS_MOST)
		return false;
	if (array_one_more(&set->origins, &set->origins_room, set->norigins, sizeof(*set->origins)))
		return false;
	set->origins[set->norigins++] = origin;
	return true;
}

static bool collect_bodies(void *context, Dwarf_Die *entry, uint32_t depth)
{
	struct inlined_names *set = context;
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	switch (dwarf_tag(entry)) {
	case DW_TAG_inlined_subroutine:
		if (dwarf_formref_die(dwarf_attr(entry, DW_AT_abstract_origin, &attribute), &origin) && !set->full)
			set->full = !add_origin(set, dwarf_dieoffset(&origin));
		return !set->full;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return !set->full;
	default:
		return false;
	}
}

static int compare_offsets(const void *left, const void *right)
{
	const Dwarf_Off *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* A function is inlined in many places: its name is wanted once. */
static void add_origin_names(struct dwarf_reader *reader, struct inlined_names *set)
{
	Dwarf_Die entry;

	if (set->norigins)
		qsort(set->origins, set->norigins, sizeof(*set->origins), compare_offsets);
	for (size_t i = 0; i < set->norigins; i++)
		if ((i == 0 || set->origins[i] != set->origins[i - 1]) &&
		    dwarf_offdie(reader->dwarf, set->origins[i], &entry))
			add_entry(set, &entry);
	free(set->origins);
	set->origins = NULL;
}

static bool made_by_lto(struct dwarf_reader *reader, const struct unit *unit)
{
	Dwarf_Attribute attribute;
	const char *name;
	Dwarf_Die die;

	if (!unit->is_compile || !dwarf_offdie(reader->dwarf, unit->die, &die))
		return false;
	name = dwarf_formstring(dwarf_attr(&die, DW_AT_name, &attribute));
	return name && !strcmp(name, "<artificial>");
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static struct inlined_names *read_inlined(struct image *image)
{
	struct dwarf_reader *reader = image_dwarf(image);
	struct inlined_names *set = calloc(1, sizeof(*set));
	uint64_t deadline = now_ms() + DEADLINE;
	bool whole = true;

	if (!set || !reader)
		return set;
	for (size_t i = 0; i < reader->nunits && now_ms() < deadline && !set->full; i++)
		whole &= unit_walk(reader, &reader->units[i], deadline,
				   made_by_lto(reader, &reader->units[i]) ? collect_bodies : collect_abstract, set);
	add_origin_names(reader, set);
	if (!whole || set->full || now_ms() >= deadline)
		log_info("%s: not all of its DWARF was searched for inlined functions", log_safe(image->path));
	if (set->count)
		qsort(set->names, set->count, sizeof(*set->names), compare_names);
	return set;
}

/* Whether the image has code for the function, under its own name or as a clone. */
static bool has_code(const struct image *image, const char *name)
{
	size_t length = strlen(name), low = 0, high = image->nsymbols;

	if (image_symbol(image, name))
		return true;
	while (low < high) { /* the first symbol from "name." on: clones stand there */
		size_t middle = low + (high - low) / 2;
		const char *other = image->symbols[middle].name;
		int order = strncmp(other, name, length);

		if (order < 0 || (order == 0 && (unsigned char)other[length] < '.'))
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->nsymbols && !strncmp(image->symbols[low].name, name, length) &&
	       image->symbols[low].name[length] == '.';
}

bool image_inlined(struct image *image, const char *name)
{
	struct image_private *priv = private_of(image);

	if (!image->has_dwarf || !image->has_symtab || has_code(image, name))
		return false;
	if (!priv->inlined)
		priv->inlined = read_inlined(image);
	if (!priv->inlined || !priv->inlined->count)
		return false;
	return bsearch(&name, priv->inlined->names, priv->inlined->count, sizeof(name), compare_names);
}

void inlined_names_free(struct inlined_names *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++)
		free(set->names[i]);
	free(set->names);
	free(set);
}
