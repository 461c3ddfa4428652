/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thrift.c - structs in Thrift's compact protocol.
 */
#include "export/parquet/thrift.h"

#include <string.h>

static void put_byte(struct thrift *t, unsigned byte)
{
	uint8_t one = (uint8_t)byte;

	buffer_put(t->out, &one, 1);
}

/* By how much its number is more than the last one; the number itself where that does not fit. */
static void put_head(struct thrift *t, int16_t field, enum thrift_type type)
{
	int more = field - t->last[t->depth];

	if (more > 0 && more < 16) {
		put_byte(t, (unsigned)more << 4 | type);
	} else {
		put_byte(t, type);
		buffer_put_signed(t->out, field);
	}
	t->last[t->depth] = field;
}

void thrift_bool(struct thrift *t, int16_t field, bool value)
{
	put_head(t, field, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_byte(struct thrift *t, int16_t field, int8_t value)
{
	put_head(t, field, THRIFT_BYTE);
	put_byte(t, (uint8_t)value);
}

void thrift_i32(struct thrift *t, int16_t field, int32_t value)
{
	put_head(t, field, THRIFT_I32);
	buffer_put_signed(t->out, value);
}

void thrift_i64(struct thrift *t, int16_t field, int64_t value)
{
	put_head(t, field, THRIFT_I64);
	buffer_put_signed(t->out, value);
}

void thrift_bytes(struct thrift *t, int16_t field, const void *bytes, size_t size)
{
	put_head(t, field, THRIFT_BINARY);
	buffer_put_varint(t->out, size);
	buffer_put(t->out, bytes, size);
}

void thrift_text(struct thrift *t, int16_t field, const char *text)
{
	thrift_bytes(t, field, text, strlen(text));
}

void thrift_list(struct thrift *t, int16_t field, enum thrift_type type, uint32_t count)
{
	put_head(t, field, THRIFT_LIST);
	if (count < 15) {
		put_byte(t, count << 4 | type);
	} else {
		put_byte(t, 0xf0 | type);
		buffer_put_varint(t->out, count);
	}
}

void thrift_element(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

void thrift_struct(struct thrift *t, int16_t field)
{
	put_head(t, field, THRIFT_STRUCT);
	thrift_element(t);
}

void thrift_end(struct thrift *t)
{
	put_byte(t, 0);
	if (t->depth)
		t->depth--;
}

void thrift_empty(struct thrift *t, int16_t field)
{
	thrift_struct(t, field);
	thrift_end(t);
}
