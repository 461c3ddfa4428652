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

/* A number of 7 bits a byte; false: it does not end before `end`. */
bool unwind_uleb(const uint8_t **at, const uint8_t *end, uint64_t *value);

#endif
