/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * polls.h - who asks again and again whether something has come. Private to user/simulate.
 */
#ifndef GASPBPF_SIMULATE_POLLS_H
#define GASPBPF_SIMULATE_POLLS_H

#include "recording/recording.h"

struct sim;
struct op;

/* Calls of a thread that ask whether something has come, and it has not: one after the other. */
struct poll {
	bool asks;
	bool rests;             /* in its pauses between two of them it does nothing else */
	struct op *op;          /* that they are; not in the first reading */
	uint64_t end;           /* of the last */
	uint64_t paused;        /* ns, while it is not known whether it rests */
	uint64_t asked, worked; /* ns: in these calls, and between them, without pauses */
};

/* The first reading: an outermost call. */
void polls_note(const struct sim *sim, const struct span *span);
/* After it. */
void polls_decide(struct sim *sim);
/* Whether one who asks again by this call has done nothing else since the last one. */
bool poll_goes_on(const struct sim *sim, struct poll *poll, const struct span *span);
/* A call that has found nothing. */
void poll_add(struct poll *poll, const struct span *span);
/* Whether it has done little but ask; and for so long that that is a deed of its own. */
bool poll_was_wait(const struct poll *poll);
bool poll_was_call(const struct poll *poll);

#endif
