/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comms.c - what communicators mean, read from the process when one is first met in a call of it.
 *
 * A handle means the same until another communicator gets it, which only a function that makes one can do: such a call,
 * and a known handle with another id than before, are reasons to look again. A look comes a moment after the call. What
 * has been freed by then cannot be told any more, and what was made of its memory meanwhile must not be taken for it:
 * model/communicator.c refuses what does not fit together, and here the id must be that of the call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "capture/session.h"
#include "model/communicator.h"
#include "meaning/value.h"
#include "recording/communicators.h"
#include "util/log.h"

#define RECENT 16 /* a power of two */
/*
 * What is kept, in communicators and runs of their members: of a process, and of all. Beyond that further ones have no
 * members that are known.
 */
#define KEPT_OF_PROCESS (1u << 18)
#define KEPT_MOST (1u << 22)

/* Where a probe's calls name communicators. */
struct comm_places {
	const struct model *model;
	const char *soname;
	const struct value *handle, *id;    /* of the one that the call works on; NULL: none */
	const struct value *made, *made_id; /* of the one that it makes */
	/* Which one each of some processes named last: nearly always the one that it names next. */
	struct {
		uint64_t handle, id;
		uint32_t process;
		bool known;
	} recent[RECENT];
};

struct comm_key {
	uint64_t handle;
	uint32_t process; /* index in definitions */
	uint32_t zero;
};

struct live_comm {
	struct comm_key key;
	bool has_id;
	uint32_t id;    /* of the calls that named it */
	uint32_t index; /* in definitions; NO_INDEX: not known */
	UT_hash_handle hh;
};

/* --- where to look ----------------------------------------------------- */

/* The probe's definition has the values; they live as long as the plan's captures, from which they were copied. */
static struct comm_places *places_of(const struct site *site)
{
	const struct function *f = &site->function[0];
	const struct capture *capture = &site->captures[0];
	struct comm_places places = { .model = f->model, .soname = site->image->soname };

	for (size_t i = 0; i < capture->nvalues; i++) {
		const struct value *v = &capture->values[i];
		const struct value **which = value_is_id(v) ? (v->at_return ? &places.made_id : &places.id)
							    : (v->at_return ? &places.made : &places.handle);

		if (v->meaning == MEANING_COMM && !v->unobservable && !*which)
			*which = v;
	}
	if ((!places.handle && !places.made) || !model_has_members(f->model, places.soname))
		return NULL;
	struct comm_places *kept = malloc(sizeof(*kept));

	if (kept)
		*kept = places;
	return kept;
}

int session_comm_site(struct capture_session *s, const struct site *site)
{
	struct comm_places **grown = realloc(s->comms.places, (site->id + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	s->comms.places = grown;
	for (; s->comms.nplaces < site->id; s->comms.nplaces++)
		grown[s->comms.nplaces] = NULL;
	grown[s->comms.nplaces++] = site->nfunctions ? places_of(site) : NULL;
	return 0;
}

/* --- looking ----------------------------------------------------------- */

static bool read_process(void *context, const struct memory_piece *pieces, size_t count)
{
	const struct process *process = context;

	return memory_read_pieces(process->pid, pieces, count);
}

static bool same_members(const struct def_comm *a, const struct def_comm *b)
{
	return a->size == b->size && a->nruns == b->nruns && a->has_id == b->has_id && a->id == b->id &&
	       !strcmp(a->name ?: "", b->name ?: "") &&
	       (!a->nruns || !memcmp(a->runs, b->runs, a->nruns * sizeof(*a->runs)));
}

static void comm_clear(struct def_comm *comm)
{
	free(comm->name);
	free(comm->runs);
}

/* Room for so much more of this process (definition)? What there is no room for is said once. */
static bool has_room(struct capture_session *s, uint32_t process, uint32_t more)
{
	struct captured_process *p = session_process(s, s->d->processes[process].pid);
	bool room = p && p->comms + more <= KEPT_OF_PROCESS && s->comms.kept + more <= KEPT_MOST;

	if (room) {
		p->comms += more;
		s->comms.kept += more;
	} else if (p && p->comms < KEPT_OF_PROCESS) {
		p->comms = KEPT_OF_PROCESS;
		log_warn("%u (%s): makes more communicators than are kept: the members of further ones are not known",
			 p->pid, log_safe(s->d->processes[process].name ?: "?"));
	}
	return room;
}

/* Takes over what `fresh` holds. */
static void define(struct capture_session *s, struct live_comm *comm, struct def_comm *fresh)
{
	uint32_t index;

	if (comm->index != NO_INDEX && same_members(&s->d->comms[comm->index], fresh)) {
		comm_clear(fresh);
		return;
	}
	if (!has_room(s, comm->key.process, 1 + fresh->nruns)) {
		comm_clear(fresh);
		*fresh = (struct def_comm){ .process = comm->key.process,
					    .handle = comm->key.handle,
					    .since = fresh->since };
		/* What it was before holds no longer. */
		if (comm->index == NO_INDEX || same_members(&s->d->comms[comm->index], fresh))
			return;
	}
	index = definitions_add_comm(s->d);
	if (index == NO_INDEX) {
		comm_clear(fresh);
		return;
	}
	s->d->comms[index] = *fresh;
	comm->index = index;
}

/* since: ns; from when on what is found holds. */
static void look(struct capture_session *s, const struct comm_places *places, const struct captured_thread *t,
		 struct live_comm *comm, uint64_t since)
{
	struct captured_process *p = session_process(s, t->pid);
	struct def_comm fresh = { .process = comm->key.process, .handle = comm->key.handle };
	struct members members = { .count = 0 };
	struct memory memory = { .read = read_process };
	int err = -ENODATA;

	if (p && p->process && process_alive(p->process)) {
		memory.context = p->process;
		err = model_members(places->model, places->soname, comm->key.handle, s->d->processes[p->index].rank,
				    &memory, &members);
	}
	if (!err && comm->has_id && members.has_id && members.id != comm->id) {
		err = -ENODATA; /* another one lies there by now */
		free(members.ranks);
	}
	if (!err) {
		fresh.has_id = members.has_id;
		fresh.id = members.id;
		fresh.name = members.name[0] ? strdup(members.name) : NULL;
		err = members.world ? comm_set_world(&fresh) : comm_set_members(&fresh, members.ranks, members.count);
		free(members.ranks);
	} else if (comm->index == NO_INDEX) {
		return;
	}
	/* What holds from the beginning is the first; an unknown one is told only where something else was known. */
	fresh.since = comm->index == NO_INDEX ? since : since ?: 1;
	define(s, comm, &fresh);
}

static struct live_comm *find(struct capture_session *s, const struct comm_key *key)
{
	struct live_comm *comm;

	HASH_FIND(hh, s->comms.table, key, sizeof(*key), comm);
	return comm;
}

static struct live_comm *add(struct capture_session *s, const struct comm_key *key)
{
	struct live_comm *comm = has_room(s, key->process, 1) ? calloc(1, sizeof(*comm)) : NULL;

	if (!comm)
		return NULL;
	comm->key = *key;
	comm->index = NO_INDEX;
	HASH_ADD(hh, s->comms.table, key, sizeof(comm->key), comm);
	if (!comm->hh.tbl) {
		free(comm);
		return NULL;
	}
	return comm;
}

/* The number of a value of the call; false: not known. */
static bool number_of(const struct value *v, const struct span *span, int64_t *number)
{
	struct value_reading reading = { .known = false };

	if (v)
		reading = value_read(v, span->words, span->nwords, span->unread,
				     span->reason == GB_END_RETURN || span->reason == GB_END_TAIL);
	*number = reading.number;
	return reading.known && !reading.none;
}

static void meet(struct capture_session *s, const struct comm_places *places, const struct captured_thread *t,
		 const struct span *span, bool made)
{
	struct comm_key key = { .process = s->d->threads[t->index].process };
	int64_t handle, id;
	bool has_id = number_of(made ? places->made_id : places->id, span, &id), known;
	struct live_comm *comm;

	if (!number_of(made ? places->made : places->handle, span, &handle))
		return;
	key.handle = (uint64_t)handle;
	comm = find(s, &key);
	known = comm && !made && (!has_id || (comm->has_id && comm->id == (uint32_t)id));
	if (known)
		return;
	if (!comm)
		comm = add(s, &key);
	if (!comm)
		return;
	comm->has_id = has_id;
	comm->id = (uint32_t)id;
	/* A call that makes one holds it when it ends; a call that is the first to name one may be long after. */
	look(s, places, t, comm, made ? span->end : comm->index == NO_INDEX ? 0 : span->start);
}

/* The same words as the last time need no second thought. False: they are not; they are noted. */
static bool is_recent(struct comm_places *places, uint32_t process, const struct span *span)
{
	uint8_t handle = places->handle->slot, id = places->id ? places->id->slot : handle;
	__typeof__(places->recent[0]) *recent = &places->recent[process % RECENT];

	if (handle >= span->nwords || id >= span->nwords || (span->unread >> handle & 1) || (span->unread >> id & 1))
		return false;
	if (recent->known && recent->process == process && recent->handle == span->words[handle] &&
	    recent->id == span->words[id])
		return true;
	recent->known = true;
	recent->process = process;
	recent->handle = span->words[handle];
	recent->id = span->words[id];
	return false;
}

void session_meet_comms(struct capture_session *s, const struct captured_thread *t, uint32_t site,
			const struct span *span)
{
	struct comm_places *places = s->comms.places[site];

	if (places->handle && !is_recent(places, s->d->threads[t->index].process, span))
		meet(s, places, t, span, false);
	if (places->made)
		meet(s, places, t, span, true);
}

void session_free_comms(struct capture_session *s)
{
	struct live_comm *comm, *next;

	HASH_ITER (hh, s->comms.table, comm, next) {
		HASH_DEL(s->comms.table, comm);
		free(comm);
	}
	for (size_t i = 0; i < s->comms.nplaces; i++)
		free(s->comms.places[i]);
	free(s->comms.places);
}
