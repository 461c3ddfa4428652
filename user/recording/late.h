/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * late.h - private to user/recording: the late spans of a whole file, in memory.
 */
#ifndef GASPBPF_RECORDING_LATE_H
#define GASPBPF_RECORDING_LATE_H

#include "recording/recording.h"
#include "recording/span_code.h"

/* A late span as it is kept: the words apart, for most have few. */
struct late_span {
	uint64_t start, end; /* ns */
	size_t words;        /* index of the first in late_store.words */
	uint32_t thread, probe, site, sequence, unread;
	uint32_t chunk, position;
	uint16_t depth;
	uint8_t reason, nwords;
};

struct late_store {
	struct late_span *spans; /* in file order */
	size_t count, room;      /* after late_sort(): of those in order */
	size_t settled;          /* so many belong to chunks of spans that are there; the others are of the next one */
	uint64_t *words;
	size_t nwords, words_room;
	uint32_t *order;           /* sorted -> file order; after late_sort() */
	struct late_start *starts; /* sorted */
};

/* Takes in a LATE chunk for chunk number `chunk`. NULL, or what is wrong. */
const char *late_read(struct late_store *store, struct span_code *code, const struct span_bounds *bounds,
		      const uint8_t *raw, size_t size, uint32_t chunk);
/* The chunk of spans that they belong to is there; how many they are. */
size_t late_settle(struct late_store *store);
/* Drops those that are not settled, and sorts; d: without those of processes that are left out (NULL: there are none).
 * False: out of memory. */
bool late_sort(struct late_store *store, const struct definitions *d);
/* Entry `index` of the sorted list. */
void late_get(const struct late_store *store, size_t index, struct span *span);
/* Whether it is a copy of this span. */
bool late_is_copy(const struct late_span *late, const struct span *span);
void late_free(struct late_store *store);

#endif
