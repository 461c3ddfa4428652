/*
 * dwarf.c - opening the DWARF of an image, and walking it.
 *
 * libdw does the decoding; this file keeps it within bounds. The file belongs to the target's user, so:
 *
 *  - it is given to libdw as an Elf that reads (ELF_C_READ) and does not map: a mapped file that is cut raises SIGBUS;
 *  - libdw is kept from opening files by itself. It would follow .gnu_debugaltlink (what dwz moved out of several
 *    files) to any path, a FIFO too. The alternate file is found and checked here and handed over; without
 *    it such DWARF is not used. The .dwo files of split DWARF are not followed: lines are known without them;
 *  - sizes are checked before libdw allocates: all sections, unpacked, and each line program before it is run, for a
 *    line program makes some 40 bytes out of each of its own;
 *  - libdw 0.188 trusts that the string sections end with a NUL, so that is checked (found by mutation);
 *  - walks are limited by the number of entries that the unit can hold and by a deadline.
 *
 * Addresses are found through the ranges of the units themselves rather than .debug_aranges, which clang does not
 * write; .debug_aranges serves units that state no ranges.
 */
#include "target/dwarf_reader.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/log.h"

#define DWARF_BYTES_MOST (2ull << 30)  /* all sections of one file, unpacked */
#define UNITS_MOST (1u << 20)
#define RANGES_MOST (4u << 20)
#define LOOKUP_MEMORY_MOST (512ull << 20)

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- opening ----------------------------------------------------------- */

/* Bytes that a debug section takes in memory. */
static uint64_t unpacked_size(const struct elf_file *elf, const Elf64_Shdr *section)
{
	Elf64_Chdr *header;
	uint64_t size;

	if (!elf_section_filled(section))
		return 0;
	if (!(section->sh_flags & SHF_COMPRESSED))
		return section->sh_size;
	header = elf_bytes(elf, section->sh_offset, sizeof(*header), section->sh_size);
	size = header ? header->ch_size : UINT64_MAX;
	free(header);
	return size;
}

static bool sizes_acceptable(const struct elf_file *elf)
{
	uint64_t total = 0;

	for (size_t i = 1; i < elf->nsections; i++) {
		const char *name = elf_section_name(elf, &elf->sections[i]);
		uint64_t size;

		if (!strncmp(name, ".zdebug", 7)) /* GNU's own compression of before 2015, of unstated size */
			return false;
		if (strncmp(name, ".debug_", 7) && strncmp(name, ".gnu.debuglto", 13))
			continue;
		size = unpacked_size(elf, &elf->sections[i]);
		if (size > DWARF_BYTES_MOST || total + size > DWARF_BYTES_MOST)
			return false;
		total += size;
	}
	return true;
}

/* A section's content, which libdw has unpacked by now; NULL: none. */
static Elf_Data *section_data(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && !strcmp(name, wanted))
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

static bool strings_terminated(Elf *elf)
{
	static const char *const sections[] = { ".debug_str", ".debug_line_str" };

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const Elf_Data *data = section_data(elf, sections[i]);

		if (data && data->d_buf && data->d_size && ((const char *)data->d_buf)[data->d_size - 1] != '\0')
			return false;
	}
	return true;
}

/* What libdw makes of a file; false: nothing. */
static bool open_dwarf(int fd, Elf **elf, Dwarf **dwarf)
{
	struct elf_file file;
	bool acceptable;

	if (elf_file_read(&file, fd))
		return false;
	acceptable = sizes_acceptable(&file);
	elf_file_free(&file);
	if (!acceptable)
		return false;
	elf_version(EV_CURRENT);
	*elf = elf_begin(fd, ELF_C_READ, NULL);
	*dwarf = *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
	return *dwarf && strings_terminated(*elf);
}

static int add_unit(struct dwarf_reader *reader, size_t *room, struct unit unit)
{
	if (reader->nunits == UNITS_MOST)
		return -E2BIG;
	if (reader->nunits == *room) {
		size_t more = *room ? *room * 2 : 64;
		struct unit *larger = realloc(reader->units, more * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		reader->units = larger;
		*room = more;
	}
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
	if (!open_dwarf(fd, &reader->elf, &reader->dwarf))
		goto failed;
	if (priv->alternate_fd >= 0) {
		if (!open_dwarf(priv->alternate_fd, &reader->alternate_elf, &reader->alternate))
			goto failed;
		dwarf_setalt(reader->dwarf, reader->alternate);
	}
	reader->line_data = section_data(reader->elf, ".debug_line");
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
	if (reader->dwarf)
		dwarf_end(reader->dwarf);
	if (reader->alternate)
		dwarf_end(reader->alternate);
	if (reader->elf)
		elf_end(reader->elf);
	if (reader->alternate_elf)
		elf_end(reader->alternate_elf);
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
