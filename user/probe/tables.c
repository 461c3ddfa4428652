/*
 * tables.c - where jump tables lead.
 *
 * Position-independent code reads an offset of 4 bytes from a table with an index, adds the table's own address, and jumps there. The
 * table is in the file's constants, and the code that uses it names it with lea. Nothing says where a table is and how long: so
 * whatever a lea points to is read as one, for as long as its entries lead into code. Tables of whole addresses need no search: each entry
 * is an address, and those are looked for everywhere (branches.c).
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/tables.h"

#define SEGMENTS_MOST 64
#define ENTRIES_MOST 65536
/* Entries read at a time. Most tables are short, but where hundreds lie one behind the other, each seems to go on to the end of the last. */
#define SOME 64
#define MANY 4096

int tables_open(struct tables *tables, const struct image *image)
{
	Elf64_Phdr segments[SEGMENTS_MOST];
	Elf64_Ehdr header;

	memset(tables, 0, sizeof(*tables));
	tables->image = image;
	if (pread(image->fd, &header, sizeof(header), 0) != sizeof(header) || header.e_phentsize != sizeof(segments[0]) ||
	    header.e_phnum > SEGMENTS_MOST)
		return -EINVAL;
	if (pread(image->fd, segments, header.e_phnum * sizeof(segments[0]), header.e_phoff) !=
	    (ssize_t)(header.e_phnum * sizeof(segments[0])))
		return -EINVAL;
	tables->fixed = header.e_type != ET_DYN;
	for (unsigned i = 0; i < header.e_phnum && tables->nsegments < TABLES_SEGMENTS; i++)
		if (segments[i].p_type == PT_LOAD)
			tables->segments[tables->nsegments++] = (struct code_segment){
				segments[i].p_vaddr, segments[i].p_offset, segments[i].p_filesz };
	return tables->nsegments == TABLES_SEGMENTS ? -E2BIG : 0;
}

static bool is_code(const struct code_segment *code, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (address >= code[i].address && address - code[i].address < code[i].size)
			return true;
	return false;
}

bool tables_entries(const struct tables *tables, uint64_t address, void (*entry)(void *context, uint64_t target), void *context)
{
	const struct code_segment *segment = NULL, *code;
	size_t ncode;

	code = image_code(tables->image, &ncode);
	for (unsigned i = 0; i < tables->nsegments; i++)
		if (address >= tables->segments[i].address && address - tables->segments[i].address < tables->segments[i].size)
			segment = &tables->segments[i];
	for (unsigned n = 0, some = SOME; segment && n < ENTRIES_MOST; n += some, some = MANY) {
		uint64_t from = address - segment->address + n * sizeof(int32_t);
		int32_t words[MANY];
		size_t size = from < segment->size ? segment->size - from : 0, wanted = some * sizeof(words[0]);
		ssize_t got = pread(tables->image->fd, words, size < wanted ? size : wanted, segment->offset + from);

		if (image_reads(tables->image, EFFORT_TABLES, some))
			return false;
		for (unsigned i = 0; i < some; i++) {
			if (got < (ssize_t)((i + 1) * sizeof(words[0])) || !is_code(code, ncode, address + words[i]))
				return true;
			entry(context, address + words[i]);
		}
	}
	return true;
}
