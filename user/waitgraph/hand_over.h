/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hand_over.h - parties of several nodes as one graph: each node writes down its own, and one of them, or somebody
 * else, joins them. Another door of user/waitgraph.
 */
#ifndef GASPBPF_WAITGRAPH_HAND_OVER_H
#define GASPBPF_WAITGRAPH_HAND_OVER_H

#include "util/buffer.h"
#include "waitgraph/waitgraph.h"

/* Appends all that waits_find() takes. Where there was no memory, buffer->failed. */
void waits_hand_over(struct buffer *buffer, const struct party *parties, size_t count, const char *unit, long ranks);

/* Begins as zeros. */
struct joined {
	struct party *parties; /* pids are made different: waits_pid() */
	const char **nodes;    /* of each party; NULL: of a rank that is on none */
	size_t count, room;
	char *unit; /* NULL: not known */
	long ranks; /* of the job; 0: not known */
	long first; /* the number of its first one */
	size_t handed;
	char **texts;
	int64_t **members;
	size_t ntexts, texts_room, nmembers, members_room;
};

/* Adds what a node, the index-th one, has handed over; the name lives on. It may be anything: -EINVAL, not said: no
 * whole hand-over, nothing of it is kept. Or -ENOMEM. */
int joined_add(struct joined *joined, const void *data, size_t size, const char *node, size_t index);
/* All nodes of the job that answered are in: ranks that are on none of them are looked for. complete: these are all
 * nodes that the job has, so such a rank has left. 0 or -ENOMEM. */
int joined_close(struct joined *joined, bool complete);
void joined_free(struct joined *joined);
/* The number that the process has on its node. */
pid_t waits_pid(pid_t pid);

/* Of several that are not at a meeting which others have come to by a call before, some may have done that, too: not
 * each of them is waited for. */
void waits_doubt_split(struct party *parties, size_t count);

#endif
