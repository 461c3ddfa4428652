/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buffer.c - bytes that grow, and bytes that are read without trusting them.
 */
#include "util/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

#define VARINT_MOST 10 /* bytes of a 64-bit LEB128 */

uint8_t *buffer_reserve(struct buffer *b, size_t size)
{
	size_t room = b->room ? b->room : 256;
	uint8_t *data;

	if (b->failed)
		return NULL;
	if (size <= b->room - b->size)
		return b->data + b->size;
	if (size > SIZE_MAX / 4 - b->size)
		goto failed;
	while (room - b->size < size)
		room *= 2;
	data = realloc(b->data, room);
	if (!data)
		goto failed;
	b->data = data;
	b->room = room;
	return b->data + b->size;
failed:
	b->failed = true;
	return NULL;
}

void buffer_put(struct buffer *b, const void *data, size_t size)
{
	uint8_t *to = size ? buffer_reserve(b, size) : NULL;

	if (!to)
		return;
	memcpy(to, data, size);
	b->size += size;
}

void buffer_put_varint(struct buffer *b, uint64_t value)
{
	uint8_t *to = buffer_reserve(b, VARINT_MOST);

	if (!to)
		return;
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	b->size = (size_t)(to - b->data);
}

void buffer_put_signed(struct buffer *b, int64_t value)
{
	buffer_put_varint(b, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* The length is written plus one; 0 stands for absent. */
void buffer_put_string(struct buffer *b, const char *text)
{
	size_t length;

	if (!text) {
		buffer_put_varint(b, 0);
		return;
	}
	length = strlen(text);
	buffer_put_varint(b, (uint64_t)length + 1);
	buffer_put(b, text, length);
}

void buffer_put_utf8(struct buffer *b, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t left = strlen(text);

	while (left) {
		unsigned length = utf8_length(at, left);

		if (length) {
			buffer_put(b, at, length);
		} else {
			const uint8_t both[] = { (uint8_t)(0xc0 | *at >> 6), (uint8_t)(0x80 | (*at & 0x3f)) };

			buffer_put(b, both, sizeof(both));
			length = 1;
		}
		at += length;
		left -= length;
	}
}

void buffer_clear(struct buffer *b)
{
	b->size = 0;
	b->failed = false;
}

void buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ 0 };
}

uint64_t cursor_varint(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (c->failed || c->at >= c->end)
			break;
		byte = *c->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->failed = true;
	return 0;
}

int64_t cursor_signed(struct cursor *c)
{
	uint64_t value = cursor_varint(c);

	return (int64_t)((value >> 1) ^ -(value & 1));
}

const uint8_t *cursor_bytes(struct cursor *c, size_t size)
{
	const uint8_t *at = c->at;

	if (c->failed || size > (size_t)(c->end - c->at)) {
		c->failed = true;
		return NULL;
	}
	c->at += size;
	return at;
}

struct cursor cursor_part(struct cursor *c, size_t size)
{
	const uint8_t *at = cursor_bytes(c, size);

	return (struct cursor){ at, at ? at + size : NULL, !at };
}

char *cursor_string(struct cursor *c, size_t most)
{
	uint64_t length = cursor_varint(c);
	const uint8_t *from;
	char *text;

	if (c->failed || !length)
		return NULL;
	if (--length > most) {
		c->failed = true;
		return NULL;
	}
	from = cursor_bytes(c, length);
	text = from ? malloc(length + 1) : NULL;
	if (!text) {
		c->failed = true;
		return NULL;
	}
	memcpy(text, from, length);
	text[length] = '\0';
	return text;
}
