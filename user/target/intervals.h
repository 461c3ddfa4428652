/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intervals.h - private to user/target: nested address ranges, and which innermost one holds an address.
 */
#ifndef GASPBPF_TARGET_INTERVALS_H
#define GASPBPF_TARGET_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
	uint64_t low, high;     /* [low, high) */
	uint64_t value, within; /* the owner's */
	uint32_t depth;         /* of the same range twice, the deeper one is the inner */
	int32_t outer;          /* index of the interval around this one; -1: none */
};

struct intervals {
	struct interval *list;
	size_t count, room;
};

/* Empty ranges are left out. 0, -ENOMEM, or -E2BIG beyond `most`. */
int intervals_add(struct intervals *intervals, struct interval interval, size_t most);
/* Makes them searchable. */
void intervals_finish(struct intervals *intervals);
/* The innermost one that holds the address; NULL: none. */
const struct interval *intervals_find(const struct intervals *intervals, uint64_t address);
void intervals_free(struct intervals *intervals);

#endif
