/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.h - private to user/probe: jump tables of offsets.
 */
#ifndef GASPBPF_PROBE_TABLES_H
#define GASPBPF_PROBE_TABLES_H

#include "target/target.h"

#define TABLES_SEGMENTS 32
#define TABLES_PAGES 1021 /* a prime */

struct tables_page;

struct tables {
	const struct image *image;
	struct code_segment segments[TABLES_SEGMENTS]; /* all that is loaded, not code alone */
	unsigned nsegments;
	bool fixed;                              /* loaded where it was linked: 4 bytes may be an address */
	struct tables_page *pages[TABLES_PAGES]; /* read lately */
};

/* 0 or -errno: the file's segments cannot be told. To be closed in any case. */
int tables_open(struct tables *tables, const struct image *image);
void tables_close(struct tables *tables);
/* What is asked of jump tables. */
struct table_search {
	/* Does it matter whether an entry leads somewhere from first to last? NULL: it always does. */
	bool (*matters)(void *context, uint64_t first, uint64_t last);
	/* So many of a table's offsets; from the table's address they lead into code. Those that do not matter may be
	 * left out. */
	void (*entries)(void *context, uint64_t table, const int32_t *offsets, unsigned count);
	void *context;
};

/* Looks at the jump table at this address, if there is one. False: there would be too many entries (reading.c), or
 * there is no memory. */
bool tables_entries(struct tables *tables, uint64_t table, const struct table_search *search);

/*
 * The same of a table of whole addresses, in a program that is loaded where it was linked: calls entry with each, up to
 * the first that does not lead into code, or where it returns false.
 */
void tables_addresses(const struct tables *tables, uint64_t table, bool (*entry)(void *context, uint64_t target),
		      void *context);

#endif
