/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runs.c - small numbers as runs and packed bits.
 *
 * A run is one number and how often it comes; what does not repeat stands in groups of eight numbers, each with the
 * same number of bits, the lowest bits first. A head before either says which it is, and how many follow; the last
 * group is filled up with zeros, which nobody reads.
 */
#include "export/parquet/runs.h"

#define GROUP 8

static uint32_t run_at(const uint32_t *numbers, uint32_t count, uint32_t at)
{
	uint32_t end = at + 1;

	while (end < count && numbers[end] == numbers[at])
		end++;
	return end - at;
}

static bool repeats_at(const uint32_t *numbers, uint32_t count, uint32_t at)
{
	if (count - at < GROUP)
		return false;
	for (uint32_t i = 1; i < GROUP; i++)
		if (numbers[at + i] != numbers[at])
			return false;
	return true;
}

static void put_run(struct buffer *to, uint32_t number, uint32_t count, unsigned bits)
{
	const uint8_t bytes[] = { (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16),
				  (uint8_t)(number >> 24) };

	buffer_put_varint(to, (uint64_t)count << 1);
	buffer_put(to, bytes, (bits + 7) / 8);
}

/* Eight numbers take as many bytes as one takes bits. */
static void put_group(struct buffer *to, const uint32_t *numbers, uint32_t count, unsigned bits)
{
	uint8_t *out = buffer_reserve(to, bits);
	uint64_t waiting = 0;
	unsigned nwaiting = 0;

	if (!out)
		return;
	for (uint32_t i = 0; i < GROUP; i++) {
		waiting |= (uint64_t)(i < count ? numbers[i] : 0) << nwaiting;
		for (nwaiting += bits; nwaiting >= 8; nwaiting -= 8, waiting >>= 8)
			*out++ = (uint8_t)waiting;
	}
	to->size += bits;
}

void put_runs(struct buffer *to, const uint32_t *numbers, uint32_t count, unsigned bits)
{
	uint32_t at = 0;

	while (at < count) {
		uint32_t end = at;

		if (repeats_at(numbers, count, at)) {
			end += run_at(numbers, count, at);
			put_run(to, numbers[at], end - at, bits);
			at = end;
			continue;
		}
		while (end < count && !repeats_at(numbers, count, end))
			end += count - end < GROUP ? count - end : GROUP;
		buffer_put_varint(to, (uint64_t)((end - at + GROUP - 1) / GROUP) << 1 | 1);
		for (; at < end; at += end - at < GROUP ? end - at : GROUP)
			put_group(to, numbers + at, end - at < GROUP ? end - at : GROUP, bits);
	}
}
