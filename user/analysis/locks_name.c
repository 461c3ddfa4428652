/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks_name.c - which lock a call is for, and which call sites are one.
 *
 * A lock is known by the value that calls name it by, in its process; that of a runtime whose processes reach into each
 * other's memory in the whole job. There it may have another address in each process: if it is a variable of the
 * program, it lies equally far from the program's code everywhere, so its distance to the call site is its name. The
 * peer of a call is a part of the name, too: a rank's window, an image's lock; and which of an array of locks is meant.
 * What has no name (critical sections of which there is only one) is told by the event, up to its last word: X_START
 * and X_END, X_LOCK and X_UNLOCK.
 */
#include "analysis/locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/text.h"

#define NEAR (1ull << 29) /* bytes; so far from the code of a program its variables are, at most */
#define PLACES_MOST 65536 /* call sites of locks that are not told apart */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return mix(hash, 1);
}

/* --- probes ------------------------------------------------------------- */

/* The event's name up to its last word. */
static uint64_t family_of(uint64_t model, const char *event)
{
	return mix(lock_call_family(model, event), 2);
}

/* Notes the first probe of each model and of each family of its events; and which models reach into the memory of
 * other processes. */
static int learn_models(struct locks *s)
{
	for (; s->nlearnt < s->d->nprobes; s->nlearnt++) {
		const struct def_probe *probe = &s->d->probes[s->nlearnt];
		uint64_t model = mix_text(0, probe->model);
		struct index_slot *slot = index_find(&s->by_name, family_of(model, probe->event));

		if (!slot)
			return -ENOMEM;
		if (slot->value == INDEX_FREE)
			slot->value = s->nlearnt;
		slot = index_find(&s->by_name, model);
		if (!slot)
			return -ENOMEM;
		if (slot->value == INDEX_FREE)
			slot->value = s->nlearnt;
		slot = lock_call_reaches_others(probe) ? index_find(&s->by_name, mix(model, 3)) : slot;
		if (!slot)
			return -ENOMEM;
		if (slot->value == INDEX_FREE)
			slot->value = s->nlearnt;
	}
	return 0;
}

static const struct value *value_at_call(const struct def_probe *probe, enum meaning meaning)
{
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];

		if (v->meaning == meaning && !v->at_return && !v->unobservable)
			return v;
	}
	return NULL;
}

static void learn_names(struct lock_facts *facts, const struct def_probe *probe)
{
	facts->lock = value_at_call(probe, MEANING_LOCK);
	facts->peer = value_at_call(probe, MEANING_PEER);
	facts->index = value_at_call(probe, MEANING_INDEX);
	facts->named = facts->lock;
	for (uint32_t i = 0; i < probe->nvalues && !facts->named; i++)
		facts->named = probe->values[i].meaning == MEANING_LOCK;
	if (facts->lock)
		value_prepare(&facts->prepared, facts->lock);
	if (facts->peer)
		value_prepare(&facts->prepared_peer, facts->peer);
	if (facts->index)
		value_prepare(&facts->prepared_index, facts->index);
}

static int learn(struct locks *s, uint32_t index, struct lock_facts *facts)
{
	const struct def_probe *probe = &s->d->probes[index];
	uint64_t model = mix_text(0, probe->model);

	*facts = (struct lock_facts){ .does = lock_call_does(probe), .event = NO_INDEX };
	if (probe->marks & MARK_INNER)
		facts->does = LOCK_NOTHING;
	if (facts->does == LOCK_NOTHING) {
		facts->ready = true;
		return 0;
	}
	if (learn_models(s))
		return -ENOMEM;
	learn_names(facts, probe);
	facts->always = facts->does == LOCK_TAKES && probe_value(probe, MEANING_DONE) < 0 &&
			probe_value(probe, MEANING_ERROR) < 0;
	facts->model = index_known(&s->by_name, model)->value;
	facts->job = index_known(&s->by_name, mix(model, 3));
	if (!facts->named)
		facts->event = index_known(&s->by_name, family_of(model, probe->event))->value;
	facts->ready = true;
	return 0;
}

const struct lock_facts *lock_facts_of(struct locks *s, uint32_t probe)
{
	if (array_reach(&s->facts, &s->nfacts, probe + (size_t)1, sizeof(*s->facts)))
		return NULL;
	if (!s->facts[probe].ready && learn(s, probe, &s->facts[probe]))
		return NULL;
	return &s->facts[probe];
}

static int by_rank(const void *a, const void *b)
{
	const struct def_process *x = *(const struct def_process *const *)a, *y = *(const struct def_process *const *)b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->parent < y->parent ? -1 : x->parent > y->parent;
}

bool lock_jobs_repeat(const struct definitions *d)
{
	const struct def_process **ranks = calloc(d->nprocesses + 1, sizeof(*ranks));
	bool repeat = false;
	size_t count = 0;

	for (uint32_t i = 0; ranks && i < d->nprocesses; i++)
		if (d->processes[i].rank >= 0)
			ranks[count++] = &d->processes[i];
	if (count)
		qsort(ranks, count, sizeof(*ranks), by_rank);
	for (size_t i = 1; i < count; i++)
		repeat |= ranks[i]->rank == ranks[i - 1]->rank && ranks[i]->parent != ranks[i - 1]->parent;
	free(ranks);
	return repeat;
}

/* --- call sites ---------------------------------------------------------- */

static uint64_t place_of(const struct definitions *d, uint32_t site)
{
	const struct def_site *at = &d->sites[site];
	uint64_t hash = mix(0, at->line);

	if (at->file)
		return mix_text(mix_text(hash, at->file), at->function);
	if (at->image >= d->nimages)
		return mix(mix(hash, at->address), at->process + 1ull);
	hash = mix_text(mix_text(hash, d->images[at->image].path), d->images[at->image].build_id);
	return mix(hash, at->offset);
}

uint32_t lock_site(struct locks *s, uint32_t site)
{
	size_t before = s->nsites;
	struct index_slot *slot;

	if (site >= s->d->nsites)
		return NO_INDEX;
	if (array_reach(&s->sites, &s->nsites, site + (size_t)1, sizeof(*s->sites)))
		return site;
	for (size_t i = before; i < s->nsites; i++)
		s->sites[i] = NO_INDEX;
	if (s->sites[site] != NO_INDEX)
		return s->sites[site];
	slot = index_find(&s->by_place, place_of(s->d, site));
	if (!slot)
		return site;
	if (slot->value == INDEX_FREE)
		slot->value = site;
	return s->sites[site] = slot->value;
}

/* --- locks ------------------------------------------------------------------ */

static bool same_lock(const struct lock_key *a, const struct lock_key *b)
{
	return a->value == b->value && a->process == b->process && a->job == b->job && a->model == b->model &&
	       a->event == b->event && a->element == b->element && a->peer == b->peer && a->apart == b->apart;
}

static uint64_t hash_of(const struct lock_key *key)
{
	uint64_t hash = mix(mix(mix(key->apart, key->value), key->element), key->process);

	return mix(mix(hash, (uint64_t)key->job << 32 | key->model), (uint64_t)key->event << 32 | (uint32_t)key->peer);
}

/* The slot of a key; *known: it is there. */
static struct index_slot *slot_of(struct locks *s, const struct lock_key *key, bool *known)
{
	uint64_t hash = hash_of(key);
	struct index_slot *slot;

	while ((slot = index_find(&s->by_key, hash)) && slot->value != INDEX_FREE &&
	       !same_lock(&s->locks[slot->value].key, key))
		hash = mix(hash, 1);
	*known = slot && slot->value != INDEX_FREE;
	return slot;
}

static bool is_known(const struct locks *s, const struct lock_key *key)
{
	uint64_t hash = hash_of(key);
	const struct index_slot *slot;

	while ((slot = index_known(&s->by_key, hash)) && !same_lock(&s->locks[slot->value].key, key))
		hash = mix(hash, 1);
	return slot;
}

static int find_lock(struct locks *s, struct lock_key key, const struct span *span, uint32_t *lock)
{
	struct index_slot *slot;
	bool known;

	if (s->nlocks >= LOCKS_MOST && !is_known(s, &key)) {
		bool room = s->nlocks < LOCKS_MOST + PLACES_MOST;

		key = (struct lock_key){ .value = room ? lock_site(s, span->site) : NO_INDEX,
					 .process = NO_INDEX,
					 .model = key.model,
					 .event = NO_INDEX,
					 .peer = -1 };
	}
	slot = slot_of(s, &key, &known);
	if (!slot)
		return -ENOMEM;
	*lock = slot->value;
	if (known)
		return 0;
	if (array_one_more(&s->locks, &s->locks_room, s->nlocks, sizeof(*s->locks))) {
		slot->value = INDEX_FREE;
		return -ENOMEM;
	}
	s->locks[s->nlocks] = (struct lock){ .key = key, .probe = NO_INDEX, .at = span->start, .locks = 1 };
	*lock = slot->value = s->nlocks++;
	return 0;
}

/* As it is called in all processes. */
static uint64_t name_in_job(const struct locks *s, const struct span *span, uint64_t address)
{
	const struct def_site *site = span->site < s->d->nsites ? &s->d->sites[span->site] : NULL;
	uint64_t begin = site && site->image < s->d->nimages ? site->address - site->offset : 0;

	return begin && address >= begin && address - begin < NEAR ? address - begin : address;
}

static bool lock_value(const struct locks *s, const struct lock_facts *facts, const struct span *span, uint64_t *value)
{
	const struct sent_words sent = span_words(span);
	struct value_reading r;
	int64_t number;

	if (facts->prepared.plain) {
		if (!prepared_read(&facts->prepared, &sent, &number))
			return false;
		*value = (uint64_t)number;
	} else {
		r = value_read(facts->lock, sent.words, sent.nwords, sent.unread, sent.returned);
		if (!r.known || r.none)
			return false;
		*value = r.raw ^ (r.high << 32 | r.high >> 32);
	}
	return true;
}

int lock_of_call(struct locks *s, const struct lock_facts *facts, const struct span *span, uint32_t *lock)
{
	const struct sent_words sent = span_words(span);
	uint32_t process = s->d->threads[span->thread].process;
	const struct def_process *def = thread_process(s->d, span->thread);
	struct lock_key key = {
		.process = process, .model = facts->model, .event = facts->event, .peer = -1, .apart = true
	};
	int64_t peer, element;

	*lock = NO_INDEX;
	if (facts->named && (!facts->lock || !lock_value(s, facts, span, &key.value)))
		return 0;
	if (facts->peer && prepared_number(&facts->prepared_peer, &sent, &peer))
		key.peer = (int32_t)peer;
	if (facts->index && prepared_number(&facts->prepared_index, &sent, &element))
		key.element = element;
	if (facts->job && def && def->rank >= 0) {
		key.process = NO_INDEX;
		key.job = s->several_jobs ? def->parent : 0;
		if (facts->lock && facts->lock->form == FORM_POINTER && !facts->lock->decoder)
			key.value = name_in_job(s, span, key.value);
	}
	return find_lock(s, key, span, lock);
}

/* --- who and where -------------------------------------------------------- */

static bool same_part(const struct lock_part_key *a, const struct lock_part_key *b)
{
	return a->lock == b->lock && a->kind == b->kind && a->a == b->a && a->b == b->b && a->c == b->c && a->d == b->d;
}

struct lock_part *lock_part_of(struct locks *s, const struct lock_part_key *key)
{
	uint64_t hash = mix(mix(index_key(key->lock, key->kind), index_key(key->a, key->b)), index_key(key->c, key->d));
	struct index_slot *slot;

	if (s->nparts >= LOCK_PARTS_MOST) {
		const struct index_slot *known;

		while ((known = index_known(&s->by_part, hash)) && !same_part(&s->parts[known->value].key, key))
			hash = mix(hash, 1);
		return known ? &s->parts[known->value] : NULL;
	}
	while ((slot = index_find(&s->by_part, hash)) && slot->value != INDEX_FREE &&
	       !same_part(&s->parts[slot->value].key, key))
		hash = mix(hash, 1);
	if (slot && slot->value != INDEX_FREE)
		return &s->parts[slot->value];
	if (!slot || array_one_more(&s->parts, &s->parts_room, s->nparts, sizeof(*s->parts))) {
		s->error = -ENOMEM;
		return NULL;
	}
	slot->value = s->nparts;
	s->parts[s->nparts] = (struct lock_part){ .key = *key };
	return &s->parts[s->nparts++];
}

struct lock_part *lock_site_part(struct locks *s, uint32_t lock, uint32_t site)
{
	return lock_part_of(s, &(struct lock_part_key){ .lock = lock, .kind = PART_SITE, .a = site });
}

struct lock_part *lock_thread_part(struct locks *s, uint32_t lock, uint32_t thread)
{
	return lock_part_of(s, &(struct lock_part_key){ .lock = lock, .kind = PART_THREAD, .a = thread });
}
