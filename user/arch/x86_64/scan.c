/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scan.c - see arch/scan.h. Prefixes do not matter: what comes behind them is found by itself.
 */
#include <string.h>

#include "arch/scan.h"

/* What may begin with this byte. */
static const uint8_t first_bytes[256] = {
	[0x0f] = SCAN_CONDITION,      /* jcc, if another byte says so */
	[0x70 ... 0x7f] = SCAN_SHORT, /* jcc */
	[0x8d] = SCAN_ADDRESS,        /* lea */
	[0xc7] = SCAN_CONDITION,      /* xbegin */
	[0xe0 ... 0xe3] = SCAN_SHORT, /* loop, jrcxz */
	[0xe8] = SCAN_CALL,           /* call */
	[0xe9] = SCAN_JUMP,           /* jmp */
	[0xeb] = SCAN_SHORT,          /* jmp */
	[0xff] = SCAN_CALL_SLOT | SCAN_INDIRECT,
};

/* Bytes before the distance that stands in it; 0: the second byte tells that it is nothing. *what: which of them. */
static unsigned opcode_bytes(uint8_t first, uint8_t second, unsigned *what)
{
	switch (first) {
	case 0x0f:
		return (second & 0xf0) == 0x80 ? 2 : 0;
	case 0xc7:
		return second == 0xf8 ? 2 : 0;
	case 0x8d:
		return (second & 0xc7) == 0x05 ? 2 : 0; /* relative to the code */
	case 0xff:
		*what = second == 0x15 ? SCAN_CALL_SLOT : (second >> 3 & 7) == 4 ? SCAN_INDIRECT : 0;
		return *what ? 2 : 0;
	default:
		return 1;
	}
}

/* False: there is not so much. */
static bool read_target(const uint8_t *code, size_t left, unsigned opcode, struct scan_hit *hit)
{
	int32_t distance = 0;
	size_t bytes = hit->what == SCAN_SHORT ? 1 : sizeof(distance);

	if (left < opcode + bytes)
		return false;
	if (bytes == 1)
		distance = (int8_t)code[opcode];
	else
		memcpy(&distance, code + opcode, sizeof(distance));
	hit->end = hit->address + opcode + bytes;
	hit->target = hit->end + (int64_t)distance;
	return true;
}

bool code_scan(const struct code_scan *scan, const uint8_t *code, size_t size, size_t own, uint64_t address)
{
	for (size_t i = 0; i < own; i++) {
		unsigned what = first_bytes[code[i]] & scan->wanted, opcode;
		struct scan_hit hit;

		if (!what)
			continue;
		opcode = opcode_bytes(code[i], i + 1 < size ? code[i + 1] : 0, &what);
		if (!opcode || !(what & scan->wanted))
			continue;
		hit = (struct scan_hit){ .what = what, .address = address + i };
		if (what != SCAN_INDIRECT && !read_target(code + i, size - i, opcode, &hit))
			continue;
		if (!scan->found(scan->context, &hit))
			return false;
	}
	return true;
}
