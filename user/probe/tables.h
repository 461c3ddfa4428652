/*
 * tables.h - private to user/probe: jump tables of offsets.
 */
#ifndef GASPBPF_PROBE_TABLES_H
#define GASPBPF_PROBE_TABLES_H

#include "target/target.h"

#define TABLES_SEGMENTS 32

struct tables {
	const struct image *image;
	struct code_segment segments[TABLES_SEGMENTS]; /* all that is loaded, not code alone */
	unsigned nsegments;
	bool fixed; /* loaded where it was linked: 4 bytes may be an address */
};

/* 0 or -errno: the file's segments cannot be told. */
int tables_open(struct tables *tables, const struct image *image);
/*
 * Calls entry with each target of the jump table at this address, if there is one. False: there would be too many to
 * look at all of them (reading.c).
 */
bool tables_entries(const struct tables *tables, uint64_t address, void (*entry)(void *context, uint64_t target), void *context);

#endif
