/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * holds.c - which threads have taken which locks while the probes were in, and not given them back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/lock_calls.h"
#include "stuck/private.h"
#include "util/array.h"

#define HOLDS_MOST 10000

static const struct value *value_meaning(const struct value *values, size_t count, enum meaning meaning)
{
	for (size_t i = 0; i < count; i++)
		if (values[i].meaning == meaning)
			return &values[i];
	return NULL;
}

bool lock_named(const struct value *values, size_t count, const struct sent_words *sent, struct named_lock *lock)
{
	const struct value *v = NULL;
	struct value_reading r;

	for (size_t i = 0; i < count && !v; i++)
		if (values[i].meaning == MEANING_LOCK && !values[i].at_return && !strchr(values[i].name, '.'))
			v = &values[i];
	if (!v || value_meaning(values, count, MEANING_PEER))
		return false;
	r = value_read(v, sent->words, sent->nwords, sent->unread, sent->returned);
	*lock = (struct named_lock){ .raw = r.raw,
				     .high = r.high,
				     .is_address = v->form == FORM_POINTER && !v->decoder,
				     .is_decoded = r.decoded,
				     .thread = r.thread,
				     .address = r.address };
	return r.known && !r.none;
}

static void forget(struct stuck *stuck, size_t i)
{
	stuck->holds[i] = stuck->holds[--stuck->nholds];
}

/* Whoever has had it has given it back, as somebody else has it, or this one says so. */
static void end_holds(struct stuck *stuck, const struct stuck_hold *by, bool release)
{
	for (size_t i = stuck->nholds; i-- > 0;) {
		const struct stuck_hold *hold = &stuck->holds[i];

		if (hold->lock.raw != by->lock.raw || hold->lock.high != by->lock.high ||
		    (release && (hold->tid != by->tid || by->since < hold->since)) ||
		    (hold->lock.is_address && hold->pid != by->pid))
			continue;
		forget(stuck, i);
	}
}

static int holds_take_span(struct stuck *stuck, const struct definitions *d, const struct span *span)
{
	const struct def_probe *probe = span->probe != NO_INDEX ? &d->probes[span->probe] : NULL;
	const struct sent_words sent = { span->words, span->nwords, span->unread, span->reason == GB_END_RETURN };
	const struct def_thread *thread = &d->threads[span->thread];
	struct stuck_hold hold = { .tid = thread->tid, .pid = d->processes[thread->process].pid };

	if (!probe || (probe->role != ROLE_ACQUIRE && probe->role != ROLE_TRY && probe->role != ROLE_RELEASE) ||
	    !lock_named(probe->values, probe->nvalues, &sent, &hold.lock))
		return 0;
	hold.since = probe->role == ROLE_RELEASE ? span->start : span->end;
	if (probe->role != ROLE_RELEASE && !lock_call_took(probe, span))
		return 0;
	end_holds(stuck, &hold, probe->role == ROLE_RELEASE);
	if (probe->role == ROLE_RELEASE)
		return 0;
	if (stuck->nholds == HOLDS_MOST)
		forget(stuck, 0); /* not known is better than not bounded */
	if (array_one_more(&stuck->holds, &stuck->holds_room, stuck->nholds, sizeof(hold)))
		return -ENOMEM;
	stuck->holds[stuck->nholds++] = hold;
	return 0;
}

int stuck_take_span(struct stuck *stuck, const struct definitions *d, const struct span *span)
{
	return holds_take_span(stuck, d, span) ?: passing_take_span(stuck, d, span);
}

int stuck_take_gap(struct stuck *stuck, const struct definitions *d, const struct gap *gap)
{
	for (size_t i = stuck->nholds; i-- > 0;)
		if (stuck->holds[i].tid == (pid_t)d->threads[gap->thread].tid &&
		    stuck->holds[i].since < (gap->before ?: UINT64_MAX))
			forget(stuck, i); /* it may have given it back meanwhile */
	return passing_take_gap(stuck, d, gap);
}
