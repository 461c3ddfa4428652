/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_at_calls.h - the stacks of a job, and the calls of which the probes know that they were in progress meanwhile.
 */
#ifndef GASPBPF_CLI_LOOK_AT_CALLS_H
#define GASPBPF_CLI_LOOK_AT_CALLS_H

#include "capture/capture.h"
#include "stuck/stuck.h"

struct open_list {
	struct stuck_open *list;
	size_t count, room;
	const struct definitions *d;
	bool failed;
};

/* Calls that end while a look is taken. */
struct ended_list {
	struct ended_call {
		uint32_t thread, probe; /* in definitions */
		uint64_t start, end;    /* ns */
	} * list;
	size_t count, room;
	bool wanted;
};

/* For a sink of spans, whose context the list is. */
int note_ended(void *ended, const struct definitions *d, const struct span *span);

/*
 * The last look, with the calls in progress before and after it: those of both lists are left in opens; and where calls
 * that end meanwhile are noted (ended; may be NULL), those that had not before the script was read that their thread
 * runs. 0 or -errno. What it has allocated in opens is the caller's to free.
 */
int look_at_calls(struct capture_session *capture, struct definitions *d, struct stuck *stuck, struct open_list *opens,
		  struct ended_list *ended);

#endif
