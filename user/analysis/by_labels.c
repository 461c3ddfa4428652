/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by_labels.c - what the groups are called that calls are summed up by (by.c).
 */
#include "analysis/by.h"

#include <stdio.h>

#include "analysis/locks.h"
#include "util/log.h"

static char *peer_label(const struct definitions *d, uint64_t rank, char *text, size_t room)
{
	for (uint32_t i = 0; i < d->nprocesses; i++)
		if (d->processes[i].rank >= 0 && (uint64_t)d->processes[i].rank == rank)
			return process_label(d, i, text, room);
	snprintf(text, room, "rank %llu", (unsigned long long)rank);
	return text;
}

/* Processes have locks of their own at the same address. */
static char *lock_label_of(const struct by *s, uint64_t number, char *text, size_t room)
{
	const struct definitions *d = s->r->d;
	const struct lock *lock = &((struct locks *)s->locks)->locks[number];
	char label[LABEL_ROOM], whose[LABEL_ROOM];

	lock_label(s->locks, lock, label, sizeof(label));
	if (d->nprocesses > 1 && lock->key.process < d->nprocesses)
		snprintf(text, room, "%s, %s", label, process_label(d, lock->key.process, whose, sizeof(whose)));
	else
		snprintf(text, room, "%s", label);
	return text;
}

static char *phase_label(const struct report *r, uint64_t number, char *text, size_t room)
{
	const struct report_phase *phase = &r->phases[number];

	if (phase->iterations)
		snprintf(text, room, "%s %llu-%llu", phase->name, (unsigned long long)phase->number + 1,
			 (unsigned long long)(phase->number + phase->iterations));
	else
		snprintf(text, room, "%s", phase->name);
	return text;
}

static const char *host_of(const struct definitions *d, uint64_t node)
{
	const char *host = node && node <= d->nnodes ? d->nodes[node - 1].host : d->run.host;

	return host ? log_safe(host) : "(not known)";
}

char *by_label(const struct by *s, enum grouped_by by, uint64_t key, char *text, size_t room)
{
	const struct definitions *d = s->r->d;

	if (key == BY_UNKNOWN || key == BY_NONE || key == BY_NOBODY) {
		snprintf(text, room, "%s", key == BY_UNKNOWN ? "(not known)" : key == BY_NONE ? "(none)" : "(nobody)");
		return text;
	}
	switch (by) {
	case BY_THREAD:
		return thread_label(d, (uint32_t)key, text, room);
	case BY_RANK:
		if (key < d->nprocesses)
			return process_label(d, (uint32_t)key, text, room);
		break;
	case BY_NODE:
		snprintf(text, room, "%s", host_of(d, key));
		return text;
	case BY_EVENT:
		return report_event_label(s->r, (uint32_t)key, text, room);
	case BY_LINE:
		if (!(key & BY_FUNCTION))
			return site_label(d, (uint32_t)key, text, room);
		snprintf(text, room, "%s", log_safe(d->probes[(uint32_t)key].symbol));
		return text;
	case BY_LOCK:
		return lock_label_of(s, key, text, room);
	case BY_PEER:
		return peer_label(d, key, text, room);
	case BY_PHASE:
		return phase_label(s->r, key, text, room);
	default:
		break;
	}
	snprintf(text, room, "?");
	return text;
}
