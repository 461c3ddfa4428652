/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_calls.c - what calls do to locks.
 */
#include "recording/lock_calls.h"

#include <string.h>

#include "meaning/value.h"

const struct value *observed_value(const struct def_probe *probe, enum meaning meaning)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == meaning && !probe->values[i].unobservable)
			return &probe->values[i];
	return NULL;
}

enum lock_does lock_call_does(const struct def_probe *probe)
{
	switch (probe->role) {
	case ROLE_ACQUIRE:
		return LOCK_TAKES;
	case ROLE_TRY:
		return LOCK_TRIES;
	case ROLE_RELEASE:
		return LOCK_GIVES_BACK;
	case ROLE_WAIT:
		return observed_value(probe, MEANING_LOCK) ? LOCK_LENDS : LOCK_NOTHING;
	default:
		return LOCK_NOTHING;
	}
}

uint64_t lock_call_family(uint64_t seed, const char *event)
{
	const char *end = event ? strrchr(event, '_') : NULL;

	while (end && event < end)
		seed = (seed ^ (unsigned char)*event++) * 0x100000001b3ull;
	return seed;
}

bool lock_call_reaches_others(const struct def_probe *probe)
{
	switch (probe->role) {
	case ROLE_GET:
	case ROLE_PUT:
		return true;
	case ROLE_COPY:
	case ROLE_SET:
		return observed_value(probe, MEANING_PEER);
	default:
		return false;
	}
}

bool lock_call_took(const struct def_probe *probe, const struct span *span)
{
	const struct value *done = observed_value(probe, MEANING_DONE), *error = observed_value(probe, MEANING_ERROR);
	struct value_reading r = { .known = false };

	if (span->reason != GB_END_RETURN && span->reason != GB_END_TAIL)
		return false;
	if (done || error)
		r = value_read(done ?: error, span->words, span->nwords, span->unread, span->reason == GB_END_RETURN);
	if (!r.known || r.none) /* a program that does not ask whether it has the lock waits until it has */
		return probe->role == ROLE_ACQUIRE;
	return done ? r.number != 0 : !r.number;
}
