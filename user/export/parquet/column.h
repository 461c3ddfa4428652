/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * column.h - the values of one column, from row to row of a row group, and their pages. Private to
 * user/export/parquet.
 */
#ifndef GASPBPF_EXPORT_PARQUET_COLUMN_H
#define GASPBPF_EXPORT_PARQUET_COLUMN_H

#include <zstd.h>

#include "export/parquet/dictionary.h"
#include "export/parquet/parquet.h"

/* Names of the format's (parquet.thrift). */
enum encoding { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum codec { CODEC_ZSTD = 6 };

struct column {
	const struct parquet_column *is;
	uint8_t *known;   /* by row: it has a value; else it is NULL */
	int64_t *numbers; /* the values, without the NULLs; of a text NULL */
	uint32_t *codes;  /* of a text: numbers of the dictionary; else NULL */
	uint32_t nvalues;
	struct dictionary texts;
};

/* What all columns share while they are packed. */
struct packer {
	ZSTD_CCtx *zstd;
	uint32_t *codes;           /* of a column of numbers: which of the dictionary's, by value */
	uint32_t *levels;          /* by row: 1, it has a value; 0, NULL */
	struct dictionary numbers; /* of one column */
	struct buffer plain;       /* a page before it is packed */
	struct buffer squeezed;
	struct buffer pages; /* of one column */
};

/* What is to be said of a column's pages. */
struct chunk {
	bool has_dictionary;
	size_t dictionary_size; /* bytes in front of the data page, its head included */
	size_t plain_size;      /* bytes of all pages before they are packed, heads included */
	bool has_bounds;
	uint8_t word[2][8]; /* of numbers */
	struct cursor least, most;
};

/* False: out of memory. */
bool column_open(struct column *column, const struct parquet_column *is);
void column_close(struct column *column);
/* Packs its values into packer->pages. 0 or -ENOMEM. */
int column_pack(struct column *column, uint32_t rows, struct packer *packer, struct chunk *chunk);
/* For the next row group. */
void column_clear(struct column *column, uint32_t rows);
bool packer_open(struct packer *packer);
void packer_close(struct packer *packer);

#endif
