/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of user/waitgraph share: the parties as a graph, and the sentences about them.
 */
#ifndef GASPBPF_WAITGRAPH_PRIVATE_H
#define GASPBPF_WAITGRAPH_PRIVATE_H

#include <stdio.h>

#include "waitgraph/waitgraph.h"

struct graph {
	const struct party *parties;
	size_t count;
	const char *unit;
	long ranks; /* of the job; 0: not known */
	struct findings *findings;
	size_t *place; /* on the way that is being tried: 1 and up; 0: not on it */
	bool *done;    /* all ways from here have been tried */
	size_t *way;
	size_t length;
	bool failed;
};

/* A finding about these parties, of which the first `waiting` wait; NULL: no memory, g->failed. */
struct diagnosis *add_finding(struct graph *g, enum finding_kind kind, const size_t *which, size_t count,
			      size_t waiting);
/* The finding's sentence, to be written and closed before the next one is added; NULL: none. */
FILE *begin_text(struct diagnosis *f);
/* " (ring.c:33 in exchange)", or nothing. */
void put_place(FILE *out, const struct party *p);
/* "rank 1, rank 2 and 3 others"; joined: "and" or "or". */
void put_names(FILE *out, const struct graph *g, const size_t *which, size_t count, const char *joined);
/* Where each of these is, for whom `waiting` waits: "rank 2 is in no known call (x.c:3 in f); ...". */
void put_absents(FILE *out, const struct graph *g, const struct party *waiting, const size_t *which, size_t count);

/* unknown.c: ranks of which nobody can say for whom they wait, told from where all others are. which: room for all
 * parties. */
void look_at_unknown(struct graph *g, size_t *which);

#endif
