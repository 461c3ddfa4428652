/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.c - what a call is, as the kernel recorded it: a span, a part of an event that the program announces, or
 * nothing that anybody is told of.
 */
#include <string.h>

#include "capture/session.h"
#include "meaning/value.h"

/*
 * Is it an access to the caller's own part that is to be left out? The kernel leaves these out as soon as it is told of
 * the process's rank; those that were made before that are left out here.
 */
static bool is_near(const struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
		    const struct span *span)
{
	const struct def_probe *def = &s->d->probes[span->probe];
	long rank = s->d->processes[s->d->threads[t->index].process].rank;

	if (rank < 0 || !s->plan->sites[raw->probe].captures[span->probe - s->probes.first[raw->probe]].near[0].bits)
		return false;
	for (uint32_t i = 0; i < def->nvalues; i++) {
		struct value_reading r;

		if (def->values[i].meaning != MEANING_PEER)
			continue;
		r = value_read(&def->values[i], raw->value, span->nwords, span->unread, span->reason == GB_END_RETURN);
		if (!r.known || r.number != rank)
			return false;
	}
	return true;
}

void session_take_call(struct capture_session *s, struct captured_thread *t, const struct gb_span *raw)
{
	uint64_t last_end = t->last_end;
	unsigned carry;
	struct span span = {
		.start = raw->start,
		.end = raw->end,
		.thread = t->index,
		.sequence = raw->sequence,
		.unread = raw->unread,
		.depth = raw->depth,
		.reason = raw->reason,
		.nwords = session_own_words(s, raw),
	};

	span.unread &= (1u << span.nwords) - 1;
	t->next++;
	t->last_end = raw->end;
	if (raw->probe < s->probes.count) {
		session_price(s, t, raw->probe, 1, false, raw->start > last_end ? raw->start - last_end : 0);
		if (raw->probe < t->ncalls || session_fit_calls(t, raw->probe))
			t->calls[raw->probe].spans++;
		session_note_runtime(s, t, s->plan->sites[raw->probe].function->model);
	}
	if (t->left_out)
		return;
	if (raw->probe < s->probes.count && session_announced(s, t, raw))
		return;
	span.probe = session_probe(s, raw);
	if (span.probe == NO_INDEX)
		return; /* a call that is no event (@only) */
	if ((t->announced.nopen || t->announced.told_exit) && !session_inside_announced(s, t, &span))
		return;
	if (s->plan->leave_near && is_near(s, t, raw, &span)) {
		s->calls.near++;
		t->merged++;
		return;
	}
	span.site = session_call_site(s, t, raw, raw->end);
	if (session_is_inner(s, raw, span.site))
		span.probe = session_inner_probe(s, raw->probe, span.probe);
	memcpy(span.words, raw->value, span.nwords * sizeof(span.words[0]));
	session_check_shared(s, t, &span);
	if (s->comms.places[raw->probe])
		session_meet_comms(s, t, raw->probe, &span);
	if (s->d->probes[span.probe].marks & MARK_TEAM)
		session_meet_pointed(s, t, &span);
	carry = session_carry(s, span.probe);
	if (carry & CARRY_NAMES)
		session_note_texts(s, t, &span);
	if (carry & CARRY_FILES)
		session_note_files(s, t, &span);
	session_deliver(s, &span);
}
