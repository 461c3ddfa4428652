/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edges.h - private to user/merge: bounds while they are solved.
 */
#ifndef GASPBPF_MERGE_EDGES_H
#define GASPBPF_MERGE_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is added to `late` is at least `least` more than what is added to `early`. */
struct edge {
	uint32_t late, early; /* clocks */
	bool doubtful;        /* it is of an operation in which not all may wait for all */
	bool dropped;         /* it contradicts what many others say */
	double least;         /* ns; of what is still to be added */
	double time;          /* buckets, from the start */
};

/* outliers.c: drops those that cannot be. width: ns, of a bucket. *any: there were some. 0 or -ENOMEM. */
int outliers_drop(struct edge *edges, size_t nedges, double width, bool *any);

#endif
