/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buffer.h - bytes that grow, and bytes that are read without trusting them.
 */
#ifndef GASPBPF_BUFFER_H
#define GASPBPF_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data;
	size_t size, room;
	bool failed; /* out of memory at some point: the content is incomplete */
};

void buffer_put(struct buffer *b, const void *data, size_t size);
void buffer_put_varint(struct buffer *b, uint64_t value);   /* LEB128 */
void buffer_put_signed(struct buffer *b, int64_t value);    /* zigzag LEB128 */
void buffer_put_string(struct buffer *b, const char *text); /* length, bytes; NULL is written as absent */
/* Any bytes as UTF-8: one that is none of it becomes the character of its number. */
void buffer_put_utf8(struct buffer *b, const char *text);
void buffer_clear(struct buffer *b); /* keeps the memory */
void buffer_free(struct buffer *b);
/* Room for `size` more bytes at data + size of the buffer; NULL: out of memory. For hot encoders. */
uint8_t *buffer_reserve(struct buffer *b, size_t size);

/* A checked reader: after the first overrun or bad encoding, failed is set and all reads give 0. */
struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

uint64_t cursor_varint(struct cursor *c);
int64_t cursor_signed(struct cursor *c);
/* A malloc'ed copy, NUL-terminated; NULL where absent or failed. Longer than `most` is a failure. */
char *cursor_string(struct cursor *c, size_t most);
const uint8_t *cursor_bytes(struct cursor *c, size_t size); /* NULL on overrun */
struct cursor cursor_part(struct cursor *c, size_t size);   /* of so many bytes; one that has failed on overrun */

#endif
