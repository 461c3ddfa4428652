/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * column.c - the values of one column, from row to row of a row group, and their pages.
 *
 * A column of a row group is one page of data, and before it one with the dictionary that it refers to, where there is
 * one: texts always have one, numbers where few are different. A data page begins with a bit for each row, whether it
 * has a value; then come the values of those that have. Each page is packed by zstd and has a checksum.
 */
#include "export/parquet/column.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "export/parquet/runs.h"
#include "export/parquet/thrift.h"

#define LEVEL 1             /* higher ones take twice as long for a tenth less */
#define DIFFERENT_MOST 4096 /* numbers of a dictionary */
#define TEXT_BOUND 256      /* bytes of a bound of texts that is worth its place */

enum page { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

bool column_open(struct column *column, const struct parquet_column *is)
{
	bool text = is->type == PARQUET_TEXT;

	*column = (struct column){ .is = is, .known = calloc(PARQUET_GROUP_ROWS, 1) };
	if (text)
		column->codes = calloc(PARQUET_GROUP_ROWS, sizeof(*column->codes));
	else
		column->numbers = calloc(PARQUET_GROUP_ROWS, sizeof(*column->numbers));
	return column->known && (text ? column->codes != NULL : column->numbers != NULL);
}

void column_close(struct column *column)
{
	free(column->known);
	free(column->numbers);
	free(column->codes);
	dictionary_free(&column->texts);
}

void column_clear(struct column *column, uint32_t rows)
{
	memset(column->known, 0, rows);
	column->nvalues = 0;
	dictionary_clear(&column->texts);
}

bool packer_open(struct packer *packer)
{
	packer->zstd = ZSTD_createCCtx();
	packer->codes = calloc(PARQUET_GROUP_ROWS, sizeof(*packer->codes));
	packer->levels = calloc(PARQUET_GROUP_ROWS, sizeof(*packer->levels));
	return packer->zstd && packer->codes && packer->levels;
}

void packer_close(struct packer *packer)
{
	ZSTD_freeCCtx(packer->zstd);
	free(packer->codes);
	free(packer->levels);
	dictionary_free(&packer->numbers);
	buffer_free(&packer->plain);
	buffer_free(&packer->squeezed);
	buffer_free(&packer->pages);
}

/* --- pages ----------------------------------------------------------------------- */

static void put_head(struct packer *p, enum page type, size_t plain, uint32_t values, enum encoding encoding)
{
	struct thrift t = { .out = &p->pages };

	thrift_i32(&t, 1, type);
	thrift_i32(&t, 2, (int32_t)plain);
	thrift_i32(&t, 3, (int32_t)p->squeezed.size);
	thrift_i32(&t, 4, (int32_t)crc32(0, p->squeezed.data, (unsigned)p->squeezed.size));
	thrift_struct(&t, type == PAGE_DATA ? 5 : 7);
	thrift_i32(&t, 1, (int32_t)values);
	thrift_i32(&t, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_i32(&t, 3, ENCODING_RLE); /* of the bits that tell NULLs */
		thrift_i32(&t, 4, ENCODING_RLE);
	}
	thrift_end(&t);
	thrift_end(&t);
}

/* Appends a page, whose bytes are these, to the column's. */
static int put_page(struct packer *p, enum page type, const struct buffer *plain, uint32_t values,
		    enum encoding encoding, struct chunk *chunk)
{
	size_t room = ZSTD_compressBound(plain->size), before = p->pages.size, size;
	uint8_t *to;

	buffer_clear(&p->squeezed);
	to = plain->failed ? NULL : buffer_reserve(&p->squeezed, room);
	size = to ? ZSTD_compressCCtx(p->zstd, to, room, plain->data, plain->size, LEVEL) : 0;
	if (!to || ZSTD_isError(size))
		return -ENOMEM;
	p->squeezed.size = size;
	put_head(p, type, plain->size, values, encoding);
	chunk->plain_size += p->pages.size - before + plain->size;
	buffer_put(&p->pages, p->squeezed.data, size);
	return p->pages.failed ? -ENOMEM : 0;
}

/* The bits that tell which rows have a value, behind the number of their bytes. */
static void put_levels(const struct column *column, uint32_t rows, struct packer *p)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < rows; i++)
		p->levels[i] = column->known[i];
	buffer_put(&p->plain, &size, sizeof(size));
	put_runs(&p->plain, p->levels, rows, 1);
	if (p->plain.failed)
		return;
	size = htole32((uint32_t)(p->plain.size - sizeof(size)));
	memcpy(p->plain.data, &size, sizeof(size));
}

static void put_numbers(const struct column *column, struct buffer *to)
{
	uint8_t *out = buffer_reserve(to, column->nvalues * sizeof(uint64_t) + 1);

	if (!out)
		return;
	for (uint32_t i = 0; i < column->nvalues; i++) {
		uint64_t word = htole64((uint64_t)column->numbers[i]);

		memcpy(out + i * sizeof(word), &word, sizeof(word));
	}
	to->size += column->nvalues * sizeof(uint64_t);
}

static void put_truths(const struct column *column, struct buffer *to)
{
	for (uint32_t i = 0; i < column->nvalues; i += 8) {
		uint8_t byte = 0;

		for (uint32_t bit = 0; bit < 8 && i + bit < column->nvalues; bit++)
			byte |= (uint8_t)(column->numbers[i + bit] << bit);
		buffer_put(to, &byte, 1);
	}
}

/* --- what a column is packed as ------------------------------------------------------ */

/* The dictionary of its numbers, in p->numbers and p->codes; false: too many are different. */
static bool find_numbers(const struct column *column, struct packer *p, int *error)
{
	if (column->is->type == PARQUET_TRUTH || column->is->varied)
		return false;
	dictionary_clear(&p->numbers);
	for (uint32_t i = 0; i < column->nvalues; i++) {
		/* The same one comes again and again. */
		if (i && column->numbers[i] == column->numbers[i - 1]) {
			p->codes[i] = p->codes[i - 1];
			continue;
		}
		p->codes[i] = dictionary_number(&p->numbers, column->numbers[i]);
		if (p->codes[i] == NO_CODE)
			*error = -ENOMEM;
		if (*error || p->numbers.count > DIFFERENT_MOST)
			return false;
	}
	return true;
}

static int put_by_dictionary(const struct dictionary *dictionary, const struct column *column, uint32_t rows,
			     struct packer *p, struct chunk *chunk)
{
	unsigned bits = bits_for(dictionary->count - 1);
	const uint8_t width = (uint8_t)bits;
	int error = put_page(p, PAGE_DICTIONARY, &dictionary->page, dictionary->count, ENCODING_PLAIN, chunk);

	if (error)
		return error;
	chunk->has_dictionary = true;
	chunk->dictionary_size = p->pages.size;
	put_levels(column, rows, p);
	buffer_put(&p->plain, &width, 1);
	put_runs(&p->plain, column->codes ?: p->codes, column->nvalues, bits);
	return put_page(p, PAGE_DATA, &p->plain, rows, ENCODING_RLE_DICTIONARY, chunk);
}

static void find_bounds(const struct column *column, struct chunk *chunk)
{
	int64_t least, most;

	if (!column->nvalues)
		return;
	if (column->codes) {
		dictionary_bounds(&column->texts, &chunk->least, &chunk->most);
		chunk->has_bounds = chunk->least.end - chunk->least.at <= TEXT_BOUND &&
				    chunk->most.end - chunk->most.at <= TEXT_BOUND;
		return;
	}
	least = most = column->numbers[0];
	for (uint32_t i = 1; i < column->nvalues; i++) {
		least = column->numbers[i] < least ? column->numbers[i] : least;
		most = column->numbers[i] > most ? column->numbers[i] : most;
	}
	for (unsigned i = 0; i < 8; i++) {
		chunk->word[0][i] = (uint8_t)((uint64_t)least >> 8 * i);
		chunk->word[1][i] = (uint8_t)((uint64_t)most >> 8 * i);
	}
	size_t size = column->is->type == PARQUET_TRUTH ? 1 : 8;

	chunk->least = (struct cursor){ chunk->word[0], chunk->word[0] + size, false };
	chunk->most = (struct cursor){ chunk->word[1], chunk->word[1] + size, false };
	chunk->has_bounds = true;
}

int column_pack(struct column *column, uint32_t rows, struct packer *p, struct chunk *chunk)
{
	int error = 0;

	*chunk = (struct chunk){ 0 };
	buffer_clear(&p->pages);
	buffer_clear(&p->plain);
	find_bounds(column, chunk);
	if (column->nvalues && column->codes)
		return put_by_dictionary(&column->texts, column, rows, p, chunk);
	if (column->nvalues && find_numbers(column, p, &error))
		return put_by_dictionary(&p->numbers, column, rows, p, chunk);
	if (error)
		return error;
	put_levels(column, rows, p);
	if (column->is->type == PARQUET_TRUTH)
		put_truths(column, &p->plain);
	else if (column->numbers)
		put_numbers(column, &p->plain);
	return put_page(p, PAGE_DATA, &p->plain, rows, ENCODING_PLAIN, chunk);
}
