/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * series.h - a value that goes up and down, drawn with few points. Private to user/export.
 *
 * A value may change as often as there are calls, and no viewer shows that. So time is cut into slots, and of each slot
 * no more is put than the least, the largest and the last value, each when it was so: what changes less often than that
 * is exact. Of several changes at one moment the last one counts.
 */
#ifndef GASPBPF_EXPORT_SERIES_H
#define GASPBPF_EXPORT_SERIES_H

#include <stdbool.h>
#include <stdint.h>

struct series_value {
	uint64_t time, value; /* time: ns */
};

/* Zero: there was no value so far. */
struct series {
	uint64_t slot;                             /* of time, that is under way */
	bool some;                                 /* there were values: */
	struct series_value now, least, most, put; /* what it is; of the slot; what was put last */
	bool any, any_put;                         /* there are least and most; put is there */
};

struct series_slots {
	uint64_t from, to, width; /* ns: of all, and of each slot */
	/* Puts one. `of` is that of the call below. 0 or -errno. */
	int (*put)(void *of, const struct series_value *value);
};

/* The series has this value from now on: ns, in the order of time. 0 or -errno. */
int series_set(const struct series_slots *slots, struct series *series, void *of, uint64_t time, uint64_t value);
/* It has no more values. 0 or -errno. */
int series_end(const struct series_slots *slots, struct series *series, void *of);

#endif
