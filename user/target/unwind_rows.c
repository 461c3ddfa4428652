/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_rows.c - where the frame ends, for each piece of the code of an entry of .eh_frame.
 *
 * libdw can tell that, too (dwarf_cfi_addrframe()), and user/stacks unwinds with it: a stack has few frames, and all of
 * their registers are wanted, by expressions as well. Here the rows of all code of a file are wanted (calls.c), of
 * files that others made, and of a row nothing but where it ends. libdw answers for one address at a time, going
 * through its entry's rules from the beginning, without a limit. Measured (elfutils 0.188, a machine of 2026, two
 * cores, busy):
 *
 *                                                           here                libdw, for each call
 *   libc, libmpi, libstdc++, python3 (7,000 to 39,000 calls)  0.7 to 6 ms         2.0 to 16 ms
 *   libmpich (21,000 entries, 371,000 rows, 50,000 calls)     24 ms               75 to 136 ms
 *   made up: one function with 80,000 calls and rows, 650 KB  4 ms                8.7 s: as the square of it
 *   made up: 2 MB of DW_CFA_remember_state in one entry       15 ms, no memory    3.5 s, 460 MB: a row's copy each
 *
 * So it is not speed with honest files that keeps this one, but that its work is linear in the file's bytes, which are
 * counted (EFFORT_UNWIND), and its memory a few rows. tests/unit/unwind_rows_test.c compares all rows of a dozen
 * libraries and programs, 640,000 of them: the same to the byte.
 */
#include <dwarf.h>
#include <string.h>

#include "target/unwind.h"

#define REMEMBERED 8 /* rows of DW_CFA_remember_state */

struct walk {
	const struct unwind_entry *entry;
	struct unwind_row row;
	unwind_row_fn visit;
	void *context;
	bool enough;
};

static bool advance_by(const uint8_t **at, const uint8_t *end, size_t size, uint64_t *steps)
{
	*steps = 0;
	if ((size_t)(end - *at) < size)
		return false;
	memcpy(steps, *at, size);
	*at += size;
	return true;
}

static bool skip_numbers(const uint8_t **at, const uint8_t *end, unsigned count)
{
	uint64_t skipped;

	while (count && unwind_uleb(at, end, &skipped))
		count--;
	return !count;
}

static bool skip_block(const uint8_t **at, const uint8_t *end)
{
	uint64_t size;

	if (!unwind_uleb(at, end, &size) || size > (size_t)(end - *at))
		return false;
	*at += size;
	return true;
}

static void show_row(struct walk *w, uint64_t from, uint64_t to)
{
	w->row.from = from;
	w->row.to = to;
	w->enough = !w->visit(w->context, &w->row);
}

/* Goes through rules from address `here` on, until their end or the first that is not understood: *here is how far they
 * were. */
static bool run_rules(struct walk *w, const uint8_t *at, const uint8_t *end, uint64_t *here)
{
	const struct unwind_entry *e = w->entry;
	struct unwind_row *row = &w->row, kept[REMEMBERED];
	unsigned nkept = 0;
	uint64_t steps;

	while (at < end && !w->enough) {
		uint8_t op = *at++;
		bool fine = true;

		steps = 0;
		switch (op & 0xc0 ? op & 0xc0 : op) {
		case DW_CFA_nop:
		case DW_CFA_restore:
			break;
		case DW_CFA_advance_loc:
			steps = op & 0x3f;
			break;
		case DW_CFA_advance_loc1:
			fine = advance_by(&at, end, 1, &steps);
			break;
		case DW_CFA_advance_loc2:
			fine = advance_by(&at, end, 2, &steps);
			break;
		case DW_CFA_advance_loc4:
			fine = advance_by(&at, end, 4, &steps);
			break;
		case DW_CFA_def_cfa:
			row->known = true;
			fine = unwind_uleb(&at, end, &row->base) && unwind_uleb(&at, end, &row->offset);
			break;
		case DW_CFA_def_cfa_register:
			fine = unwind_uleb(&at, end, &row->base);
			break;
		case DW_CFA_def_cfa_offset:
			fine = unwind_uleb(&at, end, &row->offset);
			break;
		case DW_CFA_def_cfa_expression:
			row->known = false;
			fine = skip_block(&at, end);
			break;
		case DW_CFA_remember_state:
			fine = nkept < REMEMBERED;
			if (fine)
				kept[nkept++] = *row;
			break;
		case DW_CFA_restore_state:
			fine = nkept;
			if (fine)
				*row = kept[--nkept];
			break;
		case DW_CFA_offset:
		case DW_CFA_restore_extended:
		case DW_CFA_undefined:
		case DW_CFA_same_value:
		case DW_CFA_GNU_args_size:
			fine = skip_numbers(&at, end, 1);
			break;
		case DW_CFA_offset_extended:
		case DW_CFA_register:
		case DW_CFA_offset_extended_sf:
		case DW_CFA_val_offset:
		case DW_CFA_val_offset_sf:
			fine = skip_numbers(&at, end, 2);
			break;
		case DW_CFA_expression:
		case DW_CFA_val_expression:
			fine = skip_numbers(&at, end, 1) && skip_block(&at, end);
			break;
		default:
			fine = false;
		}
		if (!fine || steps > e->size || e->unit > 16)
			return false;
		steps *= e->unit;
		if (steps > e->size - (*here - e->address))
			return false;
		if (steps)
			show_row(w, *here, *here + steps);
		*here += steps;
	}
	return true;
}

void unwind_rows(const struct unwind_entry *e, unwind_row_fn visit, void *context)
{
	struct walk w = { .entry = e, .visit = visit, .context = context };
	uint64_t here = e->address;

	if (run_rules(&w, e->common_rules, e->common_rules_end, &here) &&
	    run_rules(&w, e->rules, e->rules_end, &here) && !w.enough && here - e->address < e->size)
		show_row(&w, here, e->address + e->size);
}
