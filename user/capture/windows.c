/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows.c - times in which calls of a process were not seen, since its probes were not in yet, become a part of the
 * recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"

#define WINDOWS_MOST 4096 /* of one run; the account at its end has all of them */

/* "mpi, openmp": the models with functions in this file. */
static char *models_of(const struct plan *plan, const struct image *image)
{
	char *text = NULL, *longer;

	for (size_t i = 0; i < plan->nsites; i++) {
		const char *name = plan->sites[i].function->model->name;
		bool there = plan->sites[i].image != image;

		for (size_t k = 0; k < i && !there; k++)
			there = plan->sites[k].image == image && !strcmp(plan->sites[k].function->model->name, name);
		if (there)
			continue;
		if (asprintf(&longer, "%s%s%s", text ?: "", text ? ", " : "", name) < 0)
			break;
		free(text);
		text = longer;
	}
	return text;
}

int capture_add_window(struct capture_session *s, pid_t pid, const struct image *image, uint64_t from, uint64_t to,
		       const char *after)
{
	const struct captured_process *p = session_process(s, pid);
	struct def_window *window;
	uint32_t index = p && s->d->nwindows < WINDOWS_MOST ? definitions_add_window(s->d) : NO_INDEX;

	if (index == NO_INDEX)
		return -ENOMEM;
	window = &s->d->windows[index];
	*window = (struct def_window){ .process = p->index, .from = from, .to = to, .after = strdup(after) };
	if (image) {
		window->models = models_of(s->plan, image);
		window->file = strdup(image->path);
	}
	return 0;
}

void capture_add_window_of_all(struct capture_session *s, uint64_t from, uint64_t to, const char *after)
{
	for (const struct captured_process *p = s->processes.table; p; p = p->hh.next)
		if (!p->ended && p->born < to)
			capture_add_window(s, p->pid, NULL,
					   p->born > from           ? p->born
					   : from > s->d->run.start ? from
								    : s->d->run.start,
					   to, after);
}
