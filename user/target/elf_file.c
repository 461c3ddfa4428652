/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.c - an ELF file, read with checks.
 *
 * The files looked at belong to whoever runs the target, and may be damaged, made up, or cut short while we read.
 * So they are read with pread into memory of our own, never mapped (a mapped file that its owner truncates
 * raises SIGBUS), and each offset and size is checked against the file before it is used. Every table has a
 * limit, because a sparse file of 4 GiB costs its maker nothing.
 */
#include "arch/arch.h"
#include "target/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/target.h"

#define READ_AT_ONCE (8u << 20)
#define BYTES_PER_STEP 256
#define SEGMENTS_MOST 128u       /* linkers make some ten; each symbol is looked for in all of them */
#define SECTIONS_MOST (1u << 20) /* -ffunction-sections objects have many; linked files tens */
#define SECTION_NAMES_MOST (64u << 20)
#define STRETCHES_MOST 4096u /* of data between holes */
#define NOTES_MOST (1u << 20)
#define NOTES_BYTES (16u << 20) /* over all note sections */

static bool read_exactly(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *at = data;

	while (size) {
		ssize_t got = pread(fd, at, size < READ_AT_ONCE ? size : READ_AT_ONCE, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || reading_pauses(got / BYTES_PER_STEP))
			return false;
		at += got;
		offset += got;
		size -= got;
	}
	return true;
}

bool elf_holds(const struct elf_file *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->size && size <= elf->size - offset;
}

bool elf_read(const struct elf_file *elf, uint64_t offset, uint64_t size, void *data)
{
	return elf_holds(elf, offset, size) && read_exactly(elf->fd, data, size, offset);
}

void elf_starves(const struct elf_file *elf)
{
	((struct elf_file *)elf)->starved = true; /* no file is constant: who only reads it leaves this word, too */
}

void *elf_bytes(const struct elf_file *elf, uint64_t offset, uint64_t size, uint64_t most)
{
	char *data;

	if (size > most || !elf_holds(elf, offset, size))
		return NULL;
	data = malloc(size + 1);
	if (!data) {
		elf_starves(elf);
		return NULL;
	}
	if (!read_exactly(elf->fd, data, size, offset)) {
		free(data);
		return NULL;
	}
	data[size] = '\0';
	return data;
}

bool elf_section_filled(const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL && section->sh_size;
}

void *elf_section_bytes(const struct elf_file *elf, const Elf64_Shdr *section, uint64_t most)
{
	if (!elf_section_filled(section) || (section->sh_flags & SHF_COMPRESSED))
		return NULL;
	return elf_bytes(elf, section->sh_offset, section->sh_size, most);
}

static bool header_fits(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_machine == ARCH_ELF_MACHINE;
}

static bool read_segments(struct elf_file *elf)
{
	size_t count = elf->header.e_phnum;

	if (!count)
		return true;
	if (elf->header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	elf->segments = elf_bytes(elf, elf->header.e_phoff, count * sizeof(Elf64_Phdr), UINT64_MAX);
	if (!elf->segments)
		return false;
	elf->nsegments = count;
	return true;
}

/* False where the table or its names are not where the header says. */
static bool read_sections(struct elf_file *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	uint64_t count = header->e_shnum, names = header->e_shstrndx;
	Elf64_Shdr *first;

	if (!header->e_shoff)
		return true;
	if (header->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	first = elf_bytes(elf, header->e_shoff, sizeof(*first), sizeof(*first));
	if (!first)
		return false;
	if (!count) /* 65280 sections or more: the number is in the first one */
		count = first->sh_size;
	if (names == SHN_XINDEX)
		names = first->sh_link;
	free(first);
	if (!count || count > SECTIONS_MOST)
		return false;
	elf->sections = elf_bytes(elf, header->e_shoff, count * sizeof(Elf64_Shdr), UINT64_MAX);
	if (!elf->sections)
		return false;
	elf->nsections = count;
	if (names >= count)
		return false;
	elf->section_names = elf_section_bytes(elf, &elf->sections[names], SECTION_NAMES_MOST);
	if (!elf->section_names)
		return false;
	elf->section_names_size = elf->sections[names].sh_size;
	return true;
}

/*
 * Nothing that file systems pack is packed that well. But some say of a file that was just written that it has no
 * room yet (ZFS, Lustre): so they are asked where its data are, too. One that cannot tell that says that all of it
 * is.
 */
bool elf_is_mostly_holes(int fd, const struct stat *status)
{
	uint64_t enough = (uint64_t)status->st_size / HOLES_RATIO, found = 0;
	off_t data, hole = 0;

	if (status->st_size <= HOLES_FROM || (uint64_t)status->st_blocks * 512 >= enough)
		return false;
	for (unsigned i = 0; i < STRETCHES_MOST && found < enough && (data = lseek(fd, hole, SEEK_DATA)) >= 0; i++) {
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data)
			return false;
		found += hole - data;
	}
	return found < enough;
}

int elf_file_read(struct elf_file *elf, int fd)
{
	memset(elf, 0, sizeof(*elf));
	elf->fd = fd;
	if (fstat(fd, &elf->status))
		return -errno;
	elf->size = elf->status.st_size < 0 ? 0 : elf->status.st_size;
	if (elf->size < sizeof(elf->header) || !read_exactly(fd, &elf->header, sizeof(elf->header), 0) ||
	    !header_fits(&elf->header))
		return -ENOEXEC;
	if (elf->size > ELF_FILE_MOST || elf->header.e_phnum > SEGMENTS_MOST || elf_is_mostly_holes(fd, &elf->status))
		return -EFBIG;
	elf->damaged = !read_segments(elf);
	if (!read_sections(elf))
		elf->damaged = true;
	if (!elf->starved)
		return 0;
	elf_file_free(elf);
	return -ENOMEM;
}

void elf_file_free(struct elf_file *elf)
{
	free(elf->segments);
	free(elf->sections);
	free(elf->section_names);
	memset(elf, 0, sizeof(*elf));
}

static const char *section_name(const struct elf_file *elf, const Elf64_Shdr *section)
{
	return section->sh_name < elf->section_names_size ? elf->section_names + section->sh_name : "";
}

const Elf64_Shdr *elf_section(const struct elf_file *elf, const char *name)
{
	for (size_t i = 1; i < elf->nsections; i++)
		if (!strcmp(section_name(elf, &elf->sections[i]), name))
			return &elf->sections[i];
	return NULL;
}

const Elf64_Shdr *elf_section_of_type(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->nsections; i++)
		if (elf->sections[i].sh_type == type)
			return &elf->sections[i];
	return NULL;
}

bool elf_offset_of(const struct elf_file *elf, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < elf->nsegments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
		    address - segment->p_vaddr >= segment->p_filesz)
			continue;
		if (segment->p_offset > elf->size)
			continue;
		*offset = segment->p_offset + (address - segment->p_vaddr);
		return *offset < elf->size;
	}
	return false;
}

/* Notes of one section or segment; true: the visitor has seen enough. */
static bool visit_notes(const uint8_t *data, size_t size, elf_note_fn visit, void *context)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, description, next;

		memcpy(&note, data + at, sizeof(note));
		name = at + sizeof(note);
		description = name + (((uint64_t)note.n_namesz + 3) & ~3ull);
		next = description + (((uint64_t)note.n_descsz + 3) & ~3ull);
		if (description > size || note.n_descsz > size - description)
			return false;
		if (note.n_namesz && data[name + note.n_namesz - 1] == '\0' &&
		    visit(context, (const char *)data + name, note.n_type, data + description, note.n_descsz))
			return true;
		if (next >= size)
			return false;
		at = next;
	}
	return false;
}

static bool notes_at(const struct elf_file *elf, uint64_t offset, uint64_t size, uint64_t *budget, elf_note_fn visit,
		     void *context)
{
	uint8_t *data;
	bool enough;

	if (size > *budget)
		return false;
	data = elf_bytes(elf, offset, size, NOTES_MOST);
	if (!data)
		return false;
	*budget -= size;
	enough = visit_notes(data, size, visit, context);
	free(data);
	return enough;
}

void elf_notes(const struct elf_file *elf, elf_note_fn visit, void *context)
{
	uint64_t budget = NOTES_BYTES;

	/* Sections first: the segments of a separate debug file point to bytes that it does not have. */
	for (size_t i = 1; i < elf->nsections; i++)
		if (elf->sections[i].sh_type == SHT_NOTE &&
		    notes_at(elf, elf->sections[i].sh_offset, elf->sections[i].sh_size, &budget, visit, context))
			return;
	if (elf->nsections)
		return;
	for (size_t i = 0; i < elf->nsegments; i++)
		if (elf->segments[i].p_type == PT_NOTE &&
		    notes_at(elf, elf->segments[i].p_offset, elf->segments[i].p_filesz, &budget, visit, context))
			return;
}
