/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.c - where jump tables lead.
 *
 * Position-independent code reads an offset of 4 bytes from a table with an index, adds the table's own address, and
 * jumps there. The table is in the file's constants, and the code that uses it forms its address. Nothing says where
 * a table is and how long: so whatever code forms the address of is read as one, for as long as its entries lead into
 * code. Tables of whole addresses need no search: each entry is an address, and those are looked for everywhere
 * (branches.c).
 *
 * Where hundreds of tables lie one behind the other, each seems to go on to the end of the last, and there are hundreds
 * of millions of entries to look at. But they come in blocks that lead to about the same place. Of each block the least
 * and the greatest offset is kept, and a block is passed over where these say that all of its entries lead into code,
 * and none where it matters.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/tables.h"

#define SEGMENTS_MOST 64
#define ENTRIES_MOST 65536
#define PAGE 4096 /* entries that are read at a time */
#define BLOCK 64  /* and looked at */
#define BLOCKS (PAGE / BLOCK)

struct tables_page {
	const struct code_segment *segment;
	uint64_t address;
	unsigned count; /* entries that the file has of it */
	int32_t least[BLOCKS], most[BLOCKS];
	int32_t offsets[PAGE];
};

int tables_open(struct tables *tables, const struct image *image)
{
	Elf64_Phdr segments[SEGMENTS_MOST];
	Elf64_Ehdr header;

	memset(tables, 0, sizeof(*tables));
	tables->image = image;
	if (pread(image->fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phentsize != sizeof(segments[0]) || header.e_phnum > SEGMENTS_MOST)
		return -EINVAL;
	if (pread(image->fd, segments, header.e_phnum * sizeof(segments[0]), header.e_phoff) !=
	    (ssize_t)(header.e_phnum * sizeof(segments[0])))
		return -EINVAL;
	tables->fixed = header.e_type != ET_DYN;
	for (unsigned i = 0; i < header.e_phnum && tables->nsegments < TABLES_SEGMENTS; i++)
		if (segments[i].p_type == PT_LOAD)
			tables->segments[tables->nsegments++] = (struct code_segment){ segments[i].p_vaddr,
										       segments[i].p_offset,
										       segments[i].p_filesz };
	return tables->nsegments == TABLES_SEGMENTS ? -E2BIG : 0;
}

void tables_close(struct tables *tables)
{
	for (size_t i = 0; i < TABLES_PAGES; i++)
		free(tables->pages[i]);
}

static bool is_code(const struct code_segment *code, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (address >= code[i].address && address - code[i].address < code[i].size)
			return true;
	return false;
}

/* How many of these offsets lead into code, up to the first that does not. */
static unsigned lead_into_code(const struct code_segment *code, size_t count, uint64_t table, const int32_t *offsets,
			       unsigned noffsets)
{
	unsigned n = 0;

	while (n < noffsets &&
	       (table + offsets[n] - code->address < code->size || is_code(code, count, table + offsets[n])))
		n++;
	return n;
}

/* The page that holds this entry; *i: which of it. NULL: no memory. */
static const struct tables_page *page_of(struct tables *tables, const struct code_segment *segment, uint64_t entry,
					 unsigned *i)
{
	/* Of a table that lies askew pages begin askew, too. */
	uint64_t skew = entry % sizeof(int32_t), number = entry / sizeof(int32_t) / PAGE,
		 address = number * PAGE * sizeof(int32_t) + skew;
	uint64_t first = address < segment->address ? segment->address - address : 0; /* bytes before the segment */
	uint64_t left = segment->size - (address + first - segment->address);
	struct tables_page **slot = &tables->pages[(number * sizeof(int32_t) + skew) % TABLES_PAGES], *page = *slot;
	size_t wanted = sizeof(page->offsets) - first;
	ssize_t got;

	*i = (entry - address) / sizeof(int32_t);
	if (page && page->address == address && page->segment == segment)
		return page;
	page = *slot = page ?: malloc(sizeof(*page));
	if (!page)
		return NULL;
	memset(page->offsets, 0, sizeof(page->offsets));
	got = pread(tables->image->fd, (char *)page->offsets + first, left < wanted ? left : wanted,
		    segment->offset + (address + first - segment->address));
	page->segment = segment;
	page->address = address;
	page->count = got < 0 ? 0 : (first + got) / sizeof(int32_t);
	for (unsigned block = 0; block < BLOCKS; block++) {
		const int32_t *offsets = page->offsets + block * BLOCK;

		page->least[block] = page->most[block] = offsets[0];
		for (unsigned n = 1; n < BLOCK; n++) {
			if (offsets[n] < page->least[block])
				page->least[block] = offsets[n];
			if (offsets[n] > page->most[block])
				page->most[block] = offsets[n];
		}
	}
	return page;
}

/* Do all entries of the block that begins with this one lead into code, and none to where it matters? */
static bool passes_over(const struct table_search *search, const struct code_segment *code,
			const struct tables_page *page, unsigned i, uint64_t table)
{
	uint64_t least = table + page->least[i / BLOCK], most = table + page->most[i / BLOCK];

	return search->matters && i % BLOCK == 0 && i + BLOCK <= page->count && least - code->address < code->size &&
	       most - code->address < code->size && !search->matters(search->context, least, most);
}

bool tables_entries(struct tables *tables, uint64_t table, const struct table_search *search)
{
	const struct code_segment *segment = NULL, *code;
	size_t ncode;

	code = image_code(tables->image, &ncode);
	for (unsigned i = 0; i < tables->nsegments; i++)
		if (table >= tables->segments[i].address &&
		    table - tables->segments[i].address < tables->segments[i].size)
			segment = &tables->segments[i];
	for (unsigned n = 0, some; segment && ncode && n < ENTRIES_MOST; n += some) {
		uint64_t entry = table + n * sizeof(int32_t);
		const struct tables_page *page;
		unsigned i, count;

		if (entry - segment->address >= segment->size)
			break;
		page = page_of(tables, segment, entry, &i);
		if (!page)
			return false;
		some = BLOCK - i % BLOCK;
		if (passes_over(search, code, page, i, table)) {
			if (image_reads(tables->image, EFFORT_TABLES, 1))
				return false;
			continue;
		}
		if (image_reads(tables->image, EFFORT_TABLES, some))
			return false;
		if (i + some > page->count)
			some = i < page->count ? page->count - i : 0;
		count = lead_into_code(code, ncode, table, page->offsets + i, some);
		search->entries(search->context, table, page->offsets + i, count);
		if (count < some || !some)
			break;
	}
	return true;
}

void tables_addresses(const struct tables *tables, uint64_t table, bool (*entry)(void *context, uint64_t target),
		      void *context)
{
	size_t ncode;
	const struct code_segment *code = image_code(tables->image, &ncode);

	for (unsigned i = 0; i < tables->nsegments && tables->fixed; i++) {
		const struct code_segment *segment = &tables->segments[i];
		uint64_t at = table - segment->address, words[BLOCK];

		if (table < segment->address)
			continue;
		for (unsigned n = 0; n < ENTRIES_MOST && at < segment->size; n += BLOCK, at += sizeof(words)) {
			uint64_t left = segment->size - at;
			ssize_t got = pread(tables->image->fd, words, left < sizeof(words) ? left : sizeof(words),
					    segment->offset + at);

			if (image_reads(tables->image, EFFORT_TABLES, BLOCK))
				return;
			for (unsigned w = 0; w < BLOCK; w++)
				if (got < (ssize_t)((w + 1) * sizeof(words[0])) || !is_code(code, ncode, words[w]) ||
				    !entry(context, words[w]))
					return;
		}
	}
}
