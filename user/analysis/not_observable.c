/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * not_observable.c - what the report says of events that nobody could have seen, so that no calls is not taken for none
 * made.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

/* In one line: of what the run did not use not much needs to be said. */
static void tell_uncalled(FILE *out, const struct definitions *d, size_t first)
{
	size_t count = 0;

	for (size_t i = 0; i < d->nunseen; i++) {
		if (d->unseen[i].library || strcmp(d->unseen[i].model, d->unseen[first].model))
			continue;
		if (i < first)
			return;
		count++;
	}
	fprintf(out, "%s: nothing of it was called; of %zu of its events no call can be seen, or not every one",
		log_safe(d->unseen[first].model), count);
}

/* All events with the reason of this one. */
static void tell_reason(FILE *out, const struct definitions *d, size_t first)
{
	const char *comma = "";

	if (!is_first(d, first))
		return;
	for (size_t i = first; i < d->nunseen; i++) {
		if (!same_reason(&d->unseen[first], &d->unseen[i]))
			continue;
		fprintf(out, "%s%s", comma, log_safe(d->unseen[i].event));
		comma = ", ";
	}
	fprintf(out, "%s: %s", d->unseen[first].partly ? " (in part: what is counted is a lower bound)" : "",
		log_safe(d->unseen[first].why));
}

/* A runtime that no model sees is a finding, and said there. */
static void print_not_observable(void *state, const struct printer *p)
{
	const struct definitions *d = p->r->d;
	bool said = false;

	for (size_t i = 0; i < d->nunseen; i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out;

		if (d->unseen[i].library)
			continue;
		out = open_memstream(&text, &size);
		if (!out) {
			*p->error = -ENOMEM;
			return;
		}
		if (was_called(p->r, &d->unseen[i]))
			tell_reason(out, d, i);
		else
			tell_uncalled(out, d, i);
		if (fclose(out))
			*p->error = -ENOMEM;
		if (!*p->error && size && !said)
			printer_heading(p, "");
		if (!*p->error && size)
			printer_paragraph(p, "- ", text);
		said |= size > 0;
		free(text);
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
