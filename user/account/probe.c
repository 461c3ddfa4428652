/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - what every sum over calls needs of a probe.
 */
#include <errno.h>

#include "account/account.h"
#include "meaning/value.h"
#include "util/text.h"

int32_t probe_value(const struct def_probe *probe, enum meaning meaning)
{
	for (uint32_t i = 0; i < probe->nvalues && i < INT32_MAX; i++)
		if (probe->values[i].meaning == meaning)
			return i;
	return -1;
}

/* The first probe of the same model. */
static uint32_t runtime_of(const struct definitions *d, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (same_text(d->probes[i].model, d->probes[index].model))
			return i;
	return index;
}

/*
 * Calls that overlap are told of when they end. So a thread's calls have to be looked at in that way from its first one
 * on, and not only from the first that may overlap: what ended before that one was inside it.
 */
static bool any_stacked(const struct definitions *d)
{
	for (uint32_t i = 0; i < d->nprobes; i++)
		if (d->probes[i].marks & MARK_STACKED)
			return true;
	return false;
}

int account_probe(struct accounted_probe *probe, struct event_names *names, const struct definitions *d, uint32_t index)
{
	const struct def_probe *def = &d->probes[index];
	enum group group = group_of_role(def->role);
	struct event_key key = event_key_of(def, def->marks & MARK_INNER);

	*probe = (struct accounted_probe){
		.event = event_names_number(names, &key),
		.runtime = runtime_of(d, index),
		.group = group,
		/* What the caller does of a region itself is no waiting. */
		.opaque = group_is_opaque(group) && !(def->marks & MARK_TEAM),
		.inner = def->marks & MARK_INNER,
		.stacked = any_stacked(d),
		.team = def->marks & MARK_TEAM,
		.share = def->marks & MARK_SHARE,
	};
	if (probe->event == NO_INDEX)
		return -ENOMEM;
	if (probe_value(def, MEANING_BYTES) < 0 && probe_value(def, MEANING_COUNT) < 0)
		return 0;
	probe->payload = payload_plan_new(def->role, def->values, def->nvalues);
	return probe->payload ? 0 : -ENOMEM;
}

void accounted_probe_free(struct accounted_probe *probe)
{
	payload_plan_free(probe->payload);
	probe->payload = NULL;
}
