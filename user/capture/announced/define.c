/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * define.c - what an announced event is: a definition of its own, as if a model had described it.
 *
 * A user event's name and format are the program's; its number may be shared by several processes, so each has its own
 * meaning in each. Those that say the same share one definition.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/announced/announced_private.h"
#include "meaning/value.h"
#include "util/text.h"

/* --- values and arguments ---------------------------------------------------- */

/* Appends the values of START or END; *slot is the next free word. */
static int add_values(struct def_probe *def, const struct items *items, const char *decoder, bool at_end,
		      unsigned *slot)
{
	for (size_t i = 0; i < items->count; i++) {
		const struct item *item = &items->item[i];
		struct value *v = &def->values[def->nvalues];
		unsigned words = item_words(item);

		if (item->skipped)
			continue;
		*v = (struct value){
			.form = item->form, .width = item->width, .at_return = at_end, .slot = *slot, .null_slot = *slot
		};
		if (!at_end) {
			v->meaning = item->meaning;
			v->element = item->element;
		}
		if (asprintf(&v->name, "%s%s", at_end ? "end." : "", item->name) < 0) {
			v->name = NULL;
			return -ENOMEM;
		}
		def->nvalues++;
		if (!words || *slot + words > GB_SLOTS) {
			v->unobservable = true;
			v->slot = v->null_slot = 0;
			continue;
		}
		if (item->kind == ITEM_TEXT)
			v->element = words;
		if (item->kind == ITEM_SHARED && decoder && !(v->decoder = strdup(decoder)))
			return -ENOMEM;
		v->has_high = v->decoder && decoder_words(decoder) > 1;
		v->high_slot = v->has_high ? *slot + 1 : 0;
		*slot += words;
	}
	return 0;
}

/* The arguments of one type of event: all values of START, or of END, which are the definition's from `first` on. */
static int add_arguments(struct def_probe *def, const struct items *items, enum event_type type, uint32_t first)
{
	def->lists |= 1u << type;
	for (size_t i = 0; i < items->count; i++) {
		const struct item *item = &items->item[i];
		struct def_argument *a = &def->arguments[def->narguments];

		if (item->skipped)
			continue;
		*a = (struct def_argument){
			.event = type,
			.kind = item->argument,
			.name = strdup(item->name),
			.type = strdup(item->type),
			.size = gb_bytes_of(item->width),
			.from = calloc(1, sizeof(*a->from)),
			.nfrom = 1,
		};
		def->narguments++;
		if (!a->name || !a->type || !a->from)
			return -ENOMEM;
		a->from[0] = (struct def_from){ .what = FROM_VALUE, .value = first++ };
	}
	return 0;
}

static int describe_values(struct def_probe *def, const struct announced_event *e)
{
	size_t starts = e->items[0].count, ends = e->items[1].count;
	unsigned slot = 0;
	uint32_t first_end;
	int error;

	def->values = calloc(starts + ends + 1, sizeof(*def->values));
	def->arguments = calloc(2 * starts + ends + 1, sizeof(*def->arguments));
	error = def->values && def->arguments ? 0 : -ENOMEM;
	if (!error)
		error = add_values(def, &e->items[0], e->decoder, false, &slot);
	first_end = def->nvalues;
	if (!error)
		error = add_values(def, &e->items[1], e->decoder, true, &slot);
	if (!error)
		error = add_arguments(def, &e->items[0], EVENT_START, 0);
	if (!error)
		error = add_arguments(def, &e->items[0], EVENT_ATOMIC, 0);
	if (!error)
		error = add_arguments(def, &e->items[1], EVENT_END, first_end);
	return error;
}

/* --- definitions ---------------------------------------------------------------- */

/* What events say, whose they may be. */
struct announced_meaning {
	uint32_t probe; /* index in definitions */
	char *text;
	UT_hash_handle hh;
};

static char *meaning_text(const struct announced_event *e)
{
	char *text;

	return asprintf(&text, "%u\n%u\n%s\n%s\n%s", e->key.id, e->key.runtime, e->name ?: "\1", e->format ?: "\1",
			e->decoder ?: "\1") < 0
		       ? NULL
		       : text;
}

/* The definition of an event that says the same. */
static uint32_t find_same(const struct capture_session *s, const struct announced_event *e)
{
	struct announced_meaning *same = NULL;
	char *text = meaning_text(e);

	if (text)
		HASH_FIND_STR(s->announced.meanings, text, same);
	free(text);
	return same ? same->probe : NO_INDEX;
}

static void remember(struct capture_session *s, const struct announced_event *e, uint32_t probe)
{
	struct announced_meaning *meaning = calloc(1, sizeof(*meaning));
	char *text = meaning ? meaning_text(e) : NULL;

	if (!text) {
		free(meaning);
		return; /* the next one has a definition of its own */
	}
	meaning->probe = probe;
	meaning->text = text;
	HASH_ADD_KEYPTR(hh, s->announced.meanings, meaning->text, strlen(meaning->text), meaning);
	if (!meaning->hh.tbl) {
		free(text);
		free(meaning);
	}
}

void announced_free_meanings(struct capture_session *s)
{
	struct announced_meaning *meaning, *next;

	HASH_ITER (hh, s->announced.meanings, meaning, next) {
		HASH_DEL(s->announced.meanings, meaning);
		free(meaning->text);
		free(meaning);
	}
}

static uint32_t define(struct capture_session *s, const struct announced_event *e, uint32_t like,
		       const struct model_event *of, const char *model)
{
	uint32_t index = definitions_add_probe(s->d);
	const struct def_probe *f = &s->d->probes[like];
	struct def_probe *def;

	if (index == NO_INDEX)
		return index;
	def = &s->d->probes[index];
	f = &s->d->probes[like];
	def->number = e->key.id;
	def->model = copy_text(model);
	def->role = of ? of->role : ROLE_USER;
	def->marks = (f->marks & MARKS_ANNOUNCE) | (e->name && !of ? MARK_CREATES : 0);
	def->symbol = copy_text(f->symbol);
	def->aliases = copy_text(f->aliases);
	def->prototype = copy_text(e->format ?: of ? NULL : "");
	def->image = f->image;
	def->offset = f->offset;
	def->cost_ns = f->cost_ns;
	def->skipped_ns = f->skipped_ns;
	def->floor_ns = f->floor_ns;
	if (e->name)
		def->event = copy_text(e->name);
	else if (asprintf(&def->event, "user_event_%u", e->key.id) < 0)
		def->event = NULL;
	if (!def->event || describe_values(def, e))
		return NO_INDEX;
	remember(s, e, index);
	return index;
}

uint32_t announced_define(struct capture_session *s, const struct announced_event *e, uint32_t like,
			  const struct model_event *of, const char *model)
{
	uint32_t same = find_same(s, e);

	return same == NO_INDEX ? define(s, e, like, of, model) : same;
}
