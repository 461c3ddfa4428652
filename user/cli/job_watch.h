/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_watch.h - the nodes of a job while they are observed: when they begin and end, and what is said of them
 * meanwhile.
 */
#ifndef GASPBPF_CLI_JOB_WATCH_H
#define GASPBPF_CLI_JOB_WATCH_H

#include "nodes/nodes.h"

struct job_watch {
	struct nodes *nodes;
	int orders;        /* the file of orders */
	int signals;       /* signalfd */
	uint64_t duration; /* ns; 0: until it is stopped, or the job ends */
	bool quiet;
	bool (*recorded)(const void *context, const struct node *node); /* is there any recording of it? */
	const void *context;
	uint64_t started, shown; /* ns, CLOCK_MONOTONIC */
	uint64_t ready;          /* the same: since when some node has waited for others; 0: none does */
	uint64_t begin, end;     /* ns, CLOCK_REALTIME: as ordered; 0: not yet */
	unsigned stops;          /* how often it was asked to */
};

/* Until all nodes are done or given up. 0 or -errno, said: none has observed anything. */
int job_watch(struct job_watch *watch);

#endif
