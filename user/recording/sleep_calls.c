/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep_calls.c - calls by which threads of one process wait until another one lets them go on.
 */
#include "recording/sleep_calls.h"

#include <string.h>

#include "meaning/value.h"
#include "recording/lock_calls.h"

bool call_sleeps_at_address(const struct def_probe *probe)
{
	return probe->role == ROLE_WAIT && !(probe->marks & (MARK_EXPOSURE | MARK_ACCESS)) &&
	       observed_value(probe, MEANING_PTR) && !observed_value(probe, MEANING_REQUEST) &&
	       !observed_value(probe, MEANING_TASK) && !observed_value(probe, MEANING_PEER);
}

bool call_wakes_at_address(const struct def_probe *probe)
{
	return probe->role == ROLE_EVENT && !(probe->marks & MARK_EXPOSURE) && observed_value(probe, MEANING_PTR) &&
	       !observed_value(probe, MEANING_PEER);
}

bool call_sleeps(const struct definitions *d, const struct def_probe *probe)
{
	for (uint32_t i = 0; call_sleeps_at_address(probe) && i < d->nprobes; i++)
		if (call_wakes_at_address(&d->probes[i]) && !strcmp(d->probes[i].model, probe->model))
			return true;
	return false;
}

bool call_failed(const struct def_probe *probe, const struct span *span)
{
	const struct value *error = observed_value(probe, MEANING_ERROR);
	struct value_reading r = { .known = false };

	if (error)
		r = value_read(error, span->words, span->nwords, span->unread, span->reason == GB_END_RETURN);
	return r.known && !r.none && r.number;
}
