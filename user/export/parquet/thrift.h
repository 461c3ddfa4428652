/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thrift.h - structs in Thrift's compact protocol, in which Parquet writes all that is not values. Private to
 * user/export/parquet.
 *
 * A field has its number, and its type stands before it; a struct in a struct is begun by thrift_struct(), one in a
 * list by thrift_element(), and both are ended by thrift_end(). Numbers within a struct must rise.
 */
#ifndef GASPBPF_EXPORT_PARQUET_THRIFT_H
#define GASPBPF_EXPORT_PARQUET_THRIFT_H

#include <stdbool.h>

#include "util/buffer.h"

#define THRIFT_DEPTH 8 /* structs in structs */

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE,
	THRIFT_BYTE,
	THRIFT_I32 = 5,
	THRIFT_I64,
	THRIFT_BINARY = 8,
	THRIFT_LIST,
	THRIFT_STRUCT = 12
};

/* Zero but for `out`: begins the outermost struct, which thrift_end() ends, too. */
struct thrift {
	struct buffer *out;
	int16_t last[THRIFT_DEPTH]; /* number of the latest field, of each struct that is open */
	unsigned depth;
};

void thrift_bool(struct thrift *t, int16_t field, bool value);
void thrift_byte(struct thrift *t, int16_t field, int8_t value);
void thrift_i32(struct thrift *t, int16_t field, int32_t value);
void thrift_i64(struct thrift *t, int16_t field, int64_t value);
void thrift_bytes(struct thrift *t, int16_t field, const void *bytes, size_t size);
void thrift_text(struct thrift *t, int16_t field, const char *text);
void thrift_struct(struct thrift *t, int16_t field);
/* Its elements follow, as many. */
void thrift_list(struct thrift *t, int16_t field, enum thrift_type type, uint32_t count);
void thrift_element(struct thrift *t);
void thrift_end(struct thrift *t);
/* A struct without fields. */
void thrift_empty(struct thrift *t, int16_t field);

#endif
