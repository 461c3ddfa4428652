/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bounds.h - private to user/merge: what the recordings say of each other's clocks.
 */
#ifndef GASPBPF_MERGE_BOUNDS_H
#define GASPBPF_MERGE_BOUNDS_H

#include "merge/parts.h"

/* Whatever is added to the times of clock `late` is at least `least` more than what is added to those of `early`. */
struct bound {
	uint32_t late, early;
	uint32_t bucket;
	uint32_t probe; /* what all leave together, if they do; NO_INDEX: a message, or a barrier */
	bool used;
	int64_t least; /* ns */
	uint64_t time; /* ns */
};

/* The tightest of each two clocks and each piece of the time. */
struct bounds {
	struct bound *slots;
	size_t room, count;    /* room: a power of two */
	uint64_t start, width; /* ns; of a bucket */
	uint32_t buckets;
	uint64_t messages, meetings; /* with several clocks */
	uint64_t *of, *violated;     /* by clock: those that it had to do with, and those of them that cannot be */
	bool *loose;                 /* by probe: some leave before others have come */
	bool unmatched;              /* some calls have no other side */
};

/* Of a recording of all, with the clocks as they are; doubt: ns, by which they may be wrong. 0 or -errno. */
int bounds_read(struct merge *merge, struct recording *whole, uint64_t doubt, struct bounds *bounds);
void bounds_free(struct bounds *bounds);

/* solve.c: what is still to be added to each clock, at the middle of each bucket. */
struct solution {
	double *add;    /* ns, by clock and bucket */
	bool *known;    /* by clock: bounded from both sides */
	double *unsure; /* ns, by clock and bucket */
	double slope;   /* the largest by which what is added grows */
};
int bounds_solve(const struct merge *merge, const struct bounds *bounds, struct solution *solution);
void solution_free(struct solution *solution);

#endif
