/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stuck_nodes.h - gaspbpf stuck on a job of many nodes: each looks at its own ranks and hands over what it has found;
 * who has started them joins that.
 */
#ifndef GASPBPF_CLI_STUCK_NODES_H
#define GASPBPF_CLI_STUCK_NODES_H

#include "cli/on_nodes.h"
#include "stuck/stuck.h"

/* One of the nodes. */
/* status: what it has met so far, 0 or -errno. */
void stuck_part_hand_over(const struct own_node *part, const struct stuck *stuck, int status);

/* All of them. 0 or -errno, said. */
int stuck_on_nodes(const struct on_nodes *where, uint64_t duration, bool no_probes, bool as_json);

#endif
