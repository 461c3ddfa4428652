/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * define.c - files and probes: what spans refer to that is no process and no thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "meaning/value.h"
#include "util/text.h"

/* --- images ------------------------------------------------------------ */

static struct known_image *add_known(struct capture_session *s, struct known_image image)
{
	struct known_image *grown = realloc(s->images, (s->nimages + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	s->images = grown;
	grown[s->nimages] = image;
	return &grown[s->nimages++];
}

uint32_t session_define_image(struct capture_session *s, const struct image *image)
{
	uint32_t index = definitions_add_image(s->d);

	if (index == NO_INDEX)
		return index;
	s->d->images[index].path = copy_text(image->path);
	s->d->images[index].soname = copy_text(image->soname);
	s->d->images[index].build_id = copy_text(image->build_id);
	return index;
}

static struct known_image *known_image(struct capture_session *s, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < s->nimages; i++)
		if (s->images[i].inode == inode && s->images[i].device == device)
			return &s->images[i];
	return NULL;
}

/* The file behind a mapping, opened while the process still offers it. */
struct known_image *session_image(struct capture_session *s, struct process *process, const struct mapping *mapping)
{
	struct known_image *known = known_image(s, mapping->device, mapping->inode);
	struct known_image fresh = { .device = mapping->device, .inode = mapping->inode, .index = NO_INDEX };

	if (known)
		return known;
	fresh.image = plan_image(s->plan, mapping->device, mapping->inode);
	if (!fresh.image) {
		fresh.owned = true;
		if (image_open_mapped(&fresh.image, process, mapping))
			fresh.image = NULL;
	}
	return add_known(s, fresh);
}

void capture_forget_image(struct capture_session *s, const struct image *image)
{
	for (size_t i = 0; i < s->nimages; i++)
		if (s->images[i].image == image)
			s->images[i].device = s->images[i].inode = 0;
}

/* --- probes ------------------------------------------------------------ */

static int copy_values(struct def_probe *def, const struct capture *capture)
{
	def->values = calloc(capture->nvalues + 1, sizeof(*def->values));
	if (!def->values)
		return -ENOMEM;
	for (size_t i = 0; i < capture->nvalues; i++) {
		struct value *v = &def->values[def->nvalues++];

		*v = capture->values[i];
		v->decoder = NULL;
		if (text_copy(&v->name, capture->values[i].name) || text_copy(&v->decoder, capture->values[i].decoder))
			return -ENOMEM;
	}
	return 0;
}

static int define_probe(struct capture_session *s, const struct site *site, size_t meaning, uint32_t image)
{
	const struct function *f = &site->function[meaning];
	uint32_t index = definitions_add_probe(s->d);
	struct def_probe *def;

	if (index == NO_INDEX)
		return -ENOMEM;
	def = &s->d->probes[index];
	def->number = f->number;
	def->role = f->role;
	def->marks = f->marks | (site->own_stacks ? MARK_STACKED : 0);
	def->image = image;
	def->offset = site->offset;
	def->cost_ns = site_cost(site, s->d->run.cost_ns);
	def->skipped_ns = site_cost(site, s->d->run.skipped_ns);
	def->floor_ns = site_cost(site, s->d->run.floor_ns);
	if (text_copy(&def->event, f->event) || text_copy(&def->model, f->model->name) ||
	    text_copy(&def->symbol, f->symbol) || text_copy(&def->aliases, site->aliases) ||
	    text_copy(&def->prototype, site->signature ?: f->prototype) || text_copy(&def->op, f->op))
		return -ENOMEM;
	return copy_values(def, &site->captures[meaning]) ?: define_arguments(def, f);
}

static int define_site_probes(struct capture_session *s, const struct site *site)
{
	struct known_image *known = known_image(s, site->image->device, site->image->inode);

	if (!known)
		known = add_known(s, (struct known_image){ .device = site->image->device,
							   .inode = site->image->inode,
							   .image = site->image,
							   .index = NO_INDEX });
	if (!known)
		return -ENOMEM;
	if (known->index == NO_INDEX)
		known->index = session_define_image(s, site->image);
	s->first_probe[site->id] = s->d->nprobes;
	s->any_probe[site->id] = NO_INDEX;
	s->prices[site->id] = site_price(s->kernel, site);
	if (session_define_unseen(s, site->function->model))
		return -ENOMEM;
	for (size_t k = 0; k < site->nfunctions; k++) {
		int err = define_probe(s, site, k, known->index);

		if (err)
			return err;
	}
	return 0;
}

static int grow(void *array, size_t count, size_t size)
{
	void **data = array, *grown = realloc(*data, count * size);

	if (!grown)
		return -ENOMEM;
	*data = grown;
	return 0;
}

int capture_define_probes(struct capture_session *s)
{
	size_t room = s->plan->nsites + 1;

	if (grow(&s->first_probe, room, sizeof(*s->first_probe)) || grow(&s->any_probe, room, sizeof(*s->any_probe)) ||
	    grow(&s->prices, room, sizeof(*s->prices)))
		return -ENOMEM;
	for (; s->nfirst < s->plan->nsites; s->nfirst++) {
		int err = define_site_probes(s, &s->plan->sites[s->nfirst]);

		if (!err)
			err = session_comm_site(s, &s->plan->sites[s->nfirst]);
		if (err)
			return err;
	}
	return 0;
}

uint32_t session_probe(struct capture_session *s, const struct gb_span *raw)
{
	const struct site *site;

	if (raw->probe >= s->nfirst)
		return NO_INDEX;
	site = &s->plan->sites[raw->probe];
	for (size_t k = 0; k < site->nfunctions; k++) {
		const struct function *f = &site->function[k];
		struct value_reading reading;

		if (!f->has_only) /* its only meaning; not wanted where it is observed for something else */
			return site->captures[k].unwanted ? NO_INDEX : s->first_probe[raw->probe] + k;
		reading = value_read(&site->captures[k].only, raw->value, raw->values, raw->unread,
				     raw->reason == GB_END_RETURN);
		if (reading.known && (reading.number == f->only_number) != f->only_negated)
			return site->captures[k].unwanted ? NO_INDEX : s->first_probe[raw->probe] + k;
	}
	return NO_INDEX;
}

static bool has_event(const struct site *site, size_t count, const char *event)
{
	for (size_t k = 0; k < count; k++)
		if (!strcmp(site->function[k].event, event))
			return true;
	return false;
}

/* "A|B": the event of a call that may be each of them. */
static char *any_event(const struct site *site)
{
	char *text = NULL, *longer;

	for (size_t k = 0; k < site->nfunctions; k++) {
		const char *event = site->function[k].event;

		if (has_event(site, k, event))
			continue;
		if (asprintf(&longer, "%s%s%s", text ?: "", text ? "|" : "", event) < 0)
			longer = NULL;
		free(text);
		text = longer;
		if (!text)
			return NULL;
	}
	return text;
}

static uint32_t define_any_probe(struct capture_session *s, const struct site *site)
{
	uint32_t index = definitions_add_probe(s->d);
	struct def_probe *def, first;

	if (index == NO_INDEX)
		return index;
	def = &s->d->probes[index];
	first = s->d->probes[s->first_probe[site->id]];
	*def = first; /* but for what it owns */
	def->model = def->symbol = def->aliases = def->prototype = def->op = NULL;
	def->values = NULL;
	def->nvalues = 0;
	def->arguments = NULL;
	def->narguments = 0;
	def->lists = 0;
	def->event = any_event(site);
	if (!def->event || text_copy(&def->model, first.model) || text_copy(&def->symbol, first.symbol) ||
	    text_copy(&def->aliases, first.aliases) || text_copy(&def->prototype, first.prototype))
		return NO_INDEX;
	return index;
}

uint32_t session_any_probe(struct capture_session *s, uint32_t id)
{
	const struct site *site = &s->plan->sites[id];

	if (site->nfunctions == 1)
		return s->first_probe[id];
	if (s->any_probe[id] == NO_INDEX)
		s->any_probe[id] = define_any_probe(s, site);
	return s->any_probe[id];
}

uint32_t session_define_inner(struct capture_session *s, uint32_t id, uint32_t probe)
{
	const struct site *site = &s->plan->sites[id];
	uint32_t meaning = probe - s->first_probe[id], index = s->d->nprobes;

	if (meaning >= site->nfunctions)
		index = define_any_probe(s, site);
	else if (define_probe(s, site, meaning, s->d->probes[probe].image))
		index = NO_INDEX;
	if (index == NO_INDEX)
		return index;
	s->d->probes[index].marks |= MARK_INNER;
	return index;
}

/* --- the end ------------------------------------------------------------ */

void session_free_definitions(struct capture_session *s)
{
	struct site_record *r, *after;

	session_free_threads(s);
	session_free_processes(s);
	HASH_ITER (hh, s->sites, r, after) {
		HASH_DEL(s->sites, r);
		free(r);
	}
	for (size_t i = 0; i < s->nimages; i++)
		if (s->images[i].owned)
			image_close(s->images[i].image);
	free(s->images);
	free(s->frames);
	free(s->callers);
	free(s->twins);
	free(s->first_probe);
	free(s->any_probe);
	free(s->prices);
	session_free_sums(s);
	session_free_texts(s);
}
