/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c - writes a table as an Apache Parquet file: row groups, and what is said of them at its end.
 *
 * The file: "PAR1"; of each row group the pages of its columns; the footer, its length in 4 bytes, "PAR1". What the
 * footer will say of row groups is kept as it will stand there, a few KB for each.
 */
#include "export/parquet/parquet.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/output.h"
#include "export/parquet/column.h"
#include "export/parquet/thrift.h"

#define MAGIC "PAR1"

/* Names of the format's (parquet.thrift). */
enum physical { PHYSICAL_BOOLEAN = 0, PHYSICAL_INT64 = 2, PHYSICAL_BYTE_ARRAY = 6 };
enum { OPTIONAL = 1, CONVERTED_UTF8 = 0, LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, UNIT_NANOS = 3 };

struct parquet {
	struct output *out;
	struct column *columns;
	unsigned ncolumns;
	uint32_t rows;  /* in the row group */
	uint32_t group; /* its number, from 1 */
	uint64_t offset, all_rows;
	bool failed; /* out of memory */
	bool begun;
	struct packer packer;
	struct buffer groups; /* of the footer: row groups that are written ... */
	uint32_t ngroups;
	struct buffer notes; /* ... and facts */
	uint32_t nnotes;
};

void parquet_free(struct parquet *file)
{
	if (!file)
		return;
	for (unsigned i = 0; file->columns && i < file->ncolumns; i++)
		column_close(&file->columns[i]);
	free(file->columns);
	packer_close(&file->packer);
	buffer_free(&file->groups);
	buffer_free(&file->notes);
	free(file);
}

struct parquet *parquet_new(const struct parquet_column *columns, unsigned count, struct output *out)
{
	struct parquet *file = calloc(1, sizeof(*file));
	bool good;

	if (!file)
		return NULL;
	file->out = out;
	file->ncolumns = count;
	file->group = 1;
	file->columns = calloc(count, sizeof(*file->columns));
	good = packer_open(&file->packer) && file->columns;
	for (unsigned i = 0; i < count && good; i++)
		good = column_open(&file->columns[i], &columns[i]);
	if (good)
		return file;
	parquet_free(file);
	return NULL;
}

/* --- rows ----------------------------------------------------------------------- */

void parquet_put_number(struct parquet *file, unsigned column, int64_t value)
{
	struct column *c = &file->columns[column];

	c->known[file->rows] = 1;
	c->numbers[c->nvalues++] = value;
}

void parquet_put_truth(struct parquet *file, unsigned column, bool value)
{
	parquet_put_number(file, column, value);
}

void parquet_put_text(struct parquet *file, unsigned column, struct parquet_text *text)
{
	struct column *c = &file->columns[column];

	if (!text->text)
		return;
	if (text->group != file->group) {
		text->code = dictionary_text(&c->texts, text->text);
		text->group = file->group;
		file->failed |= text->code == NO_CODE;
	}
	c->known[file->rows] = 1;
	c->codes[c->nvalues++] = text->code;
}

/* --- row groups ------------------------------------------------------------------ */

static int write_bytes(struct parquet *file, const void *data, size_t size)
{
	file->offset += size;
	return output_write(file->out, data, size);
}

static enum physical physical_of(const struct parquet_column *column)
{
	switch (column->type) {
	case PARQUET_TEXT:
		return PHYSICAL_BYTE_ARRAY;
	case PARQUET_TRUTH:
		return PHYSICAL_BOOLEAN;
	default:
		return PHYSICAL_INT64;
	}
}

static void put_encodings(struct thrift *t, const struct chunk *chunk)
{
	thrift_list(t, 2, THRIFT_I32, chunk->has_dictionary ? 3 : 2);
	buffer_put_signed(t->out, ENCODING_PLAIN);
	buffer_put_signed(t->out, ENCODING_RLE);
	if (chunk->has_dictionary)
		buffer_put_signed(t->out, ENCODING_RLE_DICTIONARY);
}

static void put_statistics(struct thrift *t, const struct chunk *chunk, uint32_t nulls)
{
	thrift_struct(t, 12);
	thrift_i64(t, 3, nulls);
	if (chunk->has_bounds) {
		thrift_bytes(t, 5, chunk->most.at, chunk->most.end - chunk->most.at);
		thrift_bytes(t, 6, chunk->least.at, chunk->least.end - chunk->least.at);
	}
	thrift_end(t);
}

/* A ColumnChunk of the footer. Its pages will be the next bytes of the file. */
static void put_chunk(struct parquet *file, struct thrift *t, const struct column *column, const struct chunk *chunk)
{
	thrift_element(t);
	thrift_i64(t, 2, 0); /* nothing more of it stands elsewhere */
	thrift_struct(t, 3);
	thrift_i32(t, 1, physical_of(column->is));
	put_encodings(t, chunk);
	thrift_list(t, 3, THRIFT_BINARY, 1);
	buffer_put_varint(t->out, strlen(column->is->name));
	buffer_put(t->out, column->is->name, strlen(column->is->name));
	thrift_i32(t, 4, CODEC_ZSTD);
	thrift_i64(t, 5, file->rows);
	thrift_i64(t, 6, (int64_t)chunk->plain_size);
	thrift_i64(t, 7, (int64_t)file->packer.pages.size);
	thrift_i64(t, 9, (int64_t)(file->offset + chunk->dictionary_size));
	if (chunk->has_dictionary)
		thrift_i64(t, 11, (int64_t)file->offset);
	put_statistics(t, chunk, file->rows - column->nvalues);
	thrift_end(t);
	thrift_end(t);
}

static int write_columns(struct parquet *file, struct thrift *t, uint64_t *plain)
{
	int error = 0;

	for (unsigned i = 0; i < file->ncolumns && !error; i++) {
		struct column *column = &file->columns[i];
		struct chunk chunk;

		error = column_pack(column, file->rows, &file->packer, &chunk);
		if (error)
			break;
		put_chunk(file, t, column, &chunk);
		*plain += chunk.plain_size;
		error = write_bytes(file, file->packer.pages.data, file->packer.pages.size);
		column_clear(column, file->rows);
	}
	return error;
}

static int begin(struct parquet *file)
{
	if (file->begun)
		return 0;
	file->begun = true;
	return write_bytes(file, MAGIC, strlen(MAGIC));
}

static int write_group(struct parquet *file)
{
	uint64_t start, plain = 0;
	struct thrift t = { .out = &file->groups };
	int error = file->failed ? -ENOMEM : begin(file);

	if (error || !file->rows)
		return error;
	start = file->offset;
	thrift_element(&t);
	thrift_list(&t, 1, THRIFT_STRUCT, file->ncolumns);
	error = write_columns(file, &t, &plain);
	thrift_i64(&t, 2, (int64_t)plain);
	thrift_i64(&t, 3, file->rows);
	thrift_i64(&t, 5, (int64_t)start);
	thrift_i64(&t, 6, (int64_t)(file->offset - start));
	thrift_end(&t);
	file->all_rows += file->rows;
	file->rows = 0;
	file->group++;
	file->ngroups++;
	return error ? error : file->groups.failed ? -ENOMEM : 0;
}

int parquet_end_row(struct parquet *file)
{
	if (++file->rows < PARQUET_GROUP_ROWS)
		return file->failed ? -ENOMEM : 0;
	return write_group(file);
}

/* --- the footer ------------------------------------------------------------------- */

void parquet_note(struct parquet *file, const char *key, const char *text)
{
	struct thrift t = { .out = &file->notes };
	struct buffer clean = { 0 };

	buffer_put_utf8(&clean, text);
	thrift_element(&t);
	thrift_text(&t, 1, key);
	thrift_bytes(&t, 2, clean.data, clean.size);
	thrift_end(&t);
	file->nnotes++;
	file->failed |= clean.failed || file->notes.failed;
	buffer_free(&clean);
}

static void put_column(struct thrift *t, const struct parquet_column *column)
{
	thrift_element(t);
	thrift_i32(t, 1, physical_of(column));
	thrift_i32(t, 3, OPTIONAL);
	thrift_text(t, 4, column->name);
	if (column->type == PARQUET_TEXT) {
		thrift_i32(t, 6, CONVERTED_UTF8);
		thrift_struct(t, 10);
		thrift_empty(t, LOGICAL_STRING);
		thrift_end(t);
	} else if (column->type == PARQUET_TIME) {
		thrift_struct(t, 10);
		thrift_struct(t, LOGICAL_TIMESTAMP);
		thrift_bool(t, 1, true); /* UTC */
		thrift_struct(t, 2);
		thrift_empty(t, UNIT_NANOS);
		thrift_end(t);
		thrift_end(t);
		thrift_end(t);
	}
	thrift_end(t);
}

static void put_schema(struct parquet *file, struct thrift *t)
{
	thrift_list(t, 2, THRIFT_STRUCT, file->ncolumns + 1);
	thrift_element(t);
	thrift_text(t, 4, "schema");
	thrift_i32(t, 5, (int32_t)file->ncolumns);
	thrift_end(t);
	for (unsigned i = 0; i < file->ncolumns; i++)
		put_column(t, file->columns[i].is);
}

/* The bounds of all columns are by the order of their types; without that readers do not believe them. */
static void put_orders(struct parquet *file, struct thrift *t)
{
	thrift_list(t, 7, THRIFT_STRUCT, file->ncolumns);
	for (unsigned i = 0; i < file->ncolumns; i++) {
		thrift_element(t);
		thrift_empty(t, 1);
		thrift_end(t);
	}
}

static void put_footer(struct parquet *file, struct buffer *footer)
{
	struct thrift t = { .out = footer };

	thrift_i32(&t, 1, 1); /* of the format */
	put_schema(file, &t);
	thrift_i64(&t, 3, (int64_t)file->all_rows);
	thrift_list(&t, 4, THRIFT_STRUCT, file->ngroups);
	buffer_put(footer, file->groups.data, file->groups.size);
	if (file->nnotes) {
		thrift_list(&t, 5, THRIFT_STRUCT, file->nnotes);
		buffer_put(footer, file->notes.data, file->notes.size);
	}
	thrift_text(&t, 6, "gaspbpf version " GASPBPF_VERSION);
	put_orders(file, &t);
	thrift_end(&t);
}

int parquet_end(struct parquet *file)
{
	struct buffer footer = { 0 };
	int error = write_group(file);
	uint32_t size;

	if (error)
		return error;
	put_footer(file, &footer);
	size = htole32((uint32_t)footer.size);
	buffer_put(&footer, &size, sizeof(size));
	buffer_put(&footer, MAGIC, strlen(MAGIC));
	error = footer.failed ? -ENOMEM : write_bytes(file, footer.data, footer.size);
	buffer_free(&footer);
	return error;
}
