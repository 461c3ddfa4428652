/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced_define.c - what an announced event is: a definition of its own, as if a model had described it.
 *
 * A user event's name and format are the program's; its number may be shared by several processes, so each has its own
 * meaning in each. Those that say the same share one definition. What a program may have of them is bounded
 * (NUMBERS_MOST, NAMES_MOST): nothing is lost beyond that, but it is told as one. Where a number is none that the
 * program created, it may be that of an event of the runtime in the same file: then a compiler put the announcement in,
 * and the runtime's model says which values follow.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/announced/announced_private.h"
#include "meaning/value.h"
#include "util/array.h"
#include "util/log.h"
#include "util/text.h"

#define NUMBERS_MOST 4096 /* events of one process; those of further numbers are one event */
#define NAMES_MOST 8      /* of one number */
#define FURTHER "(further user events)"

/* struct announced_event: key.runtime */
enum { OF_PROGRAM, OF_RUNTIME, OF_FURTHER };

unsigned item_words(const struct item *item)
{
	if (item->skipped)
		return 0;
	switch (item->kind) {
	case ITEM_WORD:
	case ITEM_REAL:
		return 1;
	case ITEM_TEXT:
		return ANNOUNCED_TEXT / 8;
	case ITEM_SHARED:
		return 2;
	default:
		return 0;
	}
}

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
			.size = item->width == GB_U8 || item->width == GB_S8     ? 1
				: item->width == GB_U16 || item->width == GB_S16 ? 2
				: item->width == GB_U32 || item->width == GB_S32 ? 4
										 : 8,
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

/* like: the definition of the function that announced it. */
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

/* --- events ------------------------------------------------------------------------ */

static struct announced_event *find(struct capture_session *s, uint32_t process, uint32_t id, uint32_t runtime)
{
	struct announced_event *e;
	__typeof__(e->key) key = { .process = process, .id = id, .runtime = runtime };

	HASH_FIND(hh, s->announced.events, &key, sizeof(key), e);
	return e;
}

static struct announced_event *add(struct capture_session *s, uint32_t process, uint32_t id, uint32_t runtime)
{
	struct announced_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->names = 1;
	e->key.process = process;
	e->key.id = id;
	e->key.runtime = runtime;
	e->probe = NO_INDEX;
	HASH_ADD(hh, s->announced.events, key, sizeof(e->key), e);
	if (!e->hh.tbl) {
		free(e);
		return NULL;
	}
	return e;
}

/* Has the process as many events as it may have? */
static bool is_full(const struct capture_session *s, uint32_t process)
{
	return process < s->announced.numbers_room && s->announced.numbers[process] >= NUMBERS_MOST;
}

/* The program's event of this number, which is new. */
static struct announced_event *add_number(struct capture_session *s, uint32_t process, uint32_t id)
{
	struct announced_event *further;

	if (!is_full(s, process)) {
		if (array_reach(&s->announced.numbers, &s->announced.numbers_room, (size_t)process + 1,
				sizeof(*s->announced.numbers)))
			return NULL;
		s->announced.numbers[process]++;
		return add(s, process, id, OF_PROGRAM);
	}
	further = find(s, process, 0, OF_FURTHER);
	if (further)
		return further;
	log_info("process %u announces more than %d events: those of further numbers are told as one, \"%s\"",
		 s->d->processes[process].pid, NUMBERS_MOST, FURTHER);
	further = add(s, process, 0, OF_FURTHER);
	if (further)
		further->name = copy_text(FURTHER);
	return further;
}

static bool is_longer(const char *format, const char *known)
{
	return format && known && strlen(format) > strlen(known) && !strncmp(format, known, strlen(known));
}

/* Two names for one number (a dummy gives 0 to all): nobody can tell them apart any more. */
static void rename_event(struct announced_event *e, const char *name, const char *format)
{
	char *both;
	const char *at = e->name ? strstr(e->name, name) : NULL;
	size_t length = strlen(name);

	if (at && !strcmp(e->name, name) && is_longer(format, e->format)) {
		free(e->name);
		e->name = NULL; /* its format was cut when it came over the rings */
	} else if (at && (at == e->name || at[-1] == '|') && (!at[length] || at[length] == '|')) {
		return;
	}
	if (e->name && e->names > NAMES_MOST)
		return;
	if (e->name && asprintf(&both, "%s|%s", e->name, e->names < NAMES_MOST ? name : "...") >= 0) {
		free(e->name);
		e->name = both;
		e->names++;
	} else {
		e->name = copy_text(name);
	}
	if (!same_text(e->format, format)) {
		free(e->format);
		e->format = e->probe == NO_INDEX && e->name && !strchr(e->name, '|') ? copy_text(format) : NULL;
	}
	items_of_format(&e->items[0], e->format);
	e->items[1] = e->items[0];
	e->probe = NO_INDEX; /* what comes from now on is another definition */
	e->told = false;
}

void announced_name(struct capture_session *s, uint32_t process, uint32_t pid, uint32_t id, const char *name,
		    const char *format)
{
	struct announced_event *e = find(s, process, id, OF_PROGRAM) ?: add_number(s, process, id);

	if (!e || e->key.runtime == OF_FURTHER)
		return;
	rename_event(e, *name ? name : "(no name)", format);
	for (size_t i = 0; i < s->plan->nsites && !e->told; i++)
		if (s->plan->sites[i].function->marks & MARK_STARTS)
			announced_tell_kernel(s, e, pid, &s->plan->sites[i].captures[0].telling);
}

static const struct model_event *event_of_number(const struct model *m, uint32_t id)
{
	for (size_t k = 0; k < m->nevents; k++)
		if (m->tells ? m->events[k].has_told && m->events[k].told == id : m->events[k].number == id)
			return &m->events[k];
	return NULL;
}

/*
 * The event of this number that a runtime in the same file has; or, since its compiler announces functions of the
 * program, too (GASP 1.4 section 4), one of a model that describes C. Whether they take part or not: what is wanted is
 * asked by the event's name.
 */
static const struct model_event *runtime_event(const struct capture_session *s, const struct site *site, uint32_t id,
					       const struct model **model)
{
	const struct model_event *of = NULL;
	bool tells = true;

	for (size_t at = 0; !of && (*model = plan_model_in(s->plan, site->image, &at));) {
		of = event_of_number(*model, id);
		tells = (*model)->tells;
	}
	for (size_t i = 0; !of && !tells && i < models_count(s->plan->models); i++) {
		*model = models_at(s->plan->models, i);
		if ((*model)->alone && !(*model)->in_program && (*model)->nfunctions)
			of = event_of_number(*model, id);
	}
	return of;
}

/* The values that follow at START, or at END, by the model's list. */
static void items_of_list(struct items *items, const struct event_list *list)
{
	static const uint8_t widths[2][9] = {
		{ [1] = GB_U8, [2] = GB_U16, [4] = GB_U32, [8] = GB_U64 },
		{ [1] = GB_S8, [2] = GB_S16, [4] = GB_S32, [8] = GB_U64 },
	};

	*items = (struct items){ .count = 0 };
	for (size_t i = 0; i < list->count && items->count < ITEMS_MOST; i++) {
		const struct event_argument *a = &list->arguments[i];
		struct item *item = &items->item[items->count++];

		*item = (struct item){ .argument = a->kind, .type = a->type, .form = FORM_POINTER, .width = GB_U64 };
		snprintf(item->name, sizeof(item->name), "%s", a->name);
		if (a->kind == ARGUMENT_INT || a->kind == ARGUMENT_UINT) {
			item->form = a->kind == ARGUMENT_INT ? FORM_INT : FORM_UINT;
			item->width = a->size <= 8 ? widths[a->kind == ARGUMENT_INT][a->size] : GB_U64;
			if (!item->width)
				item->width = GB_U64;
		} else if (a->kind == ARGUMENT_TEXT) {
			item->kind = ITEM_TEXT;
			item->form = FORM_TEXT;
		} else if (a->kind == ARGUMENT_DOUBLE) {
			item->kind = ITEM_REAL;
			item->form = FORM_REAL;
		} else if (a->kind == ARGUMENT_SHARED) {
			item->kind = ITEM_SHARED;
			item->form = FORM_UINT;
		}
	}
	items->cut = items->count < list->count;
}

/* What an argument means that goes by this name in the runtime's own functions, as far as it is about how much is
 * moved. */
static void take_meaning(struct item *item, const struct capture *capture, bool any)
{
	for (size_t i = 0; i < capture->nvalues; i++) {
		const struct value *v = &capture->values[i];

		if ((v->meaning != MEANING_BYTES &&
		     (any || (v->meaning != MEANING_COUNT && v->meaning != MEANING_SIZE))) ||
		    v->at_return || v->constant || strcmp(v->name, item->name))
			continue;
		item->meaning = v->meaning;
		item->element = v->element;
	}
}

static bool has_function(const struct model *model, const char *event)
{
	for (size_t i = 0; i < model->nfunctions; i++)
		if (!strcmp(model->functions[i].event, event))
			return true;
	return false;
}

/* Where the runtime has no function for the event, its others tell what it calls a number of bytes. 0 or -ENOMEM. */
static int find_meanings(struct items *items, const struct model *model, const char *event)
{
	bool any = !has_function(model, event);

	for (size_t i = 0; i < model->nfunctions; i++) {
		const struct function *f = &model->functions[i];
		struct capture capture;

		if (!any && strcmp(f->event, event))
			continue;
		if (model_function_capture(f, NULL, &capture))
			return -ENOMEM;
		for (size_t k = 0; k < items->count; k++)
			if (items->item[k].kind == ITEM_WORD && !items->item[k].meaning)
				take_meaning(&items->item[k], &capture, any);
		capture_free(&capture);
	}
	return 0;
}

/* How the runtime in this file has its pointers-to-shared, as far as its own functions tell. */
static const char *runtime_decoder(const struct capture_session *s, const struct image *image,
				   const struct model *model)
{
	for (size_t i = 0; i < s->plan->nsites; i++) {
		const struct site *site = &s->plan->sites[i];

		if (site->image != image || site->function->model != model)
			continue;
		for (size_t k = 0; k < site->captures[0].nvalues; k++)
			if (decoder_words(site->captures[0].values[k].decoder))
				return site->captures[0].values[k].decoder;
	}
	return NULL;
}

static struct announced_event *define_runtime_event(struct capture_session *s, uint32_t process, uint32_t id,
						    const struct model_event *of, const struct model *model,
						    const struct image *image, uint32_t like)
{
	struct announced_event *e = find(s, process, id, OF_RUNTIME) ?: add(s, process, id, OF_RUNTIME);
	const struct event_list *start = &of->lists[EVENT_START], *end = &of->lists[EVENT_END],
				*atomic = &of->lists[EVENT_ATOMIC];

	if (!e)
		return e;
	e->name = copy_text(of->name);
	e->unwanted = !selection_has_event(s->plan->selection, of->name);
	if (e->unwanted)
		return e;
	e->decoder = runtime_decoder(s, image, model);
	items_of_list(&e->items[0], start->stated ? start : atomic);
	items_of_list(&e->items[1], end);
	if (find_meanings(&e->items[0], model, of->name))
		return NULL;
	e->probe = find_same(s, e);
	if (e->probe == NO_INDEX)
		e->probe = define(s, e, like, of, model->name);
	return e->probe == NO_INDEX ? NULL : e;
}

/* The function by which a compiler announces events in this image: it passes the place in the source, too. */
static const struct site *announcing(const struct capture_session *s, const struct image *image)
{
	const struct site *found = NULL;

	for (size_t i = 0; i < s->plan->nsites; i++) {
		const struct site *site = &s->plan->sites[i];
		const struct telling *telling = &site->captures[0].telling;

		if (site->image != image || !(site->function->marks & MARKS_ANNOUNCE) ||
		    telling->file == SLOT_NOWHERE || telling->list)
			continue;
		if (!found || site->function->marks & MARK_STARTS)
			found = site;
	}
	return found;
}

static bool follows_pointers(const struct announced_event *e)
{
	for (int end = 0; end < 2; end++)
		for (size_t i = 0; i < e->items[end].count; i++)
			if (e->items[end].item[i].kind == ITEM_SHARED || e->items[end].item[i].kind == ITEM_TEXT)
				return true;
	return false;
}

static void foretell_model(struct capture_session *s, const struct captured_process *p, const struct model *model,
			   const struct telling *telling)
{
	for (size_t i = 0; i < model->nevents; i++) {
		const struct model_event *of = &model->events[i];
		struct announced_event e = { .key = { .id = of->has_told ? of->told : of->number } };

		if (model->tells && !of->has_told)
			continue;
		items_of_list(&e.items[0], &of->lists[EVENT_START]);
		items_of_list(&e.items[1], &of->lists[EVENT_END]);
		if (follows_pointers(&e))
			announced_tell_kernel(s, &e, p->pid, telling);
	}
}

void announced_foretell(struct capture_session *s, struct captured_process *p)
{
	const struct image *done = NULL;

	for (size_t i = 0; i < s->plan->nsites; i++) {
		const struct image *image = s->plan->sites[i].image;
		const struct site *by;
		const struct model *model;

		if (image == done || !process_maps(p->process, image))
			continue;
		done = image;
		by = announcing(s, image);
		for (size_t at = 0; by && (model = plan_model_in(s->plan, image, &at));)
			foretell_model(s, p, model, &by->captures[0].telling);
	}
}

struct announced_event *announced_event(struct capture_session *s, const struct captured_thread *t, uint32_t id,
					const struct site *site, uint32_t like)
{
	uint32_t process = s->d->threads[t->index].process;
	struct announced_event *e = find(s, process, id, OF_PROGRAM);
	struct captured_process *p = e ? NULL : session_process(s, t->pid);
	const struct model_event *of;
	const struct model *model = NULL;

	if (e && e->probe != NO_INDEX)
		return e;
	if (!e) {
		struct announced_event *known = find(s, process, id, OF_RUNTIME);

		if (known && (known->probe != NO_INDEX || known->unwanted))
			return known;
		announced_look_ahead(s);
		e = find(s, process, id, OF_PROGRAM);
	}
	if (!e && p) {
		announced_read_table_again(s, p);
		e = find(s, process, id, OF_PROGRAM);
	}
	if (!e && is_full(s, process)) {
		e = add_number(s, process, id);
		if (e && e->probe != NO_INDEX)
			return e;
	}
	if (!e) {
		of = runtime_event(s, site, id, &model);
		if (of)
			return define_runtime_event(s, process, id, of, model, site->image, like);
		e = add_number(s, process, id);
	}
	if (e)
		e->probe = find_same(s, e);
	if (e && e->probe == NO_INDEX)
		e->probe = define(s, e, like, NULL, "user");
	return e && e->probe != NO_INDEX ? e : NULL;
}
