/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.h - private to user/target: an ELF64 file for this processor, read with checks.
 */
#ifndef GASPBPF_TARGET_ELF_FILE_H
#define GASPBPF_TARGET_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define ELF_FILE_MOST (4ull << 30) /* bytes of a file that we look at */
#define HOLES_FROM (16u << 20)     /* bytes: smaller ones may consist of holes as they like */
#define HOLES_RATIO 64             /* as much of it may be that for each byte that is on the disk */

struct elf_file {
	int fd;             /* borrowed */
	struct stat status; /* of the file when it was opened */
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t nsegments;
	Elf64_Shdr *sections; /* none where the table is missing or damaged */
	size_t nsections;
	char *section_names; /* NUL-terminated */
	size_t section_names_size;
	bool damaged; /* a table lies outside of the file */
	bool starved; /* there was no memory for some of what was asked for: what it seems not to have says nothing */
};

/* Reads the headers. 0, -ENOEXEC: no ELF64 file for this processor, -EFBIG, -ENOMEM, or -errno. Nothing is said. */
int elf_file_read(struct elf_file *elf, int fd);
void elf_file_free(struct elf_file *elf);
/* A gigabyte of nothing costs its owner no room on the disk, and us a gigabyte to read: -EFBIG, too. */
bool elf_is_mostly_holes(int fd, const struct stat *status);

/* Does the file have all of these bytes? A header says what it likes. */
bool elf_holds(const struct elf_file *elf, uint64_t offset, uint64_t size);
/* Exactly these bytes of the file into data; false: not in the file, or not readable. */
bool elf_read(const struct elf_file *elf, uint64_t offset, uint64_t size, void *data);
/* Exactly these bytes of the file, malloc'ed and with a NUL behind; NULL: not in the file, more than most, or no
 * memory: then the file is `starved`. */
void *elf_bytes(const struct elf_file *elf, uint64_t offset, uint64_t size, uint64_t most);
/* For who finds no memory for something of the file: sets `starved`. */
void elf_starves(const struct elf_file *elf);
/* The content of a section; NULL where it has none in the file. */
void *elf_section_bytes(const struct elf_file *elf, const Elf64_Shdr *section, uint64_t most);

/* NULL: no such section. */
const Elf64_Shdr *elf_section(const struct elf_file *elf, const char *name);
const Elf64_Shdr *elf_section_of_type(const struct elf_file *elf, uint32_t type);
/* True where the section has content of its own in the file: not for the shells that a debug file keeps. */
bool elf_section_filled(const Elf64_Shdr *section);

/* Where in the file a virtual address is; false: in no loaded segment. */
bool elf_offset_of(const struct elf_file *elf, uint64_t address, uint64_t *offset);

/*
 * Calls visit for each note of the file until it returns true. `description` has `size` bytes.
 */
typedef bool (*elf_note_fn)(void *context, const char *owner, uint32_t type, const uint8_t *description, size_t size);
void elf_notes(const struct elf_file *elf, elf_note_fn visit, void *context);

#endif
