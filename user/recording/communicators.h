/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communicators.h - who is behind a rank: part of user/recording's door.
 *
 * A call names its peer by a rank in a communicator, which is a handle of its process. definitions.comms has what
 * handles meant, so (process, handle, time) leads to a communicator, and a rank in it to the rank in the whole job:
 * that of a process (def_process.rank).
 */
#ifndef GASPBPF_COMMUNICATORS_H
#define GASPBPF_COMMUNICATORS_H

#include "recording/recording.h"

/* All communicators of the definitions, found quickly; d must outlive it, and may grow. NULL: no memory. */
struct comm_index;
struct comm_index *comm_index_new(const struct definitions *d);
void comm_index_free(struct comm_index *index);
/* What the handle meant to the process (index) at this time (ns); good until the definitions grow. NULL: not known. */
const struct def_comm *comm_find(struct comm_index *index, uint32_t process, uint64_t handle, uint64_t time);
/* The communicator that a call works on. NULL: it has none, or it is not known. */
const struct def_comm *comm_of_span(struct comm_index *index, const struct span *span);

/*
 * Windows, and whatever else accesses name: a call of role `window` makes one with a communicator, whose ranks are
 * meant from then on. (process, handle) leads to it. Zero: none is known.
 */
struct window_comms {
	struct window_comm *by_handle;
};
/* comm: index in the definitions; NO_INDEX: not known. 0 or -ENOMEM. */
int window_comms_note(struct window_comms *windows, uint32_t process, uint64_t handle, uint32_t comm);
/* False: no such window is known; else *comm is as it was noted. */
bool window_comms_find(const struct window_comms *windows, uint32_t process, uint64_t handle, uint32_t *comm);
void window_comms_free(struct window_comms *windows);

/* The rank in the job of a rank in the communicator; -1: not known. */
int64_t comm_world_rank(const struct def_comm *comm, int64_t rank);
/* The inverse: the rank in it of a rank of the job; -1: it is not known to be in it. */
int64_t comm_rank_of(const struct def_comm *comm, int64_t world);
/* Is this rank of the job known to be in it? */
bool comm_has_world_rank(const struct def_comm *comm, int64_t world);

/* Notes ranks of the job, in the order of their ranks in the communicator; -1: not known. 0 or -ENOMEM. */
int comm_set_members(struct def_comm *comm, const int64_t *ranks, size_t count);
/* The communicator is the whole job, however large that is. 0 or -ENOMEM. */
int comm_set_world(struct def_comm *comm);

#endif
