/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - a copy in memory of what an unwinder needs of a file: its call frame information, where it stands in the
 * file, and nothing in between.
 *
 * libdwfl maps what it is given, and a mapped file that its owner cuts short ends who reads it (SIGBUS). So it never
 * gets the file. What is not copied takes address space, and no memory.
 */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "target/image_private.h"

#define SECTION_MOST (256ull << 20) /* bytes */

static bool copy_part(const struct elf_file *elf, uint8_t *copy, uint64_t offset, uint64_t size)
{
	return size <= SECTION_MOST && elf_read(elf, offset, size, copy + offset);
}

/* What libdw looks for by name; packed ones it would unpack without a limit. */
static bool is_wanted(const struct elf_file *elf, const Elf64_Shdr *section)
{
	return (section == elf_section(elf, ".eh_frame") || section == elf_section(elf, ".eh_frame_hdr") ||
		section == elf_section(elf, ".debug_frame")) &&
	       section->sh_type != SHT_NOBITS && !(section->sh_flags & SHF_COMPRESSED);
}

/* The section headers: those of all others say that there is nothing. False: no section can be told from another. */
static bool copy_sections(const struct elf_file *elf, uint8_t *copy)
{
	size_t names = elf->header.e_shstrndx;

	if (!elf->nsections || elf->nsections != elf->header.e_shnum || !elf->section_names ||
	    !copy_part(elf, copy, elf->header.e_shoff, elf->nsections * sizeof(*elf->sections)) ||
	    !copy_part(elf, copy, elf->sections[names].sh_offset, elf->sections[names].sh_size))
		return false;
	for (size_t i = 0; i < elf->nsections; i++) {
		const Elf64_Shdr *section = &elf->sections[i];
		Elf64_Shdr none = { .sh_name = section->sh_name };

		if (i != names &&
		    (!is_wanted(elf, section) || !copy_part(elf, copy, section->sh_offset, section->sh_size)))
			memcpy(copy + elf->header.e_shoff + i * sizeof(none), &none, sizeof(none));
	}
	return true;
}

/* Without sections: the segment that holds the table by which .eh_frame is searched holds that, too. */
static void copy_segment(const struct elf_file *elf, uint8_t *copy)
{
	for (size_t i = 0; i < elf->nsegments; i++) {
		const Elf64_Phdr *table = &elf->segments[i];

		for (size_t n = 0; table->p_type == PT_GNU_EH_FRAME && n < elf->nsegments; n++) {
			const Elf64_Phdr *segment = &elf->segments[n];

			if (segment->p_type == PT_LOAD && table->p_offset >= segment->p_offset &&
			    table->p_offset - segment->p_offset < segment->p_filesz)
				copy_part(elf, copy, segment->p_offset, segment->p_filesz);
		}
	}
}

void *image_frames(const struct image *image, size_t *size)
{
	Elf64_Ehdr header;
	struct elf_file elf;
	void *copy;

	if (elf_file_read(&elf, image->fd))
		return NULL;
	*size = elf.size;
	header = elf.header;
	copy = mmap(NULL, elf.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		goto failed;
	if (!elf.nsegments || !copy_part(&elf, copy, header.e_phoff, elf.nsegments * sizeof(*elf.segments)))
		header.e_phnum = 0;
	if (!copy_sections(&elf, copy)) {
		header.e_shoff = header.e_shnum = header.e_shstrndx = 0; /* the segments alone count */
		copy_segment(&elf, copy);
	}
	memcpy(copy, &header, sizeof(header)); /* last: whatever lay there */
failed:
	elf_file_free(&elf);
	return copy == MAP_FAILED ? NULL : copy;
}
