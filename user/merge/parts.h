/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - private to user/merge: the recordings that are merged, and what is done with them.
 */
#ifndef GASPBPF_MERGE_PARTS_H
#define GASPBPF_MERGE_PARTS_H

#include "merge/merge.h"
#include "recording/join.h"

/* What is added to a time of a clock: from knot to knot a straight line, and level before the first and after the last.
 */
struct correction {
	struct knot {
		uint64_t time; /* ns, of the clock itself */
		double add;    /* ns, on top of `whole` */
	} * knots;             /* by time */
	size_t nknots;         /* 0: nothing is added but `whole` */
	int64_t whole;         /* ns */
};

/* Of one machine, in one boot of it. */
struct node_clock {
	struct correction correction;
	bool is_reference;
	size_t first; /* input */
	uint32_t known_by;
	uint64_t unsure, bounds, violated; /* as in struct def_node */
};

struct merged {
	const char *path;
	struct recording *recording;
	const struct definitions *d;
	size_t clock;
	struct joined_part part;
	bool cut; /* it was, by its recorder's end */
	struct recorded_item next;
	uint64_t at; /* of next, as corrected: what it is sorted by */
};

struct merge {
	struct merge_options options;
	struct merged *inputs;
	size_t ninputs;
	struct node_clock *clocks;
	size_t nclocks;
	struct definitions d;
	size_t *heap; /* inputs that are not at their end; the one with the earliest record first */
	size_t nheap;
};

uint64_t correction_apply(const struct correction *correction, uint64_t time);
void correction_free(struct correction *correction);

/* Is it to stop? */
bool merge_is_stopped(const struct merge *merge);
/* The definitions of all, anew, with the clocks as they are. 0 or -errno, said. */
int merge_join(struct merge *merge);
/* All spans, in an order of time that is as good as that of each recording. 0 or -errno. */
int merge_spans(struct merge *merge, struct recording_writer *writer);

/* clocks.c: which recordings have one clock. 0 or -ENOMEM. */
int clocks_find(struct merge *merge);
/* set.c: what is added to the times of each clock. 0 or -errno. */
int clocks_set(struct merge *merge);

#endif
