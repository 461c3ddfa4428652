/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unseen_events.c - what a model says that cannot be seen of its runtime, libraries of runtimes without a model, and
 * runtimes inside a program that has no names become a part of the recording.
 */
#include <errno.h>
#include <stdlib.h>
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
				       .library = what->library,
				       .inside = what->inside };
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

/* runtime NULL: it is a library. */
static bool is_defined(const struct definitions *d, const char *file, const char *runtime)
{
	for (size_t i = 0; i < d->nunseen; i++)
		if (d->unseen[i].library && d->unseen[i].inside == !!runtime && !strcmp(d->unseen[i].event, file) &&
		    (!runtime || !strcmp(d->unseen[i].model, runtime)))
			return true;
	return false;
}

static int define_library(struct capture_session *s, const struct image *image, struct image *const *images,
			  size_t count)
{
	const char *name = path_base(image->path), *what;

	if (is_defined(s->d, name, NULL))
		return 0;
	what = images_unmodelled(s->plan->models, images, count, image);
	return what ? define(s, &(struct def_unseen){ .event = (char *)name,
						      .model = (char *)what,
						      .why = "gaspbpf has no model for it",
						      .library = true })
		    : 0;
}

/* Does it map a library whose name is one of these? The files are looked into only then. */
static bool may_have_unmodelled(const struct capture_session *s, const struct process *process)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (mapping->executable && mapping->path &&
		    models_unmodelled(s->plan->models, NULL, path_base(mapping->path)))
			return true;
	}
	return false;
}

static int define_inside(struct capture_session *s, struct image *image)
{
	const char *name = path_base(image->path);
	struct inside_image inside;
	int err = 0;

	for (size_t next = 0; !err && image_inside(s->plan->models, image, &next, &inside);)
		if (!is_defined(s->d, name, inside.what))
			err = define(s, &(struct def_unseen){ .event = (char *)name,
							      .model = (char *)inside.what,
							      .why = (char *)inside.why,
							      .library = true,
							      .inside = true });
	return err;
}

/* Of the program, which the plan has looked at, or will before it is observed. */
static int define_insides(struct capture_session *s, const struct process *process)
{
	int err = 0;

	for (size_t i = 0; !err && i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		struct image *image = mapping->executable && mapping->inode
					      ? plan_image(s->plan, mapping->device, mapping->inode)
					      : NULL;

		if (image && image->is_program)
			err = define_inside(s, image);
	}
	return err;
}

int session_define_unmodelled(struct capture_session *s, struct process *process)
{
	struct image **images;
	size_t count = 0;
	int err = process ? define_insides(s, process) : 0;

	if (err || !process || !may_have_unmodelled(s, process))
		return err;
	images = calloc(process->nmappings, sizeof(*images));
	if (!images)
		return -ENOMEM;
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		struct known_image *known = mapping->executable && mapping->inode ? session_image(s, process, mapping)
										  : NULL;

		if (known && known->image)
			images[count++] = known->image;
	}
	for (size_t i = 0; i < count && !err; i++)
		err = define_library(s, images[i], images, count);
	free(images);
	return err;
}
