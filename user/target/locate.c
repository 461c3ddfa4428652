/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locate.c - from a return address to the source line of the call.
 *
 * The line table gives, for the last byte of the call instruction, the place where the call is written, inlined or
 * not. The function comes from the innermost subprogram or inlined subroutine around it. Both are read
 * a compilation unit at a time and kept, so the first lookup in a unit costs milliseconds and the others next to
 * nothing.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/dwarf_reader.h"
#include "util/log.h"

#define FUNCTIONS_MOST (2u << 20) /* ranges of one unit */
#define FUNCTIONS_DEADLINE 5000u  /* ms to read those of one unit */
#define LINES_MOST (2u << 20)     /* of one unit; libdw is about a second over them, and takes 200 MiB */
#define LINE_MEMORY 48u           /* bytes libdw keeps of one line, about */
#define FILE_LENGTH_MOST 8192
#define FUNCTION_LENGTH_MOST 4096u

/* Whether libdw may run the unit's line program; runs it. */
static bool lines_usable(struct dwarf_reader *reader, struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	uint64_t expected;
	Dwarf_Lines *lines;
	size_t count;

	if (unit->lines_known)
		return unit->lines_usable;
	unit->lines_known = true;
	if (!dwarf_attr(die, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &offset))
		return false;
	if (!line_program_counts(&reader->main.sections, offset, LINES_MOST, &expected))
		return false;
	if (expected > LINES_MOST) {
		if (reading_refuses(reader->image, REFUSED_ROOM << ROOM_DWARF))
			log_warn("%s: its DWARF makes too many lines of one unit: source lines there are not known",
				 log_safe(reader->image->path));
		return false;
	}
	if (image_reads(reader->image, EFFORT_RANGES, expected) || dwarf_getsrclines(die, &lines, &count))
		return false;
	reader->memory += count * LINE_MEMORY;
	unit->lines_usable = true;
	return true;
}

/* What unit_walk() collects for read_functions(). */
struct collection {
	const struct image *image;
	struct intervals *functions;
	int error;
};

static bool collect_function(void *context, Dwarf_Die *entry, uint32_t depth)
{
	struct collection *collection = context;
	struct interval interval = { .value = dwarf_dieoffset(entry), .depth = depth };
	Dwarf_Addr base = 0;
	ptrdiff_t at = 0;

	switch (dwarf_tag(entry)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		while (!collection->error && (at = dwarf_ranges(entry, at, &base, &interval.low, &interval.high)) > 0)
			collection->error = image_reads(collection->image, EFFORT_RANGES, 1)
						    ? -E2BIG
						    : intervals_add(collection->functions, interval, FUNCTIONS_MOST);
		return !collection->error;
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return !collection->error;
	default:
		return false;
	}
}

static void read_functions(const struct image *image, struct dwarf_reader *reader, struct unit *unit)
{
	struct collection collection = { .image = image, .functions = &unit->functions };

	unit->functions_read = true;
	unit_walk(reader, unit, now_ms() + FUNCTIONS_DEADLINE, collect_function, &collection);
	intervals_finish(&unit->functions);
	reader->memory += unit->functions.count * sizeof(*unit->functions.list);
}

static struct unit *unit_with_die(struct dwarf_reader *reader, Dwarf_Off die)
{
	size_t low = 0, high = reader->nunits;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->units[middle].die < die)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reader->nunits && reader->units[low].die == die ? &reader->units[low] : NULL;
}

static struct unit *unit_at(struct dwarf_reader *reader, uint64_t address)
{
	const struct interval *covering = intervals_find(&reader->covered, address);
	Dwarf_Die die;

	if (covering)
		return &reader->units[covering->value];
	if (!dwarf_addrdie(reader->dwarf, address, &die))
		return NULL;
	return unit_with_die(reader, dwarf_dieoffset(&die));
}

/* The file's name, malloc'ed; one that is not absolute is below the folder in which the compiler ran. */
static char *file_name(Dwarf_Die *unit, const char *file)
{
	Dwarf_Attribute attribute;
	const char *folder = *file == '/' ? NULL : dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	char *name;

	if (!folder || !*folder)
		return strndup(file, FILE_LENGTH_MOST);
	return asprintf(&name, "%.*s/%.*s", FILE_LENGTH_MOST, folder, FILE_LENGTH_MOST, file) < 0 ? NULL : name;
}

static void locate_line(struct dwarf_reader *reader, struct unit *unit, uint64_t address,
			struct source_location *location)
{
	Dwarf_Line *line;
	const char *file;
	Dwarf_Die die;
	int number = 0, column = 0;

	if (!dwarf_offdie(reader->dwarf, unit->die, &die) || !lines_usable(reader, unit, &die))
		return;
	line = dwarf_getsrc_die(&die, address);
	file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || !*file)
		return;
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	location->file = file_name(&die, file);
	location->line = number > 0 ? number : 0;
	location->column = column > 0 ? column : 0;
}

static void locate_function(const struct image *image, struct dwarf_reader *reader, struct unit *unit, uint64_t address,
			    struct source_location *location)
{
	const struct interval *function;
	const char *name;
	Dwarf_Addr entry;
	Dwarf_Die die;

	if (!unit->functions_read)
		read_functions(image, reader, unit);
	function = intervals_find(&unit->functions, address);
	if (!function || !dwarf_offdie(reader->dwarf, function->value, &die))
		return;
	name = dwarf_diename(&die);
	if (!name || !*name)
		return;
	location->function = strndup(name, FUNCTION_LENGTH_MOST);
	if (dwarf_tag(&die) == DW_TAG_subprogram && !dwarf_entrypc(&die, &entry) && entry <= address)
		location->function_offset = address + 1 - entry;
}

int image_locate(struct image *image, uint64_t return_offset, struct source_location *location)
{
	const struct symbol *symbol;
	struct dwarf_reader *reader;
	struct unit *unit;
	uint64_t address;

	memset(location, 0, sizeof(*location));
	/* The last byte of the call: the return address may belong to the next line, or to the next function. */
	if (!return_offset || !code_address_of(private_of(image), return_offset - 1, &address))
		return -ENOENT;
	reader = image_dwarf(image);
	unit = reader ? unit_at(reader, address) : NULL;
	if (unit) {
		locate_line(reader, unit, address, location);
		locate_function(image, reader, unit, address, location);
	}
	symbol = location->function ? NULL : image_symbol_at(image, return_offset - 1);
	if (symbol) {
		location->function = strdup(symbol->name);
		location->function_offset = return_offset - symbol->offset;
	}
	return location->file || location->function ? 0 : -ENOENT;
}

void source_location_free(struct source_location *location)
{
	free(location->file);
	free(location->function);
	memset(location, 0, sizeof(*location));
}
