/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * covered.h - how much of a thread's time do intervals cover that overlap in any way? They come in the order of their
 * ends.
 */
#ifndef GASPBPF_COVERED_H
#define GASPBPF_COVERED_H

#include <stddef.h>
#include <stdint.h>

struct covered_run {
	uint64_t start, end; /* ns */
	uint64_t time;       /* ns of it that are covered */
};

/* Zero: nothing yet. */
struct covered {
	struct covered_run *runs; /* in order of time, apart from each other */
	size_t nruns, room;
};

/*
 * Adds an interval; *fresh: the ns of it that none before has covered. Exact while fewer than 256 runs lie apart within
 * what an interval still to come may begin in; of older ones the mean is taken. 0 or -ENOMEM.
 */
int covered_add(struct covered *c, uint64_t start, uint64_t end, uint64_t *fresh);
void covered_free(struct covered *c);

#endif
