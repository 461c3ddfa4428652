/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes.c - the definitions of the plan's sites, and which of them a call is an event of.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "meaning/value.h"
#include "util/text.h"

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
	const struct known_image *known = session_image_of_site(s, site);

	if (!known)
		return -ENOMEM;
	s->probes.first[site->id] = s->d->nprobes;
	s->probes.any[site->id] = NO_INDEX;
	session_set_price(s, site);
	if (session_define_unseen(s, site->function->model))
		return -ENOMEM;
	for (size_t k = 0; k < site->nfunctions; k++) {
		int err = define_probe(s, site, k, known->index);

		if (err)
			return err;
	}
	return 0;
}

static int grow(uint32_t **array, size_t count)
{
	uint32_t *grown = realloc(*array, count * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*array = grown;
	return 0;
}

int capture_define_probes(struct capture_session *s)
{
	size_t room = s->plan->nsites + 1;

	if (grow(&s->probes.first, room) || grow(&s->probes.any, room) || session_fit_prices(s, room))
		return -ENOMEM;
	for (; s->probes.count < s->plan->nsites; s->probes.count++) {
		int err = define_site_probes(s, &s->plan->sites[s->probes.count]);

		if (!err)
			err = session_comm_site(s, &s->plan->sites[s->probes.count]);
		if (err)
			return err;
	}
	return 0;
}

uint32_t session_probe(struct capture_session *s, const struct gb_span *raw)
{
	const struct site *site;

	if (raw->probe >= s->probes.count)
		return NO_INDEX;
	site = &s->plan->sites[raw->probe];
	for (size_t k = 0; k < site->nfunctions; k++) {
		const struct function *f = &site->function[k];
		struct value_reading reading;

		if (!f->has_only) /* its only meaning; not wanted where it is observed for something else */
			return site->captures[k].unwanted ? NO_INDEX : s->probes.first[raw->probe] + k;
		reading = value_read(&site->captures[k].only, raw->value, raw->values, raw->unread,
				     raw->reason == GB_END_RETURN);
		if (reading.known && (reading.number == f->only_number) != f->only_negated)
			return site->captures[k].unwanted ? NO_INDEX : s->probes.first[raw->probe] + k;
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
	first = s->d->probes[s->probes.first[site->id]];
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
		return s->probes.first[id];
	if (s->probes.any[id] == NO_INDEX)
		s->probes.any[id] = define_any_probe(s, site);
	return s->probes.any[id];
}

uint32_t session_define_inner(struct capture_session *s, uint32_t id, uint32_t probe)
{
	const struct site *site = &s->plan->sites[id];
	uint32_t meaning = probe - s->probes.first[id], index = s->d->nprobes;

	if (meaning >= site->nfunctions)
		index = define_any_probe(s, site);
	else if (define_probe(s, site, meaning, s->d->probes[probe].image))
		index = NO_INDEX;
	if (index == NO_INDEX)
		return index;
	s->d->probes[index].marks |= MARK_INNER;
	return index;
}

void session_free_probes(struct capture_session *s)
{
	free(s->probes.first);
	free(s->probes.any);
}
