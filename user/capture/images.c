/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * images.c - the files that calls come from and go to.
 */
#include <stdlib.h>

#include "capture/session.h"
#include "util/text.h"

static struct known_image *add(struct capture_session *s, struct known_image image)
{
	struct known_image *grown = realloc(s->images.list, (s->images.count + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	s->images.list = grown;
	grown[s->images.count] = image;
	return &grown[s->images.count++];
}

uint32_t session_define_image(struct capture_session *s, const struct image *image)
{
	uint32_t index = definitions_add_image(s->d);

	if (index == NO_INDEX)
		return index;
	s->d->images[index].path = copy_text(image->path);
	s->d->images[index].soname = copy_text(image->soname);
	s->d->images[index].build_id = copy_text(image->build_id);
	return index;
}

static struct known_image *find(struct capture_session *s, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < s->images.count; i++)
		if (s->images.list[i].inode == inode && s->images.list[i].device == device)
			return &s->images.list[i];
	return NULL;
}

struct known_image *session_image(struct capture_session *s, struct process *process, const struct mapping *mapping)
{
	struct known_image *known = find(s, mapping->device, mapping->inode);
	struct known_image fresh = { .device = mapping->device, .inode = mapping->inode, .index = NO_INDEX };

	if (known)
		return known;
	fresh.image = plan_image(s->plan, mapping->device, mapping->inode);
	if (!fresh.image) {
		fresh.owned = true;
		if (image_open_mapped(&fresh.image, process, mapping))
			fresh.image = NULL;
	}
	return add(s, fresh);
}

void capture_forget_image(struct capture_session *s, const struct image *image)
{
	for (size_t i = 0; i < s->images.count; i++)
		if (s->images.list[i].image == image)
			s->images.list[i].device = s->images.list[i].inode = 0;
}

struct known_image *session_image_of_site(struct capture_session *s, const struct site *site)
{
	const struct image *image = site->image;
	struct known_image *known = find(s, image->device, image->inode);

	if (!known)
		known = add(s, (struct known_image){ .device = image->device,
						     .inode = image->inode,
						     .image = site->image,
						     .index = NO_INDEX });
	if (known && known->index == NO_INDEX)
		known->index = session_define_image(s, image);
	return known && known->index != NO_INDEX ? known : NULL;
}

struct image *session_defined_image(const struct capture_session *s, uint32_t index)
{
	for (size_t i = 0; index != NO_INDEX && i < s->images.count; i++)
		if (s->images.list[i].index == index)
			return s->images.list[i].image;
	return NULL;
}

void session_free_images(struct capture_session *s)
{
	for (size_t i = 0; i < s->images.count; i++)
		if (s->images.list[i].owned)
			image_close(s->images.list[i].image);
	free(s->images.list);
}
