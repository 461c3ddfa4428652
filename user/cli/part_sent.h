/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * part_sent.h - one node's recording where nodes share no folder: it is written into one of this node's own, sent at
 * the end by what has started us, and removed; orders come on standard input.
 */
#ifndef GASPBPF_CLI_PART_SENT_H
#define GASPBPF_CLI_PART_SENT_H

#include "nodes/part.h"
#include "util/files.h"

struct part_sent {
	char *folder, *recording; /* NULL: nothing is sent */
	struct caller caller;
	pid_t cleaner;   /* 0: none */
	int clean;       /* to be closed, then it does; -1: none */
	char text[4096]; /* of standard input: what is no whole line yet */
	size_t size;
	bool ended; /* there will be no more of it */
};

/* Makes the folder; before rights are given up, and threads made. 0 or -errno, said. */
int part_sent_open(struct part_sent *sent, const char *node);
/* Orders that have come. False: there will be none. */
bool part_sent_ask(struct part_sent *sent, struct part_orders *orders);
/* All of the recording. False: nobody takes it, or it cannot be read, said. */
bool part_sent_send(const struct part_sent *sent, const char *node);
/* Has both removed. */
void part_sent_free(struct part_sent *sent);

#endif
