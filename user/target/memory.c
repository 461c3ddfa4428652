/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - a process's memory: the door to it. Whoever reads from here cannot be made to wait (reader.c). */
#include "target/reader.h"
#include "target/target.h"
#include "util/pieces.h"

#include <stdlib.h>
#include <string.h>

ssize_t memory_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec piece = { (void *)(uintptr_t)address, size };

	return reader_memory(pid, &piece, 1, bytes);
}

bool memory_read_pieces(pid_t pid, const struct memory_piece *pieces, size_t count)
{
	struct iovec remote[PIECES_MOST];
	size_t all = 0, at = 0;
	char *bytes;
	bool whole;

	if (!count || count > PIECES_MOST)
		return !count;
	for (size_t i = 0; i < count; i++) {
		remote[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].address, pieces[i].size };
		all += pieces[i].size;
	}
	bytes = malloc(all ? all : 1);
	whole = bytes && reader_memory(pid, remote, count, bytes) == (ssize_t)all;
	for (size_t i = 0; whole && i < count; at += pieces[i++].size)
		memcpy(pieces[i].bytes, bytes + at, pieces[i].size);
	free(bytes);
	return whole;
}
