/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.c - each thread's calls in the order they ended, with every loss at its place and none invented.
 *
 * Problem: a thread moves between CPUs, so its records lie in several rings, and a ring that is full drops records.
 *
 * Every record carries its thread's sequence number, counted in the kernel whether the record finds room or not. A
 * record with the number that is due is delivered at once: that is nearly all. One that is ahead is kept back. A hole
 * that is still there after a later complete pass over all rings cannot be a matter of order any more: the records
 * between were lost, and become a gap.
 */
#include <errno.h>
#include <stdlib.h>

#include "capture/session.h"

static void keep_back(struct capture_session *s, struct captured_thread *t, uint64_t sequence,
		      const struct gb_span *raw, size_t size)
{
	if (early_put(&t->early, sequence, raw, size)) {
		s->err = -ENOMEM; /* the hole stays, and will be counted as a loss */
		return;
	}
	if (!t->listed) {
		t->listed = true;
		t->waiting_since = s->pass.number;
		t->next_waiting = s->threads.waiting;
		s->threads.waiting = t;
	}
}

/* Delivers what has become due. */
static void deliver_due(struct capture_session *s, struct captured_thread *t)
{
	while (t->early.count && t->early.heap[0].sequence <= t->next) {
		struct early first = early_take(&t->early);

		if (first.sequence == t->next)
			session_take_call(s, t, first.span);
		free(first.span);
		t->waiting_since = s->pass.number;
	}
}

void session_take_record(void *context, const void *record, size_t size)
{
	struct capture_session *s = context;
	const struct gb_span *raw = record;
	struct captured_thread *t;
	int32_t ahead;

	if (size < GB_SPAN_HEADER || size < GB_SPAN_HEADER + raw->values * sizeof(raw->value[0]))
		return;
	t = session_thread(s, raw->pid_tid >> 32, (uint32_t)raw->pid_tid, raw->end);
	if (!t) {
		s->err = -ENOMEM;
		return;
	}
	ahead = (int32_t)(raw->sequence - (uint32_t)t->next);
	if (!ahead) {
		session_take_call(s, t, raw);
		if (t->early.count)
			deliver_due(s, t);
	} else if (ahead > 0) {
		keep_back(s, t, t->next + ahead, raw, size);
	}
}

static void close_hole(struct capture_session *s, struct captured_thread *t)
{
	const struct early *first = &t->early.heap[0];

	session_deliver_gap(s, t, first->sequence - t->next, first->span->end);
	t->next = first->sequence;
	deliver_due(s, t);
}

void session_close_holes(struct capture_session *s, bool all)
{
	struct captured_thread **link = &s->threads.waiting, *t;

	while ((t = *link)) {
		while (t->early.count && (all || t->waiting_since < s->pass.number))
			close_hole(s, t);
		if (t->early.count) {
			link = &t->next_waiting;
		} else {
			t->listed = false;
			*link = t->next_waiting;
		}
	}
}

void session_close_thread(struct capture_session *s, struct captured_thread *t, uint64_t last)
{
	while (t->early.count)
		close_hole(s, t);
	if (last < t->next)
		return;
	session_deliver_gap(s, t, last - t->next + 1, 0);
	t->next = last + 1;
}
