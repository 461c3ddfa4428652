/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.h - a table of text that fits a terminal.
 */
#ifndef GASPBPF_TABLE_H
#define GASPBPF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 20

struct column {
	const char *title;
	bool left;          /* aligned to the left; numbers go right */
	bool shrinks;       /* long cells are cut in the middle where the table is too wide */
	unsigned drop;      /* 0: always there; else left out where the table is too wide, higher numbers first */
	const char *paint;  /* what gives its cells their colour, on a terminal; NULL: none */
	const char *legend; /* "queued: ...", where its title needs it; NULL: it does not */
};

struct table {
	struct column columns[TABLE_COLUMNS];
	size_t ncolumns;
	char **cells; /* row by row */
	size_t ncells, room;
	bool failed; /* out of memory at some point */
};

void table_column(struct table *table, const struct column *column);
/* The next cell, from left to right, top to bottom. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fits it into `width` columns (0: no limit) and prints it. 0, or -ENOMEM, not said: what there was no memory for is
 * not in it. */
int table_print(const struct table *table, FILE *out, unsigned width);
/* "CPU: ...; queued: ...": the legends of the columns that there is room for, in order; what stands there twice once.
 * Cut off where `room` is too small. Into text, which is returned. */
char *table_legends(const struct table *table, unsigned width, char *text, size_t room);
void table_free(struct table *table);

#endif
