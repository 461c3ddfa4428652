/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delivery.h - private to user/capture: those who want spans, and how many they got.
 */
#ifndef GASPBPF_CAPTURE_DELIVERY_H
#define GASPBPF_CAPTURE_DELIVERY_H

#include "recording/recording.h"

struct capture_session;
struct captured_thread;

#define SINKS 16

struct delivery {
	struct span_sink sinks[SINKS];
	size_t nsinks;
	struct delivered {
		uint64_t spans, gaps;
		bool runtime; /* calls of a parallel runtime are among them */
	} * of;               /* by definition of a process */
	size_t room;
};

/* Room for so many processes. 0 or -ENOMEM. */
int session_fit_delivered(struct capture_session *s, size_t count);
/* Hands a span to the sinks. */
void session_deliver(struct capture_session *s, const struct span *span);
/* So many calls of the thread were lost, the last one of them before the one that ended at this time (ns; 0: there is
 * none). */
void session_deliver_gap(struct capture_session *s, struct captured_thread *t, uint64_t count, uint64_t before);
/* Delivered spans, and those that were lost, of processes that are no part of the job. */
uint64_t session_left_out_spans(const struct capture_session *s, uint64_t *gaps);
void session_free_delivery(struct capture_session *s);

#endif
