/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_callers.h - record --callers: where calls came from that a library made for the program.
 */
#ifndef GASPBPF_CLI_RECORD_CALLERS_H
#define GASPBPF_CLI_RECORD_CALLERS_H

#include "cli/look_at_calls.h"
#include "observe/observe.h"

#define CALLERS_MOST 16

struct known_chain;
struct callers {
	unsigned most;      /* places of a chain that are wanted; 0: nobody asked */
	struct stuck stuck; /* its looker is there from callers_prepare() on */
	bool open;
	size_t processes, sites; /* of the job, when it was opened */
	uint64_t next;           /* ns, CLOCK_MONOTONIC: not to look again before */
	struct known_chain *known;
	bool listening; /* ended is filled */
	struct ended_list ended;
};

/* While all rights are there. 0, or -EPERM, said: threads cannot be looked at. */
int callers_prepare(struct callers *callers, struct job *job);
/* Looks at the threads, if it is time, and notes in the job's definitions what was seen. What goes wrong is no error:
 * then it is not known. */
void callers_look(struct callers *callers, struct job *job);
void callers_close(struct callers *callers);

#endif
