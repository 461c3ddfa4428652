/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made.h - communicators of which nothing but a handle is known. Private to user/simulate.
 *
 * A handle is a number of one process: the same communicator has another one in the next. Where a library does not
 * show what is the same in all of them, that is found out from the calls by which communicators are made. All members
 * of a communicator make others of it in the same order; so what is the n-th that was made of the same one, by the same
 * function, with the same color, is the same. That holds of processes that were observed from their start.
 */
#ifndef GASPBPF_SIMULATE_MADE_H
#define GASPBPF_SIMULATE_MADE_H

#include "simulate/parts.h"

struct made_comms {
	struct made_handle *handles; /* uthash */
	struct made_turn *turns;
	uint32_t last;
};

/* Does the call name a communicator by a handle only? */
bool made_is_handle(const struct facts *facts, const struct span *span);
/* Is it a value that made_find() has told, and the same in all processes? */
bool made_is_known(uint64_t value);
/* A call makes a communicator of the one with this value. 0 or -ENOMEM. */
int made_note(struct made_comms *made, const struct sim *sim, const struct span *span, uint64_t of);
/* What the handle meant to the process at this time; made_is_known(): to others, too. False: that is not known. */
bool made_find(const struct made_comms *made, uint32_t process, uint64_t handle, uint64_t time, uint64_t *value);
void made_free(struct made_comms *made);

#endif
