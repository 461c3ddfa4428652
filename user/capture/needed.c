/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * needed.c - the files that a program needs: its linker never takes them away.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/array.h"
#include "util/files.h"

#define NEEDED_MOST 512 /* files that a program needs; of more, some are taken for those that may go */

static bool is_among(const struct captured_process *p, const struct mapping *mapping)
{
	for (size_t i = 0; i < p->nneeded; i++)
		if (p->needed[i].device == mapping->device && p->needed[i].inode == mapping->inode)
			return true;
	return false;
}

static const struct image *image_of(struct capture_session *s, struct captured_process *p,
				    const struct mapping *mapping)
{
	const struct known_image *known = mapping->executable && mapping->inode ? session_image(s, p->process, mapping)
										: NULL;

	return known ? known->image : NULL;
}

static void add_needed(struct capture_session *s, struct captured_process *p, const char *name, size_t *room)
{
	for (size_t m = 0; m < p->process->nmappings; m++) {
		const struct mapping *mapping = &p->process->mappings[m];
		const struct image *image = image_of(s, p, mapping);

		if (!image || strcmp(image->soname ?: path_base(image->path), name))
			continue;
		if (p->nneeded < NEEDED_MOST && !is_among(p, mapping) &&
		    !array_one_more(&p->needed, room, p->nneeded, sizeof(*p->needed)))
			p->needed[p->nneeded++] = (struct needed_file){ mapping->device, mapping->inode, image };
		return;
	}
}

static void add_needed_of(struct capture_session *s, struct captured_process *p, const struct image *image,
			  size_t *room)
{
	for (const char *name = image->needed; name && *name; name += strlen(name) + 1)
		add_needed(s, p, name, room);
}

bool session_is_needed(struct capture_session *s, struct captured_process *p, const struct mapping *mapping)
{
	size_t room = 0;

	if (p->needed && p->needed_layout == p->program_layout)
		return is_among(p, mapping);
	free(p->needed);
	p->needed = NULL;
	p->nneeded = 0;
	p->needed_layout = p->program_layout;
	for (size_t m = 0; m < p->process->nmappings; m++) {
		const struct image *image = image_of(s, p, &p->process->mappings[m]);

		if (!image || !image->is_program)
			continue;
		add_needed_of(s, p, image, &room);
		break;
	}
	for (size_t i = 0; i < p->nneeded; i++)
		add_needed_of(s, p, p->needed[i].image, &room);
	return is_among(p, mapping);
}
