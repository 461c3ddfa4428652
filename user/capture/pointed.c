/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pointed.c - calls that begin a region name the function that each thread of the team is to call. The first time that
 * one is met in a process, whoever puts probes in is told: by then the region is over, so the next one will show it.
 *
 * With another program, or other libraries, what lies at an address is another function.
 *
 * Of each place that calls come from, what the first of them has handed on is kept: where that is a function that the
 * compiler has cut out of the program there, it tells the place's line (locate.c).
 */
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "meaning/value.h"
#include "util/array.h"

#define POINTED_MOST 10000 /* of one session */

struct pointed_key {
	uint64_t address;
	uint32_t process; /* index in definitions */
	uint32_t layout;
};

struct pointed_record {
	struct pointed_key key;
	UT_hash_handle hh;
};

/* True where it was met before, or cannot be remembered. */
static bool was_met(struct capture_session *s, const struct pointed_key *key)
{
	struct pointed_record *record;

	HASH_FIND(hh, s->pointed.met, key, sizeof(*key), record);
	if (record || HASH_COUNT(s->pointed.met) >= POINTED_MOST)
		return true;
	record = calloc(1, sizeof(*record));
	if (!record)
		return true;
	record->key = *key;
	HASH_ADD(hh, s->pointed.met, key, sizeof(record->key), record);
	if (record->hh.tbl)
		return false;
	free(record);
	return true;
}

void session_meet_pointed(struct capture_session *s, const struct captured_thread *t, const struct span *span)
{
	const struct def_probe *probe = &s->d->probes[span->probe];
	struct captured_process *p = session_process(s, t->pid);
	int32_t index = -1;
	struct value_reading reading;
	struct pointed_key key;

	for (uint32_t i = 0; i < probe->nvalues && index < 0; i++)
		if (probe->values[i].meaning == MEANING_NAME && probe->values[i].form != FORM_STRING)
			index = i;
	if (!s->events.pointed || !p || p->ended || index < 0)
		return;
	reading = value_read(&probe->values[index], span->words, span->nwords, span->unread,
			     span->reason == GB_END_RETURN);
	if (!reading.known || !reading.number)
		return;
	memset(&key, 0, sizeof(key));
	key.address = (uint64_t)reading.number;
	key.process = s->d->threads[t->index].process;
	key.layout = p->layout;
	if (!was_met(s, &key))
		s->events.pointed(s->events.context, t->pid, probe->model, key.address);
}

void session_note_handed_on(struct capture_session *s, uint32_t site, uint64_t address)
{
	struct pointed_table *p = &s->pointed;

	if (site != NO_INDEX && !array_reach(&p->handed_on, &p->room, site + (size_t)1, sizeof(*p->handed_on)) &&
	    !p->handed_on[site])
		p->handed_on[site] = address;
}

uint64_t session_handed_on(const struct capture_session *s, uint32_t site)
{
	const struct def_site *def = &s->d->sites[site];
	uint64_t address = site < s->pointed.room ? s->pointed.handed_on[site] : 0;

	return address ? def->offset + (address - def->address) : 0;
}

void session_free_pointed(struct capture_session *s)
{
	struct pointed_record *record, *next;

	HASH_ITER (hh, s->pointed.met, record, next) {
		HASH_DEL(s->pointed.met, record);
		free(record);
	}
	free(s->pointed.handed_on);
}
