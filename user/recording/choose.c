/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.c - which calls of a recording are handed on.
 *
 * read_spans.c asks for each span. The late ones, whose starts are told before they are read, are chosen here.
 */
#include <errno.h>
#include <string.h>

#include "recording/reader.h"

static void choose_late(struct recording *r)
{
	struct late_store *late = &r->late;
	size_t kept = 0;

	for (size_t i = 0; i < late->count; i++) {
		const struct late_span *span = &late->spans[late->order[i]];

		if (reader_leaves_out(r, span->thread, span->start, span->end))
			continue;
		late->order[kept] = late->order[i];
		late->starts[kept++] = late->starts[i];
	}
	late->count = kept;
}

void recording_choose(struct recording *r, const struct recording_choice *choice)
{
	r->choice = *choice;
	r->some_left_out = true;
	choose_late(r);
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
	choose_late(r);
	return 0;
}

uint64_t recording_left_out(const struct recording *r)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->nplaces; i++)
		count += r->places[i].left_out;
	return count;
}
