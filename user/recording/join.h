/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.h - the definitions of several recordings as those of one: part of user/recording's door.
 *
 * What may be the same for several (images, probes, what could not be seen, chains of callers) is there once. A
 * process, its threads and all that belongs to one process are of one recording, whatever their numbers are.
 */
#ifndef GASPBPF_JOIN_H
#define GASPBPF_JOIN_H

#include "recording/recording.h"

/* Where the definitions of one recording went. */
struct joined_part {
	uint32_t first_process, first_thread, first_site; /* its own indices count from here */
	uint32_t *probes;                                 /* index, by its own */
};

struct join_source {
	const struct definitions *d;
	const char *name; /* of its file */
	/* Times of the recording as those of the whole; NULL: they are left as they are. */
	uint64_t (*time)(void *context, uint64_t time);
	void *context;
	bool several;         /* recordings become one */
	struct def_node node; /* what the whole says of it; the texts are copied; its times as recorded */
};

struct join;
/* Into these, which are empty. NULL: no memory. */
struct join *join_new(struct definitions *d);
/* 0 or -errno; what is wrong but for -ENOMEM is said. The caller frees part->probes, also on failure. */
int join_add(struct join *join, const struct join_source *source, struct joined_part *part);
/* After the last one. 0 or -errno. */
int join_finish(struct join *join);
void join_free(struct join *join); /* not the definitions */

#endif
