/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_nodes.h - gaspbpf top on a job of many nodes: each hands over what it sees, look by look; who has started them
 * joins that and shows it.
 */
#ifndef GASPBPF_CLI_TOP_NODES_H
#define GASPBPF_CLI_TOP_NODES_H

#include "cli/on_nodes.h"
#include "top/top.h"

/* One of the nodes: its latest look. last: no more come. False: nobody reads it. */
bool top_hand_over(const struct own_node *own, const struct top *top, bool last, int status);

struct top_on_nodes {
	const struct on_nodes *where;
	uint64_t interval, duration; /* ns; duration 0: without end */
	bool once, json;
	int sort;
	struct guard *guard; /* NULL: there is no screen */
};

/* All of them. 0 or -errno, said. */
int top_on_nodes(const struct top_on_nodes *o);

#endif
