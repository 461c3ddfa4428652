/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * digits.h - numbers as text, for whoever writes many millions of them.
 *
 * Each writes at `to` without a NUL and returns where it ended. The caller has made sure of room: DIGITS_ROOM bytes
 * from where a number begins, more than it takes, for bytes behind the number may be overwritten too.
 */
#ifndef GASPBPF_DIGITS_H
#define GASPBPF_DIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define DIGITS_ROOM 32

static inline unsigned digits_count(uint64_t value)
{
	static const uint64_t powers[] = {
		0,
		10,
		100,
		1000,
		10000,
		100000,
		1000000,
		10000000,
		100000000,
		1000000000,
		10000000000,
		100000000000,
		1000000000000,
		10000000000000,
		100000000000000,
		1000000000000000,
		10000000000000000,
		100000000000000000,
		1000000000000000000,
		10000000000000000000u,
	};
	unsigned guess = (64 - (unsigned)__builtin_clzll(value | 1)) * 1233 >> 12; /* 1233 / 4096: log10(2) */

	return guess + (value >= powers[guess]);
}

/* Two digits at a time: the divisions are what takes time. */
static inline char *digits_uint(char *to, uint64_t value)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960"
		"616263646566676869707172737475767778798081828384858687888990919293949596979899";
	char *end = to + digits_count(value), *at = end;

	while (value >= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (value >= 10)
		memcpy(at - 2, pairs + 2 * value, 2);
	else
		at[-1] = (char)('0' + value);
	return end;
}

static inline char *digits_int(char *to, int64_t value)
{
	if (value < 0)
		*to++ = '-';
	return digits_uint(to, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* ns as us with three decimals. */
static inline char *digits_micros(char *to, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);

	to = digits_uint(to, ns / 1000);
	*to++ = '.';
	*to++ = (char)('0' + rest / 100);
	*to++ = (char)('0' + rest / 10 % 10);
	*to++ = (char)('0' + rest % 10);
	return to;
}

/* The eight hexadecimal digits of 32 bits, all at once: the bytes as they stand in memory, the first one lowest. */
static inline uint64_t digits_hex8(uint32_t value)
{
	uint64_t x = value, letters;

	x = (x << 16 | x) & 0x0000ffff0000ffffull; /* each nibble into a byte of its own */
	x = (x << 8 | x) & 0x00ff00ff00ff00ffull;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0full;
	letters = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull; /* 1 where the nibble is ten or more */
	return __builtin_bswap64(x + 0x3030303030303030ull + letters * ('a' - '0' - 10));
}

/* The last `length` of eight digits, as the lowest bytes. */
static inline char *digits_put8(char *to, uint64_t digits, unsigned length)
{
	digits = htole64(digits >> (64 - 8 * length));
	memcpy(to, &digits, sizeof(digits));
	return to + length;
}

/* "0x7f00", without zeros in front. */
static inline char *digits_address(char *to, uint64_t value)
{
	unsigned length = (67 - (unsigned)__builtin_clzll(value | 1)) / 4;

	memcpy(to, "0x", 2);
	to += 2;
	if (length > 8) {
		to = digits_put8(to, digits_hex8(value >> 32), length - 8);
		length = 8;
	}
	return digits_put8(to, digits_hex8((uint32_t)value), length);
}

#endif
