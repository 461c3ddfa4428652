/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runtime.c - events of a runtime that its compiler announces: its model says which values follow.
 */
#include <errno.h>
#include <string.h>

#include "capture/announced/announced_private.h"
#include "meaning/value.h"
#include "util/text.h"

static const struct model_event *event_of_number(const struct model *m, uint32_t id)
{
	for (size_t k = 0; k < m->nevents; k++)
		if (m->tells ? m->events[k].has_told && m->events[k].told == id : m->events[k].number == id)
			return &m->events[k];
	return NULL;
}

const struct model_event *announced_runtime_event(const struct capture_session *s, const struct site *site, uint32_t id,
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

struct announced_event *announced_define_runtime(struct capture_session *s, uint32_t process, uint32_t id,
						 const struct model_event *of, const struct model *model,
						 const struct image *image, uint32_t like)
{
	struct announced_event *e = announced_find(s, process, id, OF_RUNTIME)
					    ?: announced_add(s, process, id, OF_RUNTIME);
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
	e->probe = announced_define(s, e, like, of, model->name);
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
