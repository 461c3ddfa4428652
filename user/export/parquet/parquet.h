/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parquet.h - private to user/export: writes a table as an Apache Parquet file. The door of this folder.
 *
 * Rows are written one after the other. A value that was not put in a row is NULL. So many rows are kept, packed and
 * handed on as a row group; memory does not grow with the number of rows but by a few KB for each row group.
 *
 * The format: https://parquet.apache.org/docs/file-format/, its structs: parquet.thrift of apache/parquet-format.
 */
#ifndef GASPBPF_EXPORT_PARQUET_H
#define GASPBPF_EXPORT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARQUET_GROUP_ROWS (128u << 10) /* of a row group, at most */

struct output;
struct parquet;

enum parquet_type {
	PARQUET_NUMBER, /* 64 bits, signed */
	PARQUET_TIME,   /* ns since 1970, UTC */
	PARQUET_TEXT,   /* UTF-8 */
	PARQUET_TRUTH,
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
	bool varied; /* of a number: values hardly repeat, so that no dictionary of them is tried */
};

/* A text that comes again and again. To be kept as long as it does, and used for one column only. */
struct parquet_text {
	const char *text; /* any bytes; what is no UTF-8 becomes the character of the byte's number. NULL: NULL */
	uint32_t group;   /* the rest is the writer's; zero at first */
	uint32_t code;
};

/* columns: the caller's; they must live as long. NULL: out of memory. */
struct parquet *parquet_new(const struct parquet_column *columns, unsigned count, struct output *out);
void parquet_free(struct parquet *file);
/* Values of the row that comes next; one for each column, at most. Errors are told by parquet_end_row(). */
void parquet_put_number(struct parquet *file, unsigned column, int64_t value);
void parquet_put_truth(struct parquet *file, unsigned column, bool value);
void parquet_put_text(struct parquet *file, unsigned column, struct parquet_text *text);
/* 0 or -errno; said, but for -ENOMEM. */
int parquet_end_row(struct parquet *file);
/* A fact about the whole table; any time before the end. Errors are told at the end. */
void parquet_note(struct parquet *file, const char *key, const char *text);
/* Writes what is left. As above. */
int parquet_end(struct parquet *file);

#endif
