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

/* In one line: of what the run did not use not much needs to be said. */
static void print_uncalled(const struct printer *p, size_t first)
{
	const struct definitions *d = p->r->d;
	size_t count = 0;

	for (size_t i = 0; i < d->nunseen; i++) {
		if (d->unseen[i].library || strcmp(d->unseen[i].model, d->unseen[first].model))
			continue;
		if (i < first)
			return;
		count++;
	}
	fprintf(p->out, "- %s: nothing of it was called; of %zu of its events no call can be seen, or not every one\n",
		log_safe(d->unseen[first].model), count);
}

static void print_not_observable(void *state, const struct printer *p)
{
	const struct definitions *d = p->r->d;

	if (d->nunseen)
		printer_heading(p, "");
	for (size_t i = 0; i < d->nunseen; i++) {
		const char *comma = "";

		if (!was_called(p->r, &d->unseen[i])) {
			print_uncalled(p, i);
			continue;
		}
		if (!is_first(d, i))
			continue;
		fputs("- ", p->out);
		for (size_t k = i; k < d->nunseen; k++) {
			if (!same_reason(&d->unseen[i], &d->unseen[k]))
				continue;
			fprintf(p->out, "%s%s", comma, log_safe(d->unseen[k].event));
			comma = ", ";
		}
		if (d->unseen[i].library)
			fprintf(p->out, " (%s%s)", log_safe(d->unseen[i].model), d->unseen[i].inside ? " inside" : "");
		fprintf(p->out, "%s: ", d->unseen[i].partly ? " (in part: what is counted is a lower bound)" : "");
		fprintf(p->out, "%s\n", log_safe(d->unseen[i].why));
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
