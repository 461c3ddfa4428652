/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * breath.h - long work that stops for a moment now and then, so that others get their turn, or end it.
 */
#ifndef GASPBPF_BREATH_H
#define GASPBPF_BREATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/clock.h"

#define BREATH_NS 10000000ULL /* between two of them */

struct breath {
	bool (*take)(void *context); /* true: the work is to end */
	void *context;
	uint64_t at; /* ns; when the last one was over */
	bool ended;
	bool taking; /* in the midst of one: what is done meanwhile takes none */
};

/* To be called often. True: the work is to end, with -ECANCELED. NULL: nobody waits. */
static inline bool breath_ends(struct breath *breath)
{
	if (!breath || breath->ended || breath->taking || clock_monotonic() - breath->at < BREATH_NS)
		return breath && breath->ended;
	breath->taking = true;
	breath->ended = breath->take(breath->context);
	breath->taking = false;
	breath->at = clock_monotonic();
	return breath->ended;
}

#endif
