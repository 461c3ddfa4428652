/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unmodelled.c - which libraries of a process are of a runtime that no model describes.
 *
 * Some are there for another runtime's sake: a plug-in of one may look for accelerators with OpenCL, or move their
 * memory. Only a library that another one needs, as its file says, counts as one that the program works with.
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
