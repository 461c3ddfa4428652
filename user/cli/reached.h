/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reached.h - the nodes of a job that its launcher has not reached itself: daemons have, from the nodes where they are.
 */
#ifndef GASPBPF_CLI_REACHED_H
#define GASPBPF_CLI_REACHED_H

#include "nodes/nodes.h"

/* Asks on each of the hosts, by this means and program, where from there it went on, and there again; adds these. A
 * host that does not answer is passed over. 0 or -errno, said. */
int reached_ask(struct hosts *hosts, const char *answer, const char *by, const char *program);
/* On a node: tells who asks. An exit status. */
int reached_tell(const char *answer, const char *named);

#endif
