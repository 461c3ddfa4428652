/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pupc_table.h - what libpupc keeps for an observer that comes later: the user events that a program has created so
 * far.
 *
 * The program's variable `pupc_table` (exported) is the head; `entries` points to `room` entries of `entry_size` bytes,
 * of which the first `used` are complete: `used` is written last, and what is below it never changes. Entry i is the
 * event with the number first + i. A reader trusts nothing: a table with another magic, version or size is none.
 */
#ifndef GASPBPF_PUPC_TABLE_H
#define GASPBPF_PUPC_TABLE_H

#include <stdint.h>

#define PUPC_TABLE_SYMBOL "pupc_table"
#define PUPC_TABLE_MAGIC 0x4c42415443505550ULL /* "PUPCTABL" */
#define PUPC_TABLE_VERSION 1
#define PUPC_TABLE_ROOM 1024

struct pupc_table {
	uint64_t magic;
	uint32_t version;
	uint32_t entry_size;
	uint32_t first; /* number of the first event */
	uint32_t room;
	uint32_t used;
	int32_t on;       /* what pupc_control() was told last; 1 before */
	uint64_t entries; /* address of the first */
};

/* Texts end with 0; what is longer is cut. */
struct pupc_entry {
	char name[64];
	char format[192]; /* as printf() takes it; "": none was given */
};

#endif
