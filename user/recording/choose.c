/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.c - which calls of a recording are handed on.
 *
 * read_spans.c asks for each span. The late ones, whose starts are told before they are read, are chosen here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/reader.h"

/* Those of the late spans that are handed on, as late_sort() has left all of them. 0 or -ENOMEM. */
static int choose_late(struct recording *r)
{
	struct late_store *late = &r->late;
	size_t kept = 0, count = late->count;
	uint32_t *order = late->order;
	struct late_start *starts = late->starts;

	if (!r->whole.order) { /* recording_whole() has them all */
		order = malloc((count + 1) * sizeof(*order));
		starts = malloc((count + 1) * sizeof(*starts));
		if (!order || !starts) {
			free(order);
			free(starts);
			return -ENOMEM;
		}
		r->whole = *late;
	}
	for (size_t i = 0; i < count; i++) {
		const struct late_span *span = &late->spans[late->order[i]];

		if (reader_leaves_out(r, span->thread, span->start, span->end))
			continue;
		order[kept] = late->order[i];
		starts[kept++] = late->starts[i];
	}
	late->order = order;
	late->starts = starts;
	late->count = kept;
	return 0;
}

int recording_choose(struct recording *r, const struct recording_choice *choice)
{
	r->choice = *choice;
	r->some_left_out = true;
	return choose_late(r);
}

int recording_leave_out(struct recording *r, uint32_t process)
{
	struct def_process *def = &r->d.processes[process];

	if (def->left_out)
		return 0;
	def->left_out = strdup(LEFT_OUT_CHOICE);
	if (!def->left_out)
		return -ENOMEM;
	r->some_left_out = true;
	return choose_late(r);
}

void recording_chosen_time(const struct recording *r, uint64_t *from, uint64_t *to)
{
	*from = r->choice.from;
	*to = r->choice.to;
}

bool recording_has_chosen(const struct recording *r, uint32_t thread, uint64_t start, uint64_t end)
{
	return !reader_leaves_out(r, thread, start, end);
}

uint64_t recording_left_out(const struct recording *r)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->nplaces; i++)
		count += r->places[i].left_out;
	return count;
}

/* The definitions, with the processes that were left out by choice. NULL: out of memory. */
static struct definitions *whole_definitions(const struct recording *r)
{
	struct definitions *d = malloc(sizeof(*d));

	if (!d)
		return NULL;
	*d = r->d;
	d->processes = malloc((d->nprocesses + 1) * sizeof(*d->processes));
	if (!d->processes) {
		free(d);
		return NULL;
	}
	memcpy(d->processes, r->d.processes, d->nprocesses * sizeof(*d->processes));
	for (size_t i = 0; i < d->nprocesses; i++)
		if (d->processes[i].left_out && !strcmp(d->processes[i].left_out, LEFT_OUT_CHOICE))
			d->processes[i].left_out = NULL;
	return d;
}

struct recording *recording_whole(struct recording *r)
{
	struct recording *whole = recording_again(r);

	if (!whole || !r->whole.order)
		return whole;
	whole->own = whole_definitions(r);
	if (!whole->own) {
		recording_close(whole);
		return NULL;
	}
	whole->choice = RECORDING_ALL;
	whole->late = r->whole;
	for (size_t i = 0; i < whole->nplaces; i++)
		whole->places[i].floor_known = false;
	return whole;
}

void reader_free_choice(struct recording *r)
{
	if (r->own)
		free(r->own->processes);
	free(r->own);
	if (r->of)
		return;
	free(r->whole.order);
	free(r->whole.starts);
}
