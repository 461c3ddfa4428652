/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dictionary.h - the different values of one column of a row group, each with its number. Private to
 * user/export/parquet.
 */
#ifndef GASPBPF_EXPORT_PARQUET_DICTIONARY_H
#define GASPBPF_EXPORT_PARQUET_DICTIONARY_H

#include <stdbool.h>

#include "util/buffer.h"

#define NO_CODE UINT32_MAX

/* Zero: empty. */
struct dictionary {
	struct buffer page; /* its values one after the other, as a page of them has them */
	uint32_t count;
	uint32_t *places; /* by number: where in the page */
	size_t nplaces;
	uint32_t *slots; /* a hash table: number + 1; 0: free */
	size_t nslots;
	struct buffer clean; /* a text as UTF-8 */
};

/* The number of a text. NO_CODE: out of memory. */
uint32_t dictionary_text(struct dictionary *d, const char *text);
uint32_t dictionary_number(struct dictionary *d, int64_t number);
/* The least and the greatest text, as bytes. */
void dictionary_bounds(const struct dictionary *d, struct cursor *least, struct cursor *most);
/* Empty again; keeps the memory. */
void dictionary_clear(struct dictionary *d);
void dictionary_free(struct dictionary *d);

#endif
