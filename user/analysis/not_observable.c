/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * not_observable.c - what the report says of events that nobody could have seen, so that no calls is not taken for none
 * made.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <string.h>

#include "util/json.h"
#include "util/log.h"

static bool same_reason(const struct def_unseen *a, const struct def_unseen *b)
{
	return a->library == b->library && a->inside == b->inside && a->partly == b->partly &&
	       !strcmp(a->why, b->why) && !strcmp(a->model, b->model);
}

static bool is_first(const struct definitions *d, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_reason(&d->unseen[i], &d->unseen[index]))
			return false;
	return true;
}

/* Was any function of the runtime called? Always of one that no model describes: nobody knows. */
static bool was_called(const struct report *r, const struct def_unseen *unseen)
{
	for (size_t i = 0; i < r->nevents && !unseen->library; i++) {
		const struct event_state *event = &r->profile->events[r->events[i].event];

		if (r->events[i].tally.calls && !strcmp(r->d->probes[event->probe].model, unseen->model))
			return true;
	}
	return unseen->library;
}

static bool is_first_of_model(const struct definitions *d, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!d->unseen[i].library && !strcmp(d->unseen[i].model, d->unseen[index].model))
			return false;
	return true;
}

/* In one line: of what the run did not use not much needs to be said. */
static void tell_uncalled(struct paragraph *to, const struct definitions *d, size_t first)
{
	size_t count = 0;

	for (size_t i = first; i < d->nunseen; i++)
		count += !d->unseen[i].library && !strcmp(d->unseen[i].model, d->unseen[first].model);
	paragraph_words(to, "%s: nothing of it was called; of %zu of its events no call can be seen, or not every one",
			log_safe(d->unseen[first].model), count);
}

/* All events with the reason of this one. */
static void tell_reason(struct paragraph *to, const struct definitions *d, size_t first)
{
	size_t last = first;

	for (size_t i = first; i < d->nunseen; i++)
		last = same_reason(&d->unseen[first], &d->unseen[i]) ? i : last;
	for (size_t i = first; i <= last; i++)
		if (same_reason(&d->unseen[first], &d->unseen[i]))
			paragraph_piece(to, log_safe(d->unseen[i].event),
					i < last                  ? ","
					: d->unseen[first].partly ? ""
								  : ":");
	paragraph_words(to, "%s%s", d->unseen[first].partly ? "(in part: what is counted is a lower bound): " : "",
			log_safe(d->unseen[first].why));
}

/* A runtime that no model sees is a finding, and said there. */
static void print_not_observable(void *state, const struct printer *p)
{
	const struct definitions *d = p->r->d;
	bool said = false;

	for (size_t i = 0; i < d->nunseen; i++) {
		bool called = was_called(p->r, &d->unseen[i]);
		struct paragraph paragraph;

		if (d->unseen[i].library || !(called ? is_first(d, i) : is_first_of_model(d, i)))
			continue;
		if (!said)
			printer_heading(p, "");
		said = true;
		paragraph = printer_item(p, "-");
		if (called)
			tell_reason(&paragraph, d, i);
		else
			tell_uncalled(&paragraph, d, i);
		paragraph_end(&paragraph);
	}
}

static void put_not_observable(void *state, const struct report *r, struct json *j)
{
	const struct definitions *d = r->d;

	json_array(j);
	for (size_t i = 0; i < d->nunseen; i++) {
		json_object(j);
		json_key_string(j, "event", d->unseen[i].library ? NULL : d->unseen[i].event);
		json_key_string(j, "library", d->unseen[i].library && !d->unseen[i].inside ? d->unseen[i].event : NULL);
		json_key_string(j, "program", d->unseen[i].inside ? d->unseen[i].event : NULL);
		json_key_string(j, "model", d->unseen[i].library ? NULL : d->unseen[i].model);
		json_key_string(j, "runtime", d->unseen[i].library ? d->unseen[i].model : NULL);
		json_key_bool(j, "partly", d->unseen[i].partly);
		json_key_string(j, "why", d->unseen[i].why);
		json_end_object(j);
	}
	json_end_array(j);
}

const struct analysis analysis_not_observable = {
	.name = "not_observable",
	.title = "Not observable here",
	.print = print_not_observable,
	.json = put_not_observable,
};
