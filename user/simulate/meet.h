/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meet.h - who may have met, by the times of what they did. Private to user/simulate.
 *
 * No member can leave a barrier before the last has come: operations that are one have a moment in common. Of a job
 * that was joined while it ran, some had already left the one in which others still were; so their operations are
 * shifted against each other until the functions are the same and the calls overlap.
 */
#ifndef GASPBPF_SIMULATE_MEET_H
#define GASPBPF_SIMULATE_MEET_H

#include "simulate/group.h"

/* The first ones of a member, or of a place. */
struct operations {
	const struct first *firsts;
	unsigned count;
};

/* How many of a's first operations are to be left out, so that the others are those of b. *bad of *of do not fit then.
 */
unsigned operations_shift(const struct sim *sim, const struct operations *a, const struct operations *b,
			  bool from_start, bool by_time, unsigned *bad, unsigned *of);

/* Both give each place its team, and sort them by that. */

/* Of operations that say nothing; the places come in the order of their processes. */
void meet_find_teams(const struct sim *sim, struct place **places, size_t count);
/* Of those that name a communicator by a handle of their own. */
void meet_by_handle(const struct sim *sim, struct place **places, size_t count);

#endif
