/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_sections.c - a clean ELF file in memory that holds nothing but the DWARF of another one.
 *
 * libelf and libdw are made for files that a compiler wrote. Given one that somebody else wrote they read past the
 * ends of strings (found by mutation: libdw 0.188 accepts a string section without a NUL at its end, and a string that
 * begins behind it), follow links to other files, and unpack without a limit. So they never see the target's
 * file: the few sections that lines and functions need are copied, unpacked, into an ELF file of our own making, with
 * zeros behind each, so that any string that begins in it also ends in it. What is left for libdw is to decode
 * DWARF, which it does with care. Leaving the large sections for variables out saves memory as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "arch/arch.h"
#include "target/dwarf_reader.h"
#include "util/log.h"

#define BYTES_MOST (2ull << 30) /* of all sections, unpacked */
#define UNPACKED_AT_ONCE (1u << 20)
#define UNPACK_STEPS 4096u
#define RATIO 64u /* bytes that each one of a packed section may become: compilers' sections do not reach 20 */
#define PACKED_FREELY (16u << 20) /* bytes that it may become whatever its size */
#define ALIGNMENT 16u
#define PADDING 64u /* zeros behind each section */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static const char *const wanted[] = {
	".debug_info",    ".debug_abbrev", ".debug_line",     ".debug_str",  ".debug_line_str",
	".debug_aranges", ".debug_ranges", ".debug_rnglists", ".debug_addr", ".debug_str_offsets",
};
#define WANTED (sizeof(wanted) / sizeof(*wanted))
#define INFO 0 /* in wanted[] */
#define ABBREVIATIONS 1
#define LINE 2
#define NAMES_ROOM 512u       /* for all names; they are about a third of that */
#define SECTIONS (WANTED + 2) /* the null section first, the names last */

/* One section of the source on its way. */
struct part {
	const Elf64_Shdr *section; /* NULL: the source has none */
	uint64_t size;             /* unpacked */
	uint64_t offset;           /* in the new file */
};

/* Unpacked size of a section; UINT64_MAX: it cannot be had. */
static uint64_t unpacked_size(const struct image *image, const struct elf_file *elf, const Elf64_Shdr *section)
{
	Elf64_Chdr *header;
	uint64_t size;

	if (section->sh_size > BYTES_MOST || !elf_holds(elf, section->sh_offset, section->sh_size))
		return UINT64_MAX;
	if (!(section->sh_flags & SHF_COMPRESSED))
		return section->sh_size;
	header = elf_bytes(elf, section->sh_offset, sizeof(*header), section->sh_size);
	size = header ? header->ch_size : UINT64_MAX;
	if (header && size > PACKED_FREELY && size / RATIO > section->sh_size) {
		size = UINT64_MAX;
		if (reading_refuses(image, REFUSED_ROOM << ROOM_DWARF))
			log_warn(
				"%s: its DWARF is packed as no compiler packs it: left out: source lines are not known",
				log_safe(image->path));
	}
	free(header);
	return size;
}

/* A piece at a time, since somebody may wait. */
static bool unpack_zlib(const uint8_t *packed, size_t packed_size, uint8_t *to, size_t size)
{
	z_stream stream = { .next_in = (Bytef *)packed, .avail_in = (uInt)packed_size, .next_out = to };
	int state = Z_OK;

	if (inflateInit(&stream) != Z_OK)
		return false;
	for (size_t done = 0, some; state == Z_OK && !reading_pauses(UNPACK_STEPS); done += some - stream.avail_out) {
		some = size - done < UNPACKED_AT_ONCE ? size - done : UNPACKED_AT_ONCE;
		stream.avail_out = (uInt)some;
		state = inflate(&stream, Z_NO_FLUSH);
	}
	inflateEnd(&stream);
	return state == Z_STREAM_END && (size_t)(stream.next_out - to) == size;
}

static bool unpack_zstd(const uint8_t *packed, size_t packed_size, uint8_t *to, size_t size)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { packed, packed_size, 0 };
	ZSTD_outBuffer out = { to, 0, 0 };
	size_t left = 1, before_in = 1, before_out = 0;

	while (stream && left && !ZSTD_isError(left) && (in.pos != before_in || out.pos != before_out) &&
	       !reading_pauses(UNPACK_STEPS)) {
		before_in = in.pos;
		before_out = out.pos;
		out.size = size - out.pos < UNPACKED_AT_ONCE ? size : out.pos + UNPACKED_AT_ONCE;
		left = ZSTD_decompressStream(stream, &out, &in);
	}
	ZSTD_freeDStream(stream);
	return stream && !left && out.pos == size;
}

static bool unpack(const struct elf_file *elf, const struct part *part, uint8_t *to)
{
	Elf64_Chdr header;
	uint8_t *packed = elf_bytes(elf, part->section->sh_offset, part->section->sh_size, BYTES_MOST);
	size_t packed_size = part->section->sh_size;
	bool good = false;

	if (packed && packed_size >= sizeof(header)) {
		memcpy(&header, packed, sizeof(header));
		packed_size -= sizeof(header);
		if (header.ch_type == ELFCOMPRESS_ZLIB)
			good = unpack_zlib(packed + sizeof(header), packed_size, to, part->size);
		else if (header.ch_type == ELFCOMPRESS_ZSTD)
			good = unpack_zstd(packed + sizeof(header), packed_size, to, part->size);
	}
	free(packed);
	return good;
}

/* Finds the sections and gives each its place; the size of the new file, 0: nothing there, or too much. */
static uint64_t lay_out(const struct image *image, const struct elf_file *elf, struct part *parts)
{
	uint64_t at = sizeof(Elf64_Ehdr), total = 0;

	for (size_t i = 0; i < WANTED; i++) {
		const Elf64_Shdr *section = elf_section(elf, wanted[i]);

		parts[i] = (struct part){ .offset = at };
		if (!section || !elf_section_filled(section))
			continue;
		parts[i].section = section;
		parts[i].size = unpacked_size(image, elf, section);
		if (parts[i].size > BYTES_MOST || total + parts[i].size > BYTES_MOST)
			return 0;
		total += parts[i].size;
		at += (parts[i].size + PADDING + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	}
	return parts[INFO].section ? at : 0;
}

/* Section names, section headers and the file's header, behind and before the content. */
static void write_headers(uint8_t *file, uint64_t names_at, uint64_t headers_at, const struct part *parts)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)file;
	Elf64_Shdr *sections = (Elf64_Shdr *)(file + headers_at);
	char *names = (char *)file + names_at, *at = names + 1;

	for (size_t i = 0; i < WANTED; i++) {
		sections[i + 1] = (Elf64_Shdr){
			.sh_name = (Elf64_Word)(at - names),
			.sh_type = SHT_PROGBITS,
			.sh_offset = parts[i].offset,
			.sh_size = parts[i].section ? parts[i].size : 0,
			.sh_addralign = 1,
		};
		if (!parts[i].section)
			sections[i + 1].sh_type = SHT_NOBITS;
		at = stpcpy(at, wanted[i]) + 1;
	}
	sections[SECTIONS - 1] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = names_at,
		.sh_size = at - names,
		.sh_addralign = 1,
	};
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_type = ET_DYN;
	header->e_machine = ARCH_ELF_MACHINE;
	header->e_version = EV_CURRENT;
	header->e_shoff = headers_at;
	header->e_ehsize = sizeof(*header);
	header->e_shentsize = sizeof(*sections);
	header->e_shnum = SECTIONS;
	header->e_shstrndx = SECTIONS - 1;
}

static bool read_parts(const struct elf_file *elf, const struct part *parts, uint8_t *file)
{
	for (size_t i = 0; i < WANTED; i++) {
		const Elf64_Shdr *section = parts[i].section;
		bool good = true;

		if (section && (section->sh_flags & SHF_COMPRESSED))
			good = unpack(elf, &parts[i], file + parts[i].offset);
		else if (section)
			good = elf_read(elf, section->sh_offset, parts[i].size, file + parts[i].offset);
		if (!good)
			return false;
	}
	return true;
}

int debug_sections_copy(const struct image *image, int fd, struct debug_sections *copy)
{
	struct elf_file elf;
	struct part parts[WANTED];
	uint64_t names_at, headers_at, size;
	int error = elf_file_read(&elf, fd);

	memset(copy, 0, sizeof(*copy));
	if (error)
		return error;
	names_at = lay_out(image, &elf, parts);
	headers_at = names_at + NAMES_ROOM;
	size = headers_at + SECTIONS * sizeof(Elf64_Shdr);
	if (names_at && !reading_keeps(image, ROOM_DWARF, size))
		error = -E2BIG;
	copy->file = names_at && !error ? calloc(1, size) : NULL;
	if (error)
		;
	else if (!names_at)
		error = -EINVAL;
	else if (!copy->file)
		error = -ENOMEM;
	else if (!read_parts(&elf, parts, copy->file))
		error = -EIO;
	elf_file_free(&elf);
	if (error) {
		free(copy->file);
		copy->file = NULL;
		return error;
	}
	write_headers(copy->file, names_at, headers_at, parts);
	copy->size = size;
	copy->line = copy->file + parts[LINE].offset;
	copy->line_size = parts[LINE].section ? parts[LINE].size : 0;
	copy->info = copy->file + parts[INFO].offset;
	copy->info_size = parts[INFO].size;
	copy->abbreviations = copy->file + parts[ABBREVIATIONS].offset;
	copy->abbreviations_size = parts[ABBREVIATIONS].section ? parts[ABBREVIATIONS].size : 0;
	return 0;
}
