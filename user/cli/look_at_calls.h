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

/* The last look, with the calls in progress before and after it: those of both lists are left in opens. 0 or -errno.
 * What it has allocated in opens is the caller's to free. */
int look_at_calls(struct capture_session *capture, struct definitions *d, struct stuck *stuck, struct open_list *opens);

#endif
