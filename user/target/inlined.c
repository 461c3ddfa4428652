/*
 * inlined.c - functions that a program has only inlined, so that no probe can see them.
 *
 * The compiler leaves an abstract entry of an inlined function in the DWARF, with DW_AT_inline. Where there is no
 * symbol of that name nor of a clone of it (name.constprop.0), no code of its own is left.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "target/dwarf_reader.h"
#include "util/log.h"

#define NAMES_MOST (4u << 20)
#define NAME_BYTES_MOST (64u << 20)
#define NAME_LENGTH_MOST 4096u
#define DEADLINE 5000u /* ms for all units together */

struct inlined_names {
	char **names;
	size_t count, room;
	uint64_t bytes;
	bool full;
};

static bool add_name(struct inlined_names *set, const char *name)
{
	size_t length = name ? strnlen(name, NAME_LENGTH_MOST) : 0;

	if (!length || length == NAME_LENGTH_MOST)
		return true;
	if (set->count == NAMES_MOST || set->bytes + length > NAME_BYTES_MOST)
		return false;
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 64;
		char **larger = realloc(set->names, room * sizeof(*larger));

		if (!larger)
			return false;
		set->names = larger;
		set->room = room;
	}
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

static bool collect_inlined(void *context, Dwarf_Die *entry, uint32_t depth)
{
	struct inlined_names *set = context;

	switch (dwarf_tag(entry)) {
	case DW_TAG_subprogram:
		if (dwarf_func_inline(entry) && !set->full)
			set->full = !add_name(set, dwarf_diename(entry)) || !add_name(set, linkage_name(entry));
		return false;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return !set->full;
	default:
		return false;
	}
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
		whole &= unit_walk(reader, &reader->units[i], deadline, collect_inlined, set);
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
