/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read.c - checksums of recordings.
 */
#include "shared/read.h"

#include <zlib.h>

#include "recording/chunk.h"

static void mend(uint8_t *data, size_t size)
{
	size_t at = FILE_HEAD;

	while (size > at && size - at >= CHUNK_HEAD) {
		uint8_t *head = data + at;
		uint32_t stored = get_u32(head + 8);
		uLong crc;

		if (stored > size - at - CHUNK_HEAD)
			put_u32(head + 8,
				stored = (uint32_t)(size - at - CHUNK_HEAD)); /* the last one: up to the end */
		crc = crc32(crc32(0, head, 16), head + CHUNK_HEAD, stored);
		put_u32(head + 16, (uint32_t)crc);
		at += CHUNK_HEAD + stored;
	}
}

size_t recording_mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, most);
	if (seed % 10)
		mend(data, size);
	return size;
}
