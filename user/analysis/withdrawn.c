/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * withdrawn.c - what the report says of models that were observed only until a process loaded a parallel runtime, so
 * that nobody takes their counts for those of the whole run.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "util/json.h"
#include "util/log.h"

/* The end of what could have been seen of the process. */
static uint64_t end_of(const struct report *r, uint32_t process)
{
	const struct def_process *def = &r->d->processes[process];

	return def->has_exit && def->end < r->end ? def->end : r->end;
}

static bool is_told(const struct report *r, const struct def_window *w)
{
	return w->runtime && !r->d->processes[w->process].left_out;
}

static bool same(const struct def_window *a, const struct def_window *b)
{
	return a->from == b->from && a->loader == b->loader && !strcmp(a->models ?: "", b->models ?: "") &&
	       !strcmp(a->runtime, b->runtime);
}

/* Is the model one of "c, pthread"? */
static bool names(const char *models, const char *model)
{
	size_t length = strlen(model);

	for (const char *at = models; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 2 : NULL)
		if (!strncmp(at, model, length) && (!at[length] || at[length] == ','))
			return true;
	return false;
}

void report_find_withdrawn(struct report *r)
{
	for (size_t i = 0; i < r->d->nwindows; i++) {
		const struct def_window *w = &r->d->windows[i];
		uint64_t end = is_told(r, w) ? end_of(r, w->process) : 0;

		for (size_t e = 0; e < r->profile->nevents && w->from < end; e++) {
			struct report_event *event = &r->events[e];
			uint32_t probe = r->profile->events[event->event].probe;

			if (!names(w->models, r->d->probes[probe].model))
				continue;
			r->outs = event->withdrawn = true;
			if (end - w->from > event->out)
				event->out = end - w->from;
		}
	}
}

/* Once for all processes of which the same is to be said. */
static void tell(const struct printer *p, size_t first)
{
	const struct definitions *d = p->r->d;
	const struct def_window *w = &d->windows[first];
	struct paragraph to = printer_item(p, "-");
	char at[FORMAT_SIZE], label[LABEL_ROOM];
	size_t count = 0;

	for (size_t i = first; i < d->nwindows; i++)
		count += is_told(p->r, &d->windows[i]) && same(&d->windows[i], w);
	paragraph_words(&to, "%s: seen only", log_safe(w->models ?: "?"));
	paragraph_words(&to, "until %s, in", format_time(at, w->from > d->run.start ? w->from - d->run.start : 0));
	if (count == 1)
		paragraph_words(&to, "%s:", process_label(d, w->process, label, sizeof(label)));
	else
		paragraph_words(&to, "%zu processes:", count);
	if (w->loader == NO_INDEX)
		paragraph_words(&to, "then a process");
	else
		paragraph_words(&to, "then %s", process_label(d, w->loader, label, sizeof(label)));
	paragraph_words(&to, "loaded a parallel runtime (%s).", log_safe(w->runtime));
	paragraph_words(&to, "Calls from then on are in no figure: these are observed only where there is no such "
			     "runtime, or with -m +MODEL.");
	paragraph_end(&to);
}

static void print_withdrawn(void *state, const struct printer *p)
{
	const struct definitions *d = p->r->d;
	bool said = false;

	for (size_t i = 0; i < d->nwindows; i++) {
		bool is_first = is_told(p->r, &d->windows[i]);

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !is_told(p->r, &d->windows[k]) || !same(&d->windows[k], &d->windows[i]);
		if (!is_first)
			continue;
		if (!said)
			printer_heading(p, "");
		said = true;
		tell(p, i);
	}
}

static void put_process(struct json *j, const struct definitions *d, uint32_t process, const char *pid,
			const char *rank)
{
	if (process == NO_INDEX)
		return;
	json_key_uint(j, pid, d->processes[process].pid);
	if (d->processes[process].rank >= 0)
		json_key_int(j, rank, d->processes[process].rank);
}

static void put_withdrawn(void *state, const struct report *r, struct json *j)
{
	const struct definitions *d = r->d;

	json_array(j);
	for (size_t i = 0; i < d->nwindows; i++) {
		const struct def_window *w = &d->windows[i];

		if (!is_told(r, w))
			continue;
		json_object(j);
		put_process(j, d, w->process, "pid", "rank");
		json_key_string(j, "models", w->models);
		json_key_uint(j, "until_ns", w->from);
		json_key_string(j, "runtime", w->runtime);
		put_process(j, d, w->loader, "loader_pid", "loader_rank");
		json_end_object(j);
	}
	json_end_array(j);
}

const struct analysis analysis_withdrawn = {
	.name = "withdrawn",
	.title = "Not seen to the end",
	.print = print_withdrawn,
	.json = put_withdrawn,
};
