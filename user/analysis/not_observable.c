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
	return a->library == b->library && a->partly == b->partly && !strcmp(a->why, b->why) &&
	       !strcmp(a->model, b->model);
}

static bool is_first(const struct definitions *d, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_reason(&d->unseen[i], &d->unseen[index]))
			return false;
	return true;
}

static void print_not_observable(void *state, const struct printer *p)
{
	const struct definitions *d = p->r->d;

	if (d->nunseen)
		printer_heading(p, "");
	for (size_t i = 0; i < d->nunseen; i++) {
		const char *comma = "";

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
			fprintf(p->out, " (%s)", log_safe(d->unseen[i].model));
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
		json_key_string(j, "library", d->unseen[i].library ? d->unseen[i].event : NULL);
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
