/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locate.c - from a return address to the source line of the call.
 *
 * The line table gives, for the last byte of the call instruction, the place where the call is written, inlined or
 * not. The function comes from the innermost subprogram or inlined subroutine around it. What a header of the system
 * has brought (std::mutex::lock() is a call in a header, and the same one for all mutexes) stands for the call that
 * the program has written: from there the way leads out of inlined functions to the first place elsewhere.
 *
 * A function that the compiler has cut out of another one, and handed on to a runtime (the body of a parallel region),
 * begins at the line of the construct. The call that hands it on has no line of its own in what GCC writes: it gets
 * that of whatever stands before it.
 *
 * Lines and functions are read a compilation unit at a time and kept, so the first lookup in a unit costs milliseconds
 * and the others next to nothing.
 */
#include <dwarf.h>
#include <errno.h>
#include <limits.h>
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
	Dwarf_Off within[NESTING_MOST]; /* by depth: the function around what stands inside an entry there; 0: none */
	int error;
};

static bool is_function(Dwarf_Die *entry)
{
	return dwarf_tag(entry) == DW_TAG_subprogram || dwarf_tag(entry) == DW_TAG_inlined_subroutine;
}

/* May there be functions inside? */
static bool is_scope(Dwarf_Die *entry)
{
	switch (dwarf_tag(entry)) {
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return is_function(entry);
	}
}

static bool collect_function(void *context, Dwarf_Die *entry, uint32_t depth)
{
	struct collection *collection = context;
	struct interval interval = { .value = dwarf_dieoffset(entry),
				     .within = collection->within[depth - 1],
				     .depth = depth };
	Dwarf_Addr base = 0;
	ptrdiff_t at = 0;

	collection->within[depth] = dwarf_tag(entry) == DW_TAG_subprogram ? interval.value : interval.within;
	while (is_function(entry) && !collection->error &&
	       (at = dwarf_ranges(entry, at, &base, &interval.low, &interval.high)) > 0)
		collection->error = image_reads(collection->image, EFFORT_RANGES, 1)
					    ? -E2BIG
					    : intervals_add(collection->functions, interval, FUNCTIONS_MOST);
	return is_scope(entry) && !collection->error;
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

static void set_place(struct source_location *location, Dwarf_Die *unit, const char *file, int line, int column)
{
	free(location->file);
	location->file = file_name(unit, file);
	location->line = line > 0 ? line : 0;
	location->column = column > 0 ? column : 0;
}

static void take_line(struct source_location *location, Dwarf_Die *unit, Dwarf_Line *line)
{
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number = 0, column = 0;

	if (!file || !*file)
		return;
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	set_place(location, unit, file, number, column);
}

static const struct interval *function_at(const struct image *image, struct dwarf_reader *reader, struct unit *unit,
					  uint64_t address)
{
	if (!unit->functions_read)
		read_functions(image, reader, unit);
	return intervals_find(&unit->functions, address);
}

static void take_function(struct source_location *location, Dwarf_Die *function)
{
	const char *name = dwarf_diename(function);

	if (!name || !*name)
		return;
	free(location->function);
	location->function = strndup(name, FUNCTION_LENGTH_MOST);
}

/* Takes "folder/.." out of a path. */
static void straighten(char *path)
{
	char *up, *folder;

	while ((up = strstr(path, "/../"))) {
		for (folder = up; folder > path && *--folder != '/';)
			;
		memmove(folder, up + strlen("/.."), strlen(up + strlen("/..")) + 1);
	}
}

/* Of the C library, a compiler, or a language: nothing that is written there is the program's. */
static bool is_of_system(const char *file)
{
	static const char *const folders[] = { "/usr/include/", "/usr/local/include/", "/usr/lib/", "/rustc/" };
	char path[FILE_LENGTH_MOST];

	snprintf(path, sizeof(path), "%s", file);
	straighten(path);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return strstr(path, "/include/c++/"); /* of a compiler elsewhere */
}

static bool number_of(Dwarf_Die *die, unsigned name, Dwarf_Word *number)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, number);
}

/* Where the inlined function is called. False: it is none, or that is not known. */
static bool take_call(struct source_location *location, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Word file, line, column = 0;
	Dwarf_Files *files;
	const char *name;
	size_t count;

	if (dwarf_tag(inlined) != DW_TAG_inlined_subroutine || !number_of(inlined, DW_AT_call_file, &file) ||
	    !number_of(inlined, DW_AT_call_line, &line) || dwarf_getsrcfiles(unit, &files, &count) || file >= count)
		return false;
	name = dwarf_filesrc(files, file, NULL, NULL);
	if (!name || !*name || line > INT_MAX)
		return false;
	number_of(inlined, DW_AT_call_column, &column);
	set_place(location, unit, name, line, column > INT_MAX ? 0 : column);
	return location->file;
}

static void locate_in(const struct image *image, struct dwarf_reader *reader, struct unit *unit, uint64_t address,
		      struct source_location *location)
{
	const struct interval *function = function_at(image, reader, unit, address), *all = unit->functions.list;
	Dwarf_Addr entry;
	Dwarf_Die die, in;

	if (!dwarf_offdie(reader->dwarf, unit->die, &die))
		return;
	if (lines_usable(reader, unit, &die))
		take_line(location, &die, dwarf_getsrc_die(&die, address));
	if (!function || !dwarf_offdie(reader->dwarf, function->value, &in))
		return;
	take_function(location, &in);
	while (location->file && is_of_system(location->file) && function->outer >= 0 &&
	       take_call(location, &die, &in)) {
		function = &all[function->outer];
		if (!dwarf_offdie(reader->dwarf, function->value, &in))
			return;
		take_function(location, &in);
	}
	if (location->function && dwarf_tag(&in) == DW_TAG_subprogram && !dwarf_entrypc(&in, &entry) &&
	    entry <= address)
		location->function_offset = address + 1 - entry;
}

/* --- functions that the compiler has cut out -------------------------------- */

/* The function that one which begins there was cut out of. False: none begins there that was. */
static bool cut_out_of(struct dwarf_reader *reader, struct unit *unit, const struct interval *function,
		       uint64_t address, Dwarf_Die *around)
{
	const struct interval *all = unit->functions.list;
	Dwarf_Attribute attribute;
	bool artificial = false;
	Dwarf_Addr entry;
	Dwarf_Die die;

	for (; function; function = function->outer < 0 ? NULL : &all[function->outer])
		if (dwarf_offdie(reader->dwarf, function->value, &die) && dwarf_tag(&die) == DW_TAG_subprogram)
			break;
	return function && function->within && !dwarf_entrypc(&die, &entry) && entry == address &&
	       dwarf_attr(&die, DW_AT_artificial, &attribute) && !dwarf_formflag(&attribute, &artificial) &&
	       artificial && dwarf_offdie(reader->dwarf, function->within, around);
}

/* The first of those at the address: the others are of what stands there, too. */
static Dwarf_Line *first_line_at(Dwarf_Die *unit, uint64_t address)
{
	size_t count, low = 0, high;
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	Dwarf_Addr at;

	if (dwarf_getsrclines(unit, &lines, &count))
		return NULL;
	for (high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		line = dwarf_onesrcline(lines, middle);
		if (!line || dwarf_lineaddr(line, &at))
			return NULL;
		if (at < address)
			low = middle + 1;
		else
			high = middle;
	}
	line = low < count ? dwarf_onesrcline(lines, low) : NULL;
	return line && !dwarf_lineaddr(line, &at) && at == address ? line : NULL;
}

int image_locate_cut_out(struct image *image, uint64_t offset, struct source_location *location)
{
	struct dwarf_reader *reader;
	struct unit *unit;
	uint64_t address;
	Dwarf_Die die, around;

	memset(location, 0, sizeof(*location));
	if (!code_address_of(private_of(image), offset, &address))
		return -ENOENT;
	reader = image_dwarf(image);
	unit = reader ? unit_at(reader, address) : NULL;
	if (!unit || !dwarf_offdie(reader->dwarf, unit->die, &die) || !lines_usable(reader, unit, &die) ||
	    !cut_out_of(reader, unit, function_at(image, reader, unit, address), address, &around))
		return -ENOENT;
	take_line(location, &die, first_line_at(&die, address));
	take_function(location, &around);
	if (location->file && location->function)
		return 0;
	source_location_free(location);
	return -ENOENT;
}

/* --- calls ---------------------------------------------------------------------- */

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
	if (unit)
		locate_in(image, reader, unit, address, location);
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
