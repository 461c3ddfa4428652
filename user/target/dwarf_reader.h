/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_reader.h - private to user/target: the DWARF of one image, opened with limits.
 */
#ifndef GASPBPF_TARGET_DWARF_READER_H
#define GASPBPF_TARGET_DWARF_READER_H

#include <elfutils/libdw.h>

#include "target/image_private.h"
#include "target/intervals.h"

#define NESTING_MOST 256u /* entries inside entries */

/* The DWARF of a file as an ELF file of our own making. */
struct debug_sections {
	uint8_t *file; /* malloc'ed */
	size_t size;
	const uint8_t *line, *info, *abbreviations; /* .debug_line, .debug_info and .debug_abbrev in it */
	size_t line_size, info_size, abbreviations_size;
};

/* Of a file that belongs to the image. 0 or -errno; not said. */
int debug_sections_copy(const struct image *image, int fd, struct debug_sections *copy);

/*
 * How many lines the program at an offset of .debug_line makes, without running it; not further than to one more than
 * `most`. False: there is none that a compiler could have written.
 */
bool line_program_counts(const struct debug_sections *sections, uint64_t offset, uint64_t most, uint64_t *lines);

/* One file's DWARF, open. */
struct dwarf_file {
	struct debug_sections sections;
	Elf *elf;
	Dwarf *dwarf;
};

struct unit {
	Dwarf_Off die;          /* of the unit itself */
	uint64_t size;          /* bytes in .debug_info: an upper limit of its entries */
	uint64_t abbreviations; /* where they begin in .debug_abbrev */
	bool counted;           /* they have been */
	bool is_compile;        /* false: partial unit, holds what others import */
	bool lines_known;       /* lines_usable has been found out */
	bool lines_usable;
	bool functions_read;
	struct intervals functions; /* value: offset of the DIE; within: that of the function around it; 0: none */
};

struct dwarf_reader {
	const struct image *image;
	struct dwarf_file main;
	struct dwarf_file alternate; /* what dwz moved out, shared by several files */
	Dwarf *dwarf;                /* of main */
	struct unit *units;          /* ascending by die */
	size_t nunits;
	struct intervals covered; /* value: index of the unit */
	uint64_t memory;          /* estimate of what lookups made libdw and us keep, bytes */
};

/* The reader of the image's DWARF, opened at the first call; NULL: none, or damaged. */
struct dwarf_reader *image_dwarf(struct image *image);

/*
 * Walks the entries of a unit, outer ones first. visit says whether to go into the entry's children. Stops at the
 * deadline (now_ms() of then) and at more entries than the unit can have. False where it did not come to the end.
 */
typedef bool (*entry_fn)(void *context, Dwarf_Die *entry, uint32_t depth);
bool unit_walk(struct dwarf_reader *reader, struct unit *unit, uint64_t deadline, entry_fn visit, void *context);

uint64_t now_ms(void); /* CLOCK_MONOTONIC */

#endif
