/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c - might a file have a symbol of this name?
 *
 * Whoever watches a machine sees hundreds of programs start, compilers of 30 MB among them, of which hardly one is of
 * interest. Their symbols need not be read for that: a name that is nowhere in the file's tables of names belongs to no
 * symbol.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/image_private.h"

#define CHUNK (1u << 20)
#define NAME_MOST 256
#define TABLES_MOST (1ull << 30) /* bytes of a file that is searched */
#define BYTES_PER_STEP 256

static bool is_in(const char *text, size_t size, const char *const *names)
{
	for (; *names; names++) {
		size_t n = strnlen(*names, NAME_MOST) + 1; /* with its end */

		if (memmem(text, size, *names, n) || reading_pauses(size / BYTES_PER_STEP))
			return true;
	}
	return false;
}

/* *left: bytes that all tables of a file can have together. */
static bool table_has(int fd, uint64_t offset, uint64_t size, const char *const *names, uint64_t *left)
{
	char *buffer = malloc(CHUNK + NAME_MOST);
	bool found = !buffer || size > *left || offset > INT64_MAX - size;

	*left -= found ? 0 : size;
	for (uint64_t at = 0; !found && at < size; at += CHUNK) {
		size_t wanted = size - at < CHUNK + NAME_MOST ? size - at : CHUNK + NAME_MOST;
		ssize_t got = pread(fd, buffer, wanted, offset + at);

		if (got <= 0)
			break;
		found = is_in(buffer, got, names);
	}
	free(buffer);
	return found;
}

bool image_may_have(int fd, const char *const *names)
{
	Elf64_Ehdr head;
	Elf64_Shdr *sections;
	struct stat file;
	uint64_t left;
	bool found;
	size_t bytes;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	if (!head.e_shnum || head.e_shentsize != sizeof(*sections) || head.e_shoff > INT64_MAX)
		return head.e_shoff; /* none: what it exports is not to be found either (elf_file.c) */
	found = fstat(fd, &file) || (uint64_t)file.st_size > TABLES_MOST || elf_is_mostly_holes(fd, &file);
	left = found ? 0 : file.st_size;
	bytes = head.e_shnum * sizeof(*sections);
	sections = malloc(bytes);
	if (!sections || pread(fd, sections, bytes, head.e_shoff) != (ssize_t)bytes)
		found = true;
	for (size_t i = 0; !found && i < head.e_shnum; i++)
		found = sections[i].sh_type == SHT_STRTAB &&
			table_has(fd, sections[i].sh_offset, sections[i].sh_size, names, &left);
	free(sections);
	return found;
}
