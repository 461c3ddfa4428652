/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pieces.h - pieces of another process's memory, many at once.
 */
#ifndef GASPBPF_PIECES_H
#define GASPBPF_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A piece, and where it is to be put. */
struct memory_piece {
	uint64_t address;
	void *bytes;
	size_t size;
};

#define PIECES_MOST 1024 /* of one reading: the kernel's own limit */

#endif
