/*
 * dwarf.c - opening the DWARF of an image, and walking it.
 *
 * libdw does the decoding; this file keeps it within bounds, for the file belongs to the target's user:
 *
 *  - libdw sees a copy of the sections it needs (debug_sections.c), never the file itself;
 *  - it is kept from opening files by itself. It would follow .gnu_debugaltlink (what dwz moved out of several
 *    files) to any path, a FIFO too: the copy has no such section, and the alternate file, found and checked by
 *    debug_file.c, is handed over. The .dwo files of split DWARF are not followed: lines are known without them;
 *  - a line program makes some 40 bytes out of each of its own: its size is checked before it is run;
 *  - walks are limited by the number of entries that the unit can hold and by a deadline.
 *
 * Addresses are found through the ranges of the units themselves rather than .debug_aranges, which clang does not
 * write; .debug_aranges serves units that state no ranges.
 */
#include "target/dwarf_reader.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define UNITS_MOST (1u << 20)
#define RANGES_MOST (4u << 20)
#define LOOKUP_MEMORY_MOST (512ull << 20)

uint64_t now_ms(void)
{
	return clock_monotonic() / 1000000;
}

/* --- opening ----------------------------------------------------------- */

static bool dwarf_file_open(int fd, struct dwarf_file *file)
{
	if (debug_sections_copy(fd, &file->sections))
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

static int cover(struct dwarf_reader *reader, Dwarf_Die *die)
{
	struct interval interval = { .value = reader->nunits - 1 };
	Dwarf_Addr base = 0;
	ptrdiff_t at = 0;
	int error = 0;

	while (!error && (at = dwarf_ranges(die, at, &base, &interval.low, &interval.high)) > 0)
		error = intervals_add(&reader->covered, interval, RANGES_MOST);
	return error;
}

/* Lists the units and the addresses that each covers. What comes after damage is left out. */
static void read_units(struct dwarf_reader *reader)
{
	Dwarf_Off offset = 0, next;
	size_t header, room = 0;
	int error = 0;

	for (; !error && dwarf_nextcu(reader->dwarf, offset, &next, &header, NULL, NULL, NULL) == 0; offset = next) {
		struct unit unit = { .die = offset + header, .size = next - offset };
		Dwarf_Die die;
		int tag;

		if (next <= offset)
			break;
		if (!dwarf_offdie(reader->dwarf, unit.die, &die))
			continue;
		tag = dwarf_tag(&die);
		unit.is_compile = tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
		if (!unit.is_compile && tag != DW_TAG_partial_unit)
			continue;
		error = add_unit(reader, &room, unit);
		if (!error && unit.is_compile)
			error = cover(reader, &die);
	}
	intervals_finish(&reader->covered);
}

static struct dwarf_reader *reader_open(const struct image *image)
{
	const struct image_private *priv = private_of(image);
	struct dwarf_reader *reader = calloc(1, sizeof(*reader));
	int fd = priv->debug_fd >= 0 ? priv->debug_fd : image->fd;

	if (!reader)
		return NULL;
	if (!dwarf_file_open(fd, &reader->main))
		goto failed;
	reader->dwarf = reader->main.dwarf;
	if (priv->alternate_fd >= 0) {
		if (!dwarf_file_open(priv->alternate_fd, &reader->alternate))
			goto failed;
		dwarf_setalt(reader->dwarf, reader->alternate.dwarf);
	}
	read_units(reader);
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

bool unit_walk(struct dwarf_reader *reader, const struct unit *unit, uint64_t deadline, entry_fn visit, void *context)
{
	Dwarf_Die path[NESTING_MOST];
	uint32_t depth = 0;
	uint64_t entries = 0;

	if (!dwarf_offdie(reader->dwarf, unit->die, &path[0]))
		return false;
	if (dwarf_child(&path[0], &path[1]))
		return true;
	for (depth = 1; depth;) {
		Dwarf_Die *entry = &path[depth];

		if (entries++ > unit->size || (entries % 256 == 0 && now_ms() > deadline))
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
