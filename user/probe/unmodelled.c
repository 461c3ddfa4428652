/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unmodelled.c - which runtimes that a process has cannot be seen: libraries that no model describes, and what is
 * linked into the program.
 *
 * Some libraries are there for another runtime's sake: a plug-in of one may look for accelerators with OpenCL, or move
 * their memory. Only a library that another one needs, as its file says, counts as one that the program works with.
 *
 * A runtime inside the program is found by the names of its functions, and a stripped program has none. Texts of the
 * runtime, its messages, are still there. Anybody's program may have such a text: then a sentence too many is said.
 */
#include <string.h>

#include "probe/probe.h"
#include "util/files.h"

static bool needs(const struct image *image, const char *name)
{
	for (const char *at = image->needed; at && *at; at += strlen(at) + 1)
		if (!strcmp(at, name))
			return true;
	return false;
}

/* By another one than plug-ins? Where nobody needs it, nobody can tell for whom it was loaded: plug-ins go and leave
 * libraries behind. */
static bool is_wanted(const struct model_set *models, struct image *const *images, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (images[i] && needs(images[i], name) &&
		    !models_beside(models, images[i]->soname, path_base(images[i]->path)))
			return true;
	return false;
}

const char *images_unmodelled(const struct model_set *models, struct image *const *images, size_t count,
			      const struct image *image)
{
	const char *base = path_base(image->path);
	const char *what = models_unmodelled(models, image->soname, base);

	return what && is_wanted(models, images, count, image->soname ?: base) ? what : NULL;
}

/* Said before, on account of another text? */
static bool is_said(const struct inside *insides, const bool *found, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (found[i] && !strcmp(insides[i].what, insides[index].what))
			return true;
	return false;
}

bool image_inside(const struct model_set *models, struct image *image, size_t *next, struct inside_image *inside)
{
	const struct inside *insides;
	const char *const *texts;
	size_t count = image->is_program ? models_inside(models, &texts, &insides) : 0;
	const bool *found = *next < count ? image_texts(image, texts, count) : NULL;

	if (*next < count && !found) {
		*next = count;
		*inside = (struct inside_image){ "perhaps a runtime", "its file was not read to its end" };
		return true;
	}
	while (*next < count) {
		size_t i = (*next)++;
		const struct model *model = insides[i].model ? models_find(models, insides[i].model) : NULL;

		if (!found[i] || is_said(insides, found, i) || (model && plan_model_applies(model, image)))
			continue;
		*inside = (struct inside_image){ insides[i].what,
						 model ? "the program has no names for its functions (stripped?)"
						       : "gaspbpf has no model for it" };
		return true;
	}
	return false;
}
