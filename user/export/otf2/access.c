/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * access.c - accesses of others' memory, and locks.
 *
 * An access is told where its call begins. It is complete when the call returns, unless another call says when: of
 * those no end is told. A lock of a one-sided runtime is one of the memory of all, with its address or handle for a
 * number; others are locks of a process's threads, numbered as they are met.
 */
#include "export/otf2/parts.h"

#include "export/call.h"
#include "recording/lock_calls.h"

/* Whom the call names, as a member of its window. False: nobody, or it is not known. */
static bool remote_of(const struct otf2 *o, const struct span *span, enum want want, uint64_t *remote)
{
	const struct region *region = &o->regions[span->probe];
	int64_t peer;

	if (!otf2_number(o, span, want, &peer) || peer < 0)
		return false;
	if (!has_windows(region->paradigm))
		peer = member_of_all(o, o->d->threads[span->thread].process, peer);
	*remote = (uint32_t)peer;
	return peer >= 0;
}

/* What is accessed: of what comes from others the peer is a receiver's. */
static enum record_kind access_kind(enum role role)
{
	switch (role) {
	case ROLE_GET:
		return RECORD_GET;
	case ROLE_PUT:
	case ROLE_SET:
	case ROLE_COPY:
		return RECORD_PUT;
	case ROLE_ATOMIC:
		return RECORD_ATOMIC;
	default:
		return RECORD_KINDS;
	}
}

/* Does it bring something back? */
static uint64_t atomic_type(const struct otf2 *o, const struct span *span)
{
	const struct def_probe *probe = &o->d->probes[span->probe];

	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].at_return && probe->values[i].meaning == MEANING_PLAIN)
			return OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE;
	return OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
}

static int put_access(struct otf2 *o, uint32_t location, const struct span *span, enum record_kind kind)
{
	struct sent_words sent = call_words(span);
	struct payload payload = payload_read(o->regions[span->probe].payload, &sent);
	struct record record = { .kind = kind, .time = span->start };

	if (!remote_of(o, span, WANT_PEER_OUT, &record.numbers[1]) &&
	    !remote_of(o, span, WANT_PEER_IN, &record.numbers[1]))
		return 0;
	record.numbers[0] = window_of_call(o, span);
	if (kind == RECORD_ATOMIC) {
		record.numbers[2] = atomic_type(o, span);
		record.numbers[3] = (uint64_t)payload.sent;
		record.numbers[4] = (uint64_t)payload.received;
		record.numbers[5] = span->sequence;
	} else {
		record.numbers[2] = (uint64_t)payload.bytes;
		record.numbers[3] = span->sequence;
	}
	return otf2_put(o, location, &record);
}

static int end_access(struct otf2 *o, uint32_t location, const struct span *span)
{
	struct record record = { .kind = RECORD_RMA_DONE, .time = span->end };
	uint64_t remote;

	if (call_end(span) || !o->regions[span->probe].completes ||
	    (!remote_of(o, span, WANT_PEER_OUT, &remote) && !remote_of(o, span, WANT_PEER_IN, &remote)))
		return 0;
	record.numbers[0] = window_of_call(o, span);
	record.numbers[1] = span->sequence;
	return otf2_put(o, location, &record);
}

/* --- locks ---------------------------------------------------------------------- */

/* How often a lock of threads was taken: each time has its number, which its end has, too. */
static int put_thread_lock(struct otf2 *o, uint32_t location, const struct span *span, uint64_t time, bool takes,
			   uint64_t lock)
{
	uint64_t key[2] = { o->d->threads[span->thread].process, lock };
	uint32_t *taken = otf2_number_kept(o, NUMBERED_LOCK, key, sizeof(key)), *number;
	struct record record = { .kind = takes ? RECORD_ACQUIRE : RECORD_RELEASE, .time = time };

	if (!taken)
		return o->error;
	*taken = *taken == NO_INDEX ? takes : *taken + takes;
	number = otf2_number_kept(o, NUMBERED_LOCK_NUMBER, key, sizeof(key));
	if (!number)
		return o->error;
	if (*number == NO_INDEX)
		*number = o->nlocks++;
	record.numbers[0] = o->regions[span->probe].paradigm->paradigm;
	record.numbers[1] = *number;
	record.numbers[2] = *taken;
	return otf2_put(o, location, &record);
}

static int put_lock(struct otf2 *o, uint32_t location, const struct span *span, uint64_t time, bool takes)
{
	struct record record = { .kind = takes ? RECORD_RMA_ACQUIRE : RECORD_RMA_RELEASE, .time = time };
	int64_t lock;

	if (!otf2_number(o, span, WANT_LOCK, &lock))
		return 0;
	if (o->regions[span->probe].paradigm->class != OTF2_PARADIGM_CLASS_PROCESS)
		return put_thread_lock(o, location, span, time, takes, (uint64_t)lock);
	if (!remote_of(o, span, WANT_PEER_OUT, &record.numbers[1]))
		record.numbers[1] = OTF2_UNDEFINED_UINT32;
	record.numbers[0] = window_of_call(o, span);
	record.numbers[2] = (uint64_t)lock;
	return otf2_put(o, location, &record);
}

int otf2_access_begins(struct otf2 *o, uint32_t location, const struct span *span)
{
	const struct def_probe *probe = &o->d->probes[span->probe];
	enum record_kind kind = access_kind(probe->role);
	enum lock_does does = lock_call_does(probe);

	if (kind != RECORD_KINDS)
		return put_access(o, location, span, kind);
	if (does == LOCK_GIVES_BACK || does == LOCK_LENDS)
		return put_lock(o, location, span, span->start, false);
	return 0;
}

int otf2_access_ends(struct otf2 *o, uint32_t location, const struct span *span)
{
	const struct def_probe *probe = &o->d->probes[span->probe];
	enum lock_does does = lock_call_does(probe);

	if (access_kind(probe->role) != RECORD_KINDS)
		return end_access(o, location, span);
	if (((does == LOCK_TAKES || does == LOCK_TRIES) && lock_call_took(probe, span)) ||
	    (does == LOCK_LENDS && !call_end(span)))
		return put_lock(o, location, span, span->end, true);
	return 0;
}
