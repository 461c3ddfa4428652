/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * utf8.h - telling valid UTF-8 from other bytes.
 */
#ifndef GASPBPF_UTF8_H
#define GASPBPF_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * The length in bytes of the character at `at`, of which `left` bytes may be looked at: 1 to 4, or
 * 0 where it is not valid (overlong forms, surrogates and anything above U+10FFFF are not). NUL counts as a character.
 */
static inline unsigned utf8_length(const uint8_t *at, size_t left)
{
	uint8_t low = 0x80, high = 0xbf; /* bounds of the second byte */
	unsigned length, i;

	if (!left)
		return 0;
	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	if (left < length || at[1] < low || at[1] > high)
		return 0;
	for (i = 2; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

/* Characters of valid text, taken as one column each. */
static inline size_t utf8_columns(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += (*text & 0xc0) != 0x80;
	return columns;
}

#endif
