/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/base64.h"

#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes, or the last one or two. */
static void put_three(char to[4], const uint8_t *from, size_t size)
{
	uint32_t bits = (uint32_t)from[0] << 16 | (size > 1 ? from[1] << 8 : 0) | (size > 2 ? from[2] : 0);

	to[0] = letters[bits >> 18];
	to[1] = letters[bits >> 12 & 63];
	to[2] = size > 1 ? letters[bits >> 6 & 63] : '=';
	to[3] = size > 2 ? letters[bits & 63] : '=';
}

size_t base64_put(char *to, const uint8_t *from, size_t size)
{
	for (size_t at = 0; at < size; at += 3, to += 4)
		put_three(to, from + at, size - at);
	return BASE64_SIZE(size);
}

/* -1: it is none. */
static int value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* How many bytes four letters are; 0: none. */
static size_t take_four(const char *text, uint8_t to[3])
{
	size_t count = text[3] != '=' ? 3 : text[2] != '=' ? 2 : 1;
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int six = i <= count ? value(text[i]) : 0;

		if (six < 0)
			return 0;
		bits = bits << 6 | six;
	}
	for (size_t i = 0; i < count; i++)
		to[i] = bits >> (16 - 8 * i);
	return count;
}

bool base64_take(const char *text, size_t length, uint8_t *to, size_t *size)
{
	size_t some = 3;

	*size = 0;
	for (size_t at = 0; at < length; at += 4) {
		if (some < 3 || length - at < 4) /* nothing comes behind what is filled up */
			return false;
		some = take_four(text + at, to + *size);
		if (!some)
			return false;
		*size += some;
	}
	return true;
}
