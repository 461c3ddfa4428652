/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf.c - opening the DWARF of an image, and walking it.
 *
 * libdw does the decoding; this file keeps it within bounds, for the file belongs to the target's user:
 *
 *  - libdw sees a copy of the sections it needs (debug_sections.c), never the file itself;
 *  - it is kept from opening files by itself. It would follow .gnu_debugaltlink (what dwz moved out of several
 *    files) to any path, a FIFO too: the copy has no such section, and the alternate file, found and checked by
 *    debug_file.c, is handed over. The .dwo files of split DWARF are not followed: lines are known without them;
 *  - a line program makes some 100 bytes out of each of its own: its lines are counted before it is run
 * (line_program.c);
 *  - walks are limited by the number of entries that the unit can hold and by a deadline.
 *
 * Addresses are found through the ranges of the units themselves rather than .debug_aranges, which clang does not
 * write; .debug_aranges serves units that state no ranges.
 */
#include "target/dwarf_reader.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "target/unwind.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define UNITS_MOST (1u << 20)
#define RANGES_MOST (4u << 20)
#define RANGES_MS 10000       /* the units of gigabytes of DWARF take a few seconds */
#define STEPS_PER_ENTRY 16    /* what libdw does for one */
#define ABBREVIATION_BYTES 64 /* in libdw */
#define ABBREVIATION_STEPS 4
#define LOOKUP_MEMORY_MOST (512ull << 20)

uint64_t now_ms(void)
{
	return clock_monotonic() / 1000000;
}

/* --- opening ----------------------------------------------------------- */

static bool dwarf_file_open(const struct image *image, int fd, struct dwarf_file *file)
{
	if (debug_sections_copy(image, fd, &file->sections))
		return false;
	elf_version(EV_CURRENT);
	file->elf = elf_memory((char *)file->sections.file, file->sections.size);
	file->dwarf = file->elf ? dwarf_begin_elf(file->elf, DWARF_C_READ, NULL) : NULL;
	return file->dwarf;
}

static void dwarf_file_close(struct dwarf_file *file)
{
	if (file->dwarf)
		dwarf_end(file->dwarf);
	if (file->elf)
		elf_end(file->elf);
	free(file->sections.file);
}

static int add_unit(struct dwarf_reader *reader, size_t *room, struct unit unit)
{
	if (reader->nunits == UNITS_MOST)
		return -E2BIG;
	if (array_one_more(&reader->units, room, reader->nunits, sizeof(*reader->units)))
		return -ENOMEM;
	reader->units[reader->nunits++] = unit;
	return 0;
}

/* --- abbreviations ------------------------------------------------------ */

static uint64_t take_number(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	return unwind_uleb(at, end, &value) ? value : 0;
}

/* How many come up to the one with this code; 0 as the code: all of the table. */
static uint64_t count_abbreviations(const struct debug_sections *sections, uint64_t offset, uint64_t code)
{
	const uint8_t *end = sections->abbreviations + sections->abbreviations_size;
	const uint8_t *at = offset < sections->abbreviations_size ? sections->abbreviations + offset : end;
	uint64_t count = 0, found, attribute, form;

	while (at < end && (found = take_number(&at, end))) {
		count++;
		if (found == code)
			break;
		take_number(&at, end);
		at += at < end; /* has it children? */
		do {
			attribute = take_number(&at, end);
			form = take_number(&at, end);
			if (form == DW_FORM_implicit_const)
				take_number(&at, end);
		} while (at < end && (attribute || form));
		if (reading_pauses(1))
			break;
	}
	return count;
}

/*
 * libdw keeps what it has read of a unit's abbreviations on the way to the one that it looks for, for each unit anew.
 * Thousands of units that share a long table would take all memory. True: that is too much.
 */
static bool meet_abbreviations(struct dwarf_reader *reader, uint64_t offset, uint64_t code)
{
	uint64_t count = count_abbreviations(&reader->main.sections, offset, code);

	reader->memory += count * ABBREVIATION_BYTES;
	return image_reads(reader->image, EFFORT_RANGES, count * ABBREVIATION_STEPS) ||
	       count * ABBREVIATION_BYTES > LOOKUP_MEMORY_MOST;
}

/* Those of the unit's own entry. */
static bool meet_first_abbreviations(struct dwarf_reader *reader, const struct unit *unit)
{
	const struct debug_sections *sections = &reader->main.sections;
	const uint8_t *at = sections->info + unit->die, *end = sections->info + sections->info_size;

	return unit->die < sections->info_size &&
	       (meet_abbreviations(reader, unit->abbreviations, take_number(&at, end)) ||
		reader->memory > LOOKUP_MEMORY_MOST);
}

/* --- units -------------------------------------------------------------- */

static int cover(const struct image *image, struct dwarf_reader *reader, Dwarf_Die *die)
{
	struct interval interval = { .value = reader->nunits - 1 };
	Dwarf_Addr base = 0;
	ptrdiff_t at = 0;
	int error = 0;

	while (!error && (at = dwarf_ranges(die, at, &base, &interval.low, &interval.high)) > 0)
		error = image_reads(image, EFFORT_RANGES, 1) ? -E2BIG
							     : intervals_add(&reader->covered, interval, RANGES_MOST);
	return error;
}

/* Lists the units and the addresses that each covers. What comes after damage is left out. False: it takes too long. */
static bool read_units(const struct image *image, struct dwarf_reader *reader)
{
	uint64_t deadline = now_ms() + RANGES_MS;
	Dwarf_Off offset = 0, next, abbreviations;
	size_t header, room = 0;
	int error = 0;

	for (; !error && dwarf_nextcu(reader->dwarf, offset, &next, &header, &abbreviations, NULL, NULL) == 0;
	     offset = next) {
		struct unit unit = { .die = offset + header, .size = next - offset, .abbreviations = abbreviations };
		Dwarf_Die die;
		int tag;

		if (next <= offset)
			break;
		if (meet_first_abbreviations(reader, &unit))
			error = -E2BIG;
		if (error || !dwarf_offdie(reader->dwarf, unit.die, &die))
			continue;
		tag = dwarf_tag(&die);
		unit.is_compile = tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
		if (!unit.is_compile && tag != DW_TAG_partial_unit)
			continue;
		error = add_unit(reader, &room, unit);
		if (!error && unit.is_compile)
			error = cover(image, reader, &die);
		/* libdw skips some entries by itself, as many as there are. */
		if (!error && (image_reads(image, EFFORT_RANGES, 1) || now_ms() > deadline))
			error = -E2BIG;
	}
	intervals_finish(&reader->covered);
	return error != -E2BIG;
}

static struct dwarf_reader *reader_open(const struct image *image)
{
	const struct image_private *priv = private_of(image);
	struct dwarf_reader *reader = calloc(1, sizeof(*reader));
	int fd = priv->debug_fd >= 0 ? priv->debug_fd : image->fd;

	if (!reader)
		return NULL;
	reader->image = image;
	if (!dwarf_file_open(image, fd, &reader->main))
		goto failed;
	reader->dwarf = reader->main.dwarf;
	if (priv->alternate_fd >= 0) {
		if (!dwarf_file_open(image, priv->alternate_fd, &reader->alternate))
			goto failed;
		dwarf_setalt(reader->dwarf, reader->alternate.dwarf);
	}
	if (read_units(image, reader))
		return reader;
failed:
	dwarf_reader_free(reader);
	return NULL;
}

void dwarf_reader_free(struct dwarf_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->nunits; i++)
		intervals_free(&reader->units[i].functions);
	free(reader->units);
	intervals_free(&reader->covered);
	dwarf_file_close(&reader->main);
	dwarf_file_close(&reader->alternate);
	reading_lets_go(reader->image, ROOM_DWARF);
	free(reader);
}

struct dwarf_reader *image_dwarf(struct image *image)
{
	struct image_private *priv = private_of(image);

	if (!image->has_dwarf || priv->dwarf_failed)
		return NULL;
	/* libdw gives nothing back before its end: beyond the limit, begin anew. */
	if (priv->dwarf && priv->dwarf->memory > LOOKUP_MEMORY_MOST) {
		dwarf_reader_free(priv->dwarf);
		priv->dwarf = NULL;
	}
	if (!priv->dwarf) {
		priv->dwarf = reader_open(image);
		priv->dwarf_failed = !priv->dwarf;
		if (priv->dwarf_failed)
			log_info("%s: its DWARF is damaged or too large: no source lines", log_safe(image->path));
	}
	return priv->dwarf;
}

/* --- walking ----------------------------------------------------------- */

bool unit_walk(struct dwarf_reader *reader, struct unit *unit, uint64_t deadline, entry_fn visit, void *context)
{
	Dwarf_Die path[NESTING_MOST];
	uint32_t depth = 0;
	uint64_t entries = 0;

	if (!unit->counted && meet_abbreviations(reader, unit->abbreviations, 0))
		return false;
	unit->counted = true;
	if (!dwarf_offdie(reader->dwarf, unit->die, &path[0]))
		return false;
	if (dwarf_child(&path[0], &path[1]))
		return true;
	for (depth = 1; depth;) {
		Dwarf_Die *entry = &path[depth];

		if (entries++ > unit->size || reading_pauses(STEPS_PER_ENTRY) ||
		    (entries % 16 == 0 && now_ms() > deadline))
			return false;
		if (visit(context, entry, depth) && depth + 1 < NESTING_MOST &&
		    dwarf_child(entry, &path[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (depth && dwarf_siblingof(&path[depth], &path[depth]))
			depth--;
	}
	return true;
}
