/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.c - where a call comes from: an address, at a time, in a process.
 *
 * What lies at an address changes: with exec, and when libraries are unloaded and others take their place. Each change
 * begins a new layout of the process (session_change_layout()), whose mappings are read as soon as it is told; those of
 * the layout before are kept, for calls that ended before the change. Of several changes at one go only the mappings
 * before the first and after the last are known: a call in between is located where both agree, and what lies there
 * cannot have gone and come back; else it has no place. So a call may come from an unknown place, never from a wrong
 * one. But what comes and goes are libraries that were loaded by a call: the program itself, and the libraries that it
 * needs, stay where they are until the next exec.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/clock.h"

#define REFRESH_EVERY 100000000ULL /* ns between two looks at a process's mappings */

static const struct mapping *mapping_in(const struct process *process, uint64_t address)
{
	return process ? process_mapping_at(process, address) : NULL;
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a && b && a->inode == b->inode && a->device == b->device && a->start - a->offset == b->start - b->offset;
}

/* Of something that lay there before the changes of this layout and lies there after them: was it there all the time?
 */
static bool stayed(struct capture_session *s, struct captured_process *p, const struct mapping *mapping)
{
	if (p->only_added)
		return true;
	return (!p->program_since || p->program_since < p->changed) && session_is_needed(s, p, mapping);
}

/* The layout in which a call ended. */
static uint32_t layout_at(const struct captured_process *p, uint64_t time)
{
	if (!p->layout || time >= p->settling)
		return p->layout;
	if (time >= p->changed)
		return p->layout | UNSETTLED;
	if (time >= p->before_settled)
		return p->layout - 1;
	return (time < p->program_since ? p->program_layout - 1 : p->layout - 1) | UNSETTLED;
}

/*
 * The mapping that holds the site, and the process whose mapping it is. In a layout that has settled, a library that
 * came without a word is looked for once in a while.
 */
static const struct mapping *site_mapping(struct capture_session *s, const struct def_site *site,
					  struct captured_process *p, uint32_t layout, struct process **owner)
{
	const struct mapping *mapping = mapping_in(p->process, site->address),
			     *before = mapping_in(p->before, site->address);

	*owner = p->process;
	if (layout == (p->layout | UNSETTLED))
		return same_mapping(mapping, before) && stayed(s, p, mapping) ? mapping : NULL;
	if (layout != p->layout) {
		*owner = p->before;
		return layout + 1 == p->layout ? before : NULL;
	}
	if (mapping || !p->process || p->ended || clock_monotonic() - session_mapped_ns(p) <= REFRESH_EVERY)
		return mapping;
	return process_refresh(p->process) || session_changes(s, p->pid) ? NULL : mapping_in(p->process, site->address);
}

/* Is the file's code mapped at one place alone? Another one may be of a namespace of its own (dlmopen), which goes when
 * the program likes. */
static bool is_mapped_once(const struct process *process, const struct mapping *mapping)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *other = &process->mappings[i];

		if (other->executable && other->inode == mapping->inode && other->device == mapping->device &&
		    !same_mapping(other, mapping))
			return false;
	}
	return true;
}

/* Does it stay from exec to exec? So does the program itself, and what it needs. */
static bool is_of_program(struct capture_session *s, struct captured_process *p, const struct process *owner,
			  const struct mapping *mapping, const struct image *image)
{
	return image->is_program || (p->process && session_is_needed(s, p, mapping) && is_mapped_once(owner, mapping));
}

/*
 * The mapping of the program that the process has run all through this layout, or of what that needs, where one of
 * these holds the site; NULL: it does not, or another program may have been there.
 */
static const struct mapping *program_mapping(struct capture_session *s, const struct def_site *site,
					     struct captured_process *p, uint32_t layout, struct process **owner)
{
	uint32_t number = layout & ~UNSETTLED;
	const struct mapping *mapping;
	const struct known_image *known;

	/* It may have ended before it could be looked at once more. */
	*owner = session_mapped_ns(p) > p->program_since ? p->process
		 : p->layout > p->program_layout         ? p->before
							 : NULL;
	if (!*owner && p->last && p->last->mapped_ns > p->program_since)
		*owner = p->last;
	mapping = mapping_in(*owner, site->address);
	if (!mapping || !mapping->inode || number < p->program_layout ||
	    (number == p->program_layout && layout & UNSETTLED && p->program_since > p->changed))
		return NULL;
	known = session_image(s, *owner, mapping);
	return known && known->image && is_of_program(s, p, *owner, mapping, known->image) ? mapping : NULL;
}

static void place_site(struct capture_session *s, struct def_site *site, struct captured_process *p, uint32_t layout)
{
	struct process *owner = NULL;
	const struct mapping *mapping;
	struct known_image *known;

	site->image = NO_INDEX;
	mapping = p ? site_mapping(s, site, p, layout, &owner) : NULL;
	if (!mapping && p)
		mapping = program_mapping(s, site, p, layout, &owner);
	if (!mapping || !mapping->inode)
		return;
	known = session_image(s, owner, mapping);
	if (!known)
		return;
	site->offset = site->address - mapping->start + mapping->offset;
	if (known->index == NO_INDEX && known->image)
		known->index = session_define_image(s, known->image);
	site->image = known->index;
}

static uint32_t new_call_site(struct capture_session *s, const struct site_key *key, struct captured_process *p)
{
	struct site_record *record = calloc(1, sizeof(*record));
	uint32_t site;

	if (!record)
		return NO_INDEX;
	record->key = *key;
	record->site = definitions_add_site(s->d);
	if (record->site == NO_INDEX) {
		free(record);
		return NO_INDEX;
	}
	s->d->sites[record->site].process = key->process;
	s->d->sites[record->site].address = key->address;
	place_site(s, &s->d->sites[record->site], p, key->layout);
	HASH_ADD(hh, s->sites.table, key, sizeof(record->key), record);
	site = record->site;
	if (!record->hh.tbl)
		free(record); /* the next call from there is a place of its own */
	return site;
}

/* Places that the program names itself, by what it said. */
struct named_site {
	struct {
		uint64_t address;
		uint32_t process, line, column, zero;
	} key;
	char *file;
	uint32_t site; /* index in definitions */
	UT_hash_handle hh;
};

uint32_t session_named_site(struct capture_session *s, uint32_t process, uint64_t address, const char *file,
			    uint32_t line, uint32_t column)
{
	struct named_site *named, *fresh;
	struct def_site *def;
	__typeof__(named->key) key;

	memset(&key, 0, sizeof(key));
	key.address = address;
	key.process = process;
	key.line = line;
	key.column = column;
	HASH_FIND(hh, s->sites.named, &key, sizeof(key), named);
	if (named && named->file && !strcmp(named->file, file))
		return named->site;
	fresh = named ? named : calloc(1, sizeof(*fresh));
	if (!fresh)
		return NO_INDEX;
	if (!named) {
		fresh->key = key;
		HASH_ADD(hh, s->sites.named, key, sizeof(fresh->key), fresh);
		if (!fresh->hh.tbl) {
			free(fresh);
			return NO_INDEX;
		}
	}
	free(fresh->file); /* another program at the same address */
	fresh->file = strdup(file);
	fresh->site = fresh->file ? definitions_add_site(s->d) : NO_INDEX;
	if (fresh->site == NO_INDEX)
		return NO_INDEX;
	def = &s->d->sites[fresh->site];
	def->process = process;
	def->address = address;
	def->image = NO_INDEX;
	def->located = true;
	def->file = strdup(file);
	def->line = line;
	def->column = column;
	return fresh->site;
}

uint32_t session_site(struct capture_session *s, const struct captured_thread *t, uint64_t caller, uint64_t end)
{
	struct site_key key = { .address = caller, .process = s->d->threads[t->index].process };
	struct captured_process *p = session_process(s, t->pid);
	struct site_record *record;
	uint32_t slot, site;

	if (p)
		key.layout = layout_at(p, end);
	slot = (caller ^ (caller >> 12) ^ key.process * 31) & (SITE_CACHE - 1);
	if (!memcmp(&s->sites.cache[slot].key, &key, sizeof(key)))
		return s->sites.cache[slot].site;
	HASH_FIND(hh, s->sites.table, &key, sizeof(key), record);
	site = record ? record->site : new_call_site(s, &key, p);
	if (site != NO_INDEX) {
		s->sites.cache[slot].key = key;
		s->sites.cache[slot].site = site;
	}
	return site;
}

void session_free_sites(struct capture_session *s)
{
	struct site_record *record, *after;
	struct named_site *named, *next;

	HASH_ITER (hh, s->sites.table, record, after) {
		HASH_DEL(s->sites.table, record);
		free(record);
	}
	HASH_ITER (hh, s->sites.named, named, next) {
		HASH_DEL(s->sites.named, named);
		free(named->file);
		free(named);
	}
}
