/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unseen_events.c - what a model says that cannot be seen of its runtime, and libraries of runtimes without a model,
 * become a part of the recording.
 */
#include <errno.h>
#include <string.h>

#include "capture/session.h"
#include "util/files.h"

static int define(struct capture_session *s, const struct def_unseen *what)
{
	uint32_t index = definitions_add_unseen(s->d);
	struct def_unseen *unseen;

	if (index == NO_INDEX)
		return -ENOMEM;
	unseen = &s->d->unseen[index];
	*unseen = (struct def_unseen){ .event = strdup(what->event),
				       .model = strdup(what->model),
				       .why = strdup(what->why),
				       .partly = what->partly,
				       .library = what->library };
	return unseen->event && unseen->model && unseen->why ? 0 : -ENOMEM;
}

int session_define_unseen(struct capture_session *s, const struct model *model)
{
	for (size_t i = 0; i < s->d->nunseen; i++)
		if (!strcmp(s->d->unseen[i].model, model->name))
			return 0;
	for (size_t i = 0; i < model->nunseen; i++) {
		const struct unseen *unseen = &model->unseen[i];

		if (define(s, &(struct def_unseen){ .event = (char *)unseen->event,
						    .model = model->name,
						    .why = (char *)unseen->why,
						    .partly = unseen->partly }))
			return -ENOMEM;
	}
	return 0;
}

static bool is_defined(const struct definitions *d, const char *library)
{
	for (size_t i = 0; i < d->nunseen; i++)
		if (d->unseen[i].library && !strcmp(d->unseen[i].event, library))
			return true;
	return false;
}

int session_define_unmodelled(struct capture_session *s, const struct process *process)
{
	for (size_t i = 0; process && i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		const char *name = mapping->executable && mapping->path ? path_base(mapping->path) : NULL;
		const char *what = name ? models_unmodelled(s->plan->models, NULL, name) : NULL;

		if (what && !is_defined(s->d, name) &&
		    define(s, &(struct def_unseen){ .event = (char *)name,
						    .model = (char *)what,
						    .why = "gaspbpf has no model for it",
						    .library = true }))
			return -ENOMEM;
	}
	return 0;
}
