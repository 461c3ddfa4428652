/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communicator.h - who is in a communicator, as the memory of the process has it: part of user/model's door.
 */
#ifndef GASPBPF_COMMUNICATOR_H
#define GASPBPF_COMMUNICATOR_H

#include "model/model.h"
#include "util/pieces.h"

/* Reads all pieces or fails: the process may have ended, and the addresses come from its memory. */
struct memory {
	bool (*read)(void *context, const struct memory_piece *pieces, size_t count);
	void *context;
};

#define MEMBERS_NAME 64

struct members {
	bool has_id;
	uint32_t id;                 /* the same for all members */
	char name[MEMBERS_NAME + 1]; /* any bytes; "": none */
	bool world;                  /* everybody in the job; then there is no list */
	int64_t *ranks;              /* in the whole job, by rank in the communicator; -1: not known */
	size_t count;
};

/* Does the model say anything about members in this library? */
bool model_has_members(const struct model *model, const char *soname);

/*
 * Follows the layout of the library (docs/models.md, Members) from a handle. own_rank: the caller's rank in the job;
 * -1: not known. 0, and the caller frees ranks; -ENODATA: cannot be told, or what lies there is no such thing; -ENOMEM.
 */
int model_members(const struct model *model, const char *soname, uint64_t handle, long own_rank,
		  const struct memory *memory, struct members *members);

#endif
