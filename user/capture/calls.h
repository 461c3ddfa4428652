/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h - private to user/capture: from the records of calls to spans in order.
 */
#ifndef GASPBPF_CAPTURE_CALLS_H
#define GASPBPF_CAPTURE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gaspbpf/wire.h"

struct capture_session;
struct captured_thread;
struct span;

struct calls {
	uint64_t near; /* accesses to the caller's own part that the kernel passed on, for want of the rank */
};

/* beyond.c */
struct beyond {
	bool said; /* that a pointer-to-shared names a thread that is not there */
};

/* Makes values unknown that name a thread which the job does not have. */
void session_check_shared(struct capture_session *s, const struct captured_thread *t, struct span *span);

/* calls.c: the thread's next call. */
void session_take_call(struct capture_session *s, struct captured_thread *t, const struct gb_span *raw);

/* order.c */
/* A record of a ring, for ring_drain(). */
void session_take_record(void *session, const void *record, size_t size);
/* After a complete pass: holes that an earlier pass saw already are losses; all: each hole is. */
void session_close_holes(struct capture_session *s, bool all);
/* The thread has made its last call, with this number: what has not come by now was lost. */
void session_close_thread(struct capture_session *s, struct captured_thread *t, uint64_t last);

#endif
