/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delivery.c - spans and gaps, handed to whoever wants them, and counted.
 */
#include <stdlib.h>

#include "capture/session.h"
#include "util/array.h"

void capture_add_sink(struct capture_session *s, const struct span_sink *sink)
{
	if (s->delivery.nsinks < SINKS)
		s->delivery.sinks[s->delivery.nsinks++] = *sink;
}

int session_fit_delivered(struct capture_session *s, size_t count)
{
	return array_reach(&s->delivery.of, &s->delivery.room, count, sizeof(*s->delivery.of));
}

void session_deliver(struct capture_session *s, const struct span *span)
{
	s->totals.spans++;
	s->delivery.of[s->d->threads[span->thread].process].spans++;
	for (size_t i = 0; i < s->delivery.nsinks; i++)
		s->delivery.sinks[i].span(s->delivery.sinks[i].context, s->d, span);
}

void session_deliver_gap(struct capture_session *s, struct captured_thread *t, uint64_t count, uint64_t before)
{
	struct gap gap = { .thread = t->index, .count = count, .after = t->last_end, .before = before };

	t->lost += count;
	s->totals.gaps += count;
	s->delivery.of[s->d->threads[t->index].process].gaps += count;
	if (t->left_out)
		return;
	for (size_t i = 0; i < s->delivery.nsinks; i++)
		if (s->delivery.sinks[i].gap)
			s->delivery.sinks[i].gap(s->delivery.sinks[i].context, s->d, &gap);
}

uint64_t session_left_out_spans(const struct capture_session *s, uint64_t *gaps)
{
	uint64_t spans = 0;

	*gaps = 0;
	for (size_t i = 0; i < s->d->nprocesses && i < s->delivery.room; i++) {
		if (!s->d->processes[i].left_out)
			continue;
		spans += s->delivery.of[i].spans;
		*gaps += s->delivery.of[i].gaps;
	}
	return spans;
}

void session_free_delivery(struct capture_session *s)
{
	free(s->delivery.of);
}
