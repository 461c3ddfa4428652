/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind.h - private to user/target: the entries of a file's .eh_frame, one by one.
 */
#ifndef GASPBPF_TARGET_UNWIND_H
#define GASPBPF_TARGET_UNWIND_H

#include "target/image_private.h"

/* A stretch of code, and the rules (DW_CFA_*) that tell how to find its caller: those of its kind first, then its own.
 */
struct unwind_entry {
	uint64_t address, size;
	uint64_t unit; /* bytes of code that a step of one stands for */
	const uint8_t *common_rules, *common_rules_end;
	const uint8_t *rules, *rules_end;
};

typedef void (*unwind_entry_fn)(void *context, const struct unwind_entry *entry);
/* None where the file has no such section, or what is in it makes no sense. */
void unwind_visit(const struct image *image, unwind_entry_fn visit, void *context);

/*
 * For code in [from, to): the frame ends at register `base` (DWARF's number) + offset, and the return address stands
 * right below that. Not known: an expression tells, or nothing.
 */
struct unwind_row {
	uint64_t from, to;
	uint64_t base, offset;
	bool known;
};

/* False: it has seen enough. */
typedef bool (*unwind_row_fn)(void *context, const struct unwind_row *row);
/* The entry's rows in the order of addresses, up to the first rule that is not understood (unwind_rows.c). */
void unwind_rows(const struct unwind_entry *entry, unwind_row_fn visit, void *context);

/* A number of 7 bits a byte; false: it does not end before `end`. */
bool unwind_uleb(const uint8_t **at, const uint8_t *end, uint64_t *value);

#endif
