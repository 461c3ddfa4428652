/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_earlier.h - what gaspbpf top shows of processes none of whose calls has ended, or begun, since it looks: the
 * calls on their threads' stacks.
 */
#ifndef GASPBPF_CLI_TOP_EARLIER_H
#define GASPBPF_CLI_TOP_EARLIER_H

#include "observe/observe.h"
#include "stuck/stuck.h"
#include "top/top.h"

struct earlier {
	struct stuck stuck; /* its looker is there from earlier_prepare() on */
	bool open;
	uint64_t next; /* ns, CLOCK_MONOTONIC: not to look again before */
	struct top_earlier *list;
	size_t count;
};

/* While all rights are there. */
void earlier_prepare(struct earlier *earlier, struct job *job);
/* The first look; the probes are in. What goes wrong is no error: then it is not known what they are in. */
void earlier_open(struct earlier *earlier, struct job *job);
/* Looks again, if there is a process to look at, and tells top. */
void earlier_look(struct earlier *earlier, struct top *top);
void earlier_close(struct earlier *earlier);

#endif
