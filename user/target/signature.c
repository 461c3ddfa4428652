/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signature.c - functions as their program's author declared them: "int solve(double *grid, int n)", from DWARF.
 *
 * A C declaration is written inside out: the type stands around the name. So each step hands the part that is written
 * already to the type that it points to, returns or is made of, until a named type ends it.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/dwarf_reader.h"

#define TYPES_MOST 32  /* types around a name */
#define TEXT_MOST 2000 /* bytes of a signature */
#define PARAMETERS_SHOWN 64
#define ENTRIES_MOST 65536u /* looked at for a signature: functions that take functions can come to any number */
#define STEPS_PER_ENTRY 16
#define DEADLINE 5000u /* ms for all units together */

static char *declare(Dwarf_Die *entry, char *inner, unsigned depth, unsigned *left);

/* Puts a text together; what was `inner` is freed. Longer ones are cut: they are for people. NULL: no memory. */
__attribute__((format(printf, 2, 3))) static char *around(char *inner, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	free(inner);
	if (text && strlen(text) > TEXT_MOST)
		strcpy(text + TEXT_MOST - 3, "...");
	return text;
}

/* False: the signature has used up what it may. */
static bool spend(unsigned *left)
{
	if (!*left || reading_pauses(STEPS_PER_ENTRY))
		return false;
	--*left;
	return true;
}

static Dwarf_Die *type_of(Dwarf_Die *entry, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr_integrate(entry, DW_AT_type, &attribute), type);
}

/* "struct grid *g": a named type before what is around the name already. */
static char *named(Dwarf_Die *type, const char *kind, char *inner)
{
	const char *name = type ? dwarf_diename(type) : "void";

	return around(inner, "%s%.*s%s%s", kind, TEXT_MOST, name ?: "{...}", *inner && *inner != '[' ? " " : "", inner);
}

/* What a function's parameters are; malloc'ed. */
static char *parameters(Dwarf_Die *function, unsigned depth, unsigned *left)
{
	Dwarf_Attribute attribute;
	char *list = strdup("");
	Dwarf_Die child;
	unsigned count = 0;

	for (int more = dwarf_child(function, &child); list && !more && spend(left);
	     more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		const char *name;
		char *one;

		if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
			continue;
		if (count++ == PARAMETERS_SHOWN)
			break;
		name = tag == DW_TAG_formal_parameter ? dwarf_diename(&child) : NULL;
		one = tag == DW_TAG_unspecified_parameters
			      ? strdup("...")
			      : declare(&child, strndup(name ?: "", TEXT_MOST), depth + 1, left);
		list = around(list, "%s%s%s", list, *list ? ", " : "", one ?: "?");
		free(one);
	}
	if (list && !count && dwarf_attr_integrate(function, DW_AT_prototyped, &attribute))
		list = around(list, "void");
	return list;
}

static char *array(Dwarf_Die *type, char *inner, unsigned depth, unsigned *left)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;

	for (int more = dwarf_child(type, &child); inner && !more && spend(left);
	     more = dwarf_siblingof(&child, &child)) {
		Dwarf_Word bound;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!dwarf_formudata(dwarf_attr_integrate(&child, DW_AT_count, &attribute), &bound))
			inner = around(inner, "%s[%llu]", inner, (unsigned long long)bound);
		else if (!dwarf_formudata(dwarf_attr_integrate(&child, DW_AT_upper_bound, &attribute), &bound))
			inner = around(inner, "%s[%llu]", inner, (unsigned long long)bound + 1);
		else
			inner = around(inner, "%s[]", inner);
	}
	return declare(type, inner, depth + 1, left);
}

/* A pointer binds less than what an array or a function puts behind the name. */
static char *pointer(Dwarf_Die *type, const char *mark, char *inner, unsigned depth, unsigned *left)
{
	Dwarf_Die target;
	int tag = type_of(type, &target) ? dwarf_tag(&target) : 0;
	bool braced = tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type;

	return declare(type, around(inner, braced ? "(%s%s)" : "%s%s", mark, inner), depth + 1, left);
}

static char *qualified(Dwarf_Die *type, const char *word, char *inner, unsigned depth, unsigned *left)
{
	Dwarf_Die target;
	bool to_pointer = type_of(type, &target) && dwarf_tag(&target) == DW_TAG_pointer_type;
	char *text;

	if (to_pointer)
		return declare(type, around(inner, "%s%s%s", word, *inner ? " " : "", inner), depth + 1, left);
	text = declare(type, inner, depth + 1, left);
	return text ? around(text, "%s %s", word, text) : NULL;
}

/* Writes the type of `entry` around `inner`, which it takes. */
static char *declare(Dwarf_Die *entry, char *inner, unsigned depth, unsigned *left)
{
	Dwarf_Die type;
	char *list;

	if (!inner)
		return NULL;
	if (depth > TYPES_MOST || !spend(left))
		return around(inner, "? %s", inner);
	if (!type_of(entry, &type))
		return named(NULL, "", inner);
	switch (dwarf_tag(&type)) {
	case DW_TAG_pointer_type:
		return pointer(&type, "*", inner, depth, left);
	case DW_TAG_reference_type:
		return pointer(&type, "&", inner, depth, left);
	case DW_TAG_rvalue_reference_type:
		return pointer(&type, "&&", inner, depth, left);
	case DW_TAG_const_type:
		return qualified(&type, "const", inner, depth, left);
	case DW_TAG_volatile_type:
		return qualified(&type, "volatile", inner, depth, left);
	case DW_TAG_restrict_type:
		return qualified(&type, "restrict", inner, depth, left);
	case DW_TAG_array_type:
		return array(&type, inner, depth, left);
	case DW_TAG_structure_type:
		return named(&type, "struct ", inner);
	case DW_TAG_class_type:
		return named(&type, "class ", inner);
	case DW_TAG_union_type:
		return named(&type, "union ", inner);
	case DW_TAG_enumeration_type:
		return named(&type, "enum ", inner);
	case DW_TAG_subroutine_type:
		list = parameters(&type, depth, left);
		inner = around(inner, "%s(%s)", inner, list ?: "?");
		free(list);
		return declare(&type, inner, depth + 1, left);
	}
	return named(&type, "", inner);
}

static char *signature(Dwarf_Die *function)
{
	unsigned left = ENTRIES_MOST;
	const char *name = dwarf_diename(function);
	char *list = name ? parameters(function, 0, &left) : NULL, *text = NULL;

	if (list && asprintf(&text, "%.*s(%s)", TEXT_MOST, name, list) < 0)
		text = NULL;
	free(list);
	return declare(function, text, 0, &left);
}

/* --- which functions ---------------------------------------------------- */

struct wanted {
	uint64_t address;
	char **text;
};

struct search {
	struct wanted *wanted; /* ascending by address */
	size_t count;
};

static int by_address(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static bool look_at(void *context, Dwarf_Die *entry, uint32_t depth)
{
	struct search *search = context;
	struct wanted key, *found;

	switch (dwarf_tag(entry)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_subprogram:
		break;
	default:
		return false;
	}
	if (dwarf_entrypc(entry, &key.address))
		return false;
	found = bsearch(&key, search->wanted, search->count, sizeof(key), by_address);
	while (found && found > search->wanted && found[-1].address == key.address)
		found--;
	for (; found && found < search->wanted + search->count && found->address == key.address; found++)
		if (!*found->text)
			*found->text = signature(entry);
	return true; /* Fortran's internal procedures are inside */
}

int image_signatures(struct image *image, const struct symbol *const *functions, size_t count, char **texts)
{
	struct dwarf_reader *reader = image_dwarf(image);
	struct search search = { .wanted = calloc(count + 1, sizeof(*search.wanted)), .count = count };
	uint64_t deadline = now_ms() + DEADLINE;

	if (!search.wanted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		texts[i] = NULL;
		search.wanted[i] = (struct wanted){ .address = functions[i]->address, .text = &texts[i] };
	}
	qsort(search.wanted, count, sizeof(*search.wanted), by_address);
	for (size_t i = 0; count && reader && i < reader->nunits && now_ms() < deadline; i++)
		unit_walk(reader, &reader->units[i], deadline, look_at, &search);
	free(search.wanted);
	return 0;
}
