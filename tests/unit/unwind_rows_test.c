/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_rows_test.c - where frames end: the rows that user/target makes of .eh_frame, against those that libdw makes
 * of it, for all of the code of real files; and rules that make no sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "target/unwind.h"

#define REGISTER_SP 7
#define REGISTER_RETURN 16

/* Those that there are of these. */
static const char *const files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libgfortran.so.5",
	"/usr/lib/x86_64-linux-gnu/libmpi.so.40",
	"/usr/lib/x86_64-linux-gnu/libopen-pal.so.40",
	"/usr/lib/x86_64-linux-gnu/libmpich.so.12",
	"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
	"/usr/bin/python3",
	"/usr/bin/bash",
	"/proc/self/exe",
};

struct comparison {
	Dwarf_CFI *cfi;
	const char *file;
	size_t entries, rows, by_sp, unknown, calls;
	uint64_t covered; /* bytes of code of the entry */
};

/* --- libdw's row ----------------------------------------------------------- */

struct frame {
	bool known; /* register + offset */
	uint64_t base, offset;
	bool returns; /* the return address stands right below the frame's end */
	bool has_caller;
	uint64_t end; /* of the code for which that is so */
};

static bool is_right_below(const Dwarf_Op *ops, size_t count)
{
	return count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst &&
	       ops[1].number == (Dwarf_Word)-8;
}

static struct frame frame_at(const struct comparison *c, uint64_t address)
{
	struct frame found = { 0 };
	Dwarf_Op memory[3], *ops;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;
	size_t count;

	assert_int_equal(dwarf_cfi_addrframe(c->cfi, address, &frame), 0);
	assert_int_equal(dwarf_frame_info(frame, &start, &end, NULL), REGISTER_RETURN);
	assert_true(start <= address && address < end);
	found.end = end;
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	found.known = count == 1 && ops[0].atom == DW_OP_bregx;
	if (found.known) {
		found.base = ops[0].number;
		found.offset = ops[0].number2;
	}
	assert_int_equal(dwarf_frame_register(frame, REGISTER_RETURN, memory, &ops, &count), 0);
	found.returns = is_right_below(ops, count);
	found.has_caller = count || ops != memory;
	free(frame);
	return found;
}

/* --- all rows ---------------------------------------------------------------- */

static bool compare_row(void *context, const struct unwind_row *row)
{
	struct comparison *c = context;

	for (uint64_t at = row->from; at < row->to;) {
		struct frame frame = frame_at(c, at);

		if (frame.known != row->known ||
		    (row->known && (frame.base != row->base || frame.offset != row->offset)))
			fail_msg("%s: %lx: register %lu + %lu (%d), and libdw has %lu + %lu (%d)", c->file, at,
				 row->base, row->offset, row->known, frame.base, frame.offset, frame.known);
		c->by_sp += row->known && row->base == REGISTER_SP;
		c->unknown += !row->known;
		c->rows++;
		c->covered += (frame.end < row->to ? frame.end : row->to) - at;
		at = frame.end;
	}
	return true;
}

static void compare_entry(void *context, const struct unwind_entry *entry)
{
	struct comparison *c = context;

	c->covered = 0;
	c->entries++;
	unwind_rows(entry, compare_row, c);
	assert_int_equal(c->covered, entry->size);
}

/* At each call that is known the return address stands where the row says, unless nothing called the function. */
static void compare_calls(struct comparison *c, const struct image *image)
{
	const struct image_call *calls = image_calls(image, &c->calls);
	size_t nsegments, at = 0;
	const struct code_segment *code = image_code(image, &nsegments);

	for (size_t i = 0; i < c->calls; i++) {
		struct frame frame;
		uint64_t address;

		while (calls[i].return_offset > code[at].offset + code[at].size)
			assert_true(++at < nsegments);
		address = code[at].address + (calls[i].return_offset - code[at].offset);
		frame = frame_at(c, address - 1);
		if (!calls[i].frame)
			continue; /* a jump */
		assert_true(frame.known && frame.base == REGISTER_SP && frame.offset == calls[i].frame);
		assert_true(frame.returns || !frame.has_caller);
	}
}

static void test_rows_are_those_of_libdw(void **state)
{
	size_t entries = 0;

	elf_version(EV_CURRENT);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct comparison c = { .file = files[i] };
		struct image *image;
		size_t size;
		void *frames;
		Elf *elf;

		if (access(files[i], R_OK))
			continue;
		assert_int_equal(image_open_file(&image, files[i]), 0);
		frames = image_frames(image, &size);
		assert_non_null(frames);
		elf = elf_memory(frames, size);
		c.cfi = dwarf_getcfi_elf(elf);
		assert_non_null(c.cfi);
		unwind_visit(image, compare_entry, &c);
		compare_calls(&c, image);
		print_message("%s: %zu entries, %zu rows, %zu by the stack pointer, %zu by an expression; %zu calls\n",
			      c.file, c.entries, c.rows, c.by_sp, c.unknown, c.calls);
		assert_true(c.entries > 20 && c.by_sp > c.rows / 2);
		entries += c.entries;
		dwarf_cfi_end(c.cfi);
		elf_end(elf);
		munmap(frames, size);
		image_close(image);
	}
	assert_true(entries > 4000);
}

/* --- made-up rules ------------------------------------------------------------ */

struct rows {
	struct unwind_row row[64];
	size_t count, most;
};

static bool keep_row(void *context, const struct unwind_row *row)
{
	struct rows *rows = context;

	assert_true(rows->count < rows->most);
	rows->row[rows->count++] = *row;
	return rows->count < rows->most;
}

static struct rows rows_of(const uint8_t *rules, size_t size, size_t most, uint64_t unit)
{
	static const uint8_t common[] = { DW_CFA_def_cfa, REGISTER_SP, 8 };
	const struct unwind_entry entry = { .address = 0x1000,
					    .size = 0x40,
					    .unit = unit,
					    .common_rules = common,
					    .common_rules_end = common + sizeof(common),
					    .rules = rules,
					    .rules_end = rules + size };
	struct rows rows = { .most = most };

	unwind_rows(&entry, keep_row, &rows);
	return rows;
}

#define ROWS_OF(...) rows_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), 64, 1)

static void assert_row(const struct unwind_row *row, uint64_t from, uint64_t to, uint64_t offset)
{
	assert_int_equal(row->from, from);
	assert_int_equal(row->to, to);
	assert_int_equal(row->known, offset > 0);
	if (offset)
		assert_int_equal(row->offset, offset);
}

static void test_rows_end_where_the_next_begins(void **state)
{
	struct rows rows = ROWS_OF(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_remember_state,
				   DW_CFA_advance_loc1, 7, DW_CFA_def_cfa_expression, 2, 0, 0, DW_CFA_advance_loc2, 8,
				   0, DW_CFA_restore_state);

	assert_int_equal(rows.count, 4);
	assert_row(&rows.row[0], 0x1000, 0x1001, 8);
	assert_row(&rows.row[1], 0x1001, 0x1008, 16);
	assert_row(&rows.row[2], 0x1008, 0x1010, 0);
	assert_row(&rows.row[3], 0x1010, 0x1040, 16);
	/* Steps may stand for several bytes each. */
	rows = rows_of((const uint8_t[]){ DW_CFA_advance_loc | 3 }, 1, 64, 4);
	assert_int_equal(rows.count, 2);
	assert_row(&rows.row[0], 0x1000, 0x100c, 8);
	assert_row(&rows.row[1], 0x100c, 0x1040, 8);
}

static void test_what_is_not_understood_ends_the_rows(void **state)
{
	uint8_t deep[40];

	assert_int_equal(ROWS_OF(0x3f).count, 0);
	assert_int_equal(ROWS_OF(DW_CFA_advance_loc | 1, 0x3f).count, 1);
	assert_int_equal(ROWS_OF(DW_CFA_restore_state).count, 0);
	/* A number, a block, a step that are cut. */
	assert_int_equal(ROWS_OF(DW_CFA_def_cfa_offset, 0x80).count, 0);
	assert_int_equal(ROWS_OF(DW_CFA_def_cfa_expression, 5, 0).count, 0);
	assert_int_equal(ROWS_OF(DW_CFA_advance_loc4, 1, 0, 0).count, 0);
	/* Beyond the end of its code. */
	assert_int_equal(ROWS_OF(DW_CFA_advance_loc | 0x30, DW_CFA_advance_loc | 0x11).count, 1);
	assert_int_equal(ROWS_OF(DW_CFA_advance_loc | 0x30, DW_CFA_advance_loc | 0x10).count, 2);
	/* Rows within rows without end take no memory. */
	memset(deep, DW_CFA_remember_state, sizeof(deep));
	assert_int_equal(rows_of(deep, sizeof(deep), 64, 1).count, 0);
	assert_int_equal(rows_of(deep, 3, 64, 1).count, 1);
}

static void test_who_has_seen_enough_sees_no_more(void **state)
{
	uint8_t rules[30];

	memset(rules, DW_CFA_advance_loc | 1, sizeof(rules));
	assert_int_equal(rows_of(rules, sizeof(rules), 64, 1).count, 31);
	assert_int_equal(rows_of(rules, sizeof(rules), 5, 1).count, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_those_of_libdw),
		cmocka_unit_test(test_rows_end_where_the_next_begins),
		cmocka_unit_test(test_what_is_not_understood_ends_the_rows),
		cmocka_unit_test(test_who_has_seen_enough_sees_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
