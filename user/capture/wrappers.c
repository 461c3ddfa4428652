/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrappers.c - the user's call site, of a call that a library only passed on (probe/wrappers.c).
 */
#include <stdlib.h>

#include "capture/session.h"
#include "util/files.h"

/* The call of a wrapper that returns to this site; NULL: nobody's, or not known. */
static const struct image_call *wrapper_call(struct capture_session *s, uint32_t index, const struct model *model)
{
	const struct def_site *site = &s->d->sites[index];
	const struct image *image = session_defined_image(s, site->image);

	return image && model_wraps_in_file(model, image->soname, path_base(image->path))
		       ? image_call_at(image, site->offset)
		       : NULL;
}

/* The same, asked once for each call site. */
static uint32_t wrapper_frame(struct capture_session *s, uint32_t index, const struct model *model)
{
	const struct image_call *call;

	if (index >= s->wrappers.room) {
		size_t room = index * 2 + 256;
		uint32_t *grown = realloc(s->wrappers.frames, room * sizeof(*grown));

		if (!grown)
			return 0;
		for (size_t i = s->wrappers.room; i < room; i++)
			grown[i] = UINT32_MAX;
		s->wrappers.frames = grown;
		s->wrappers.room = room;
	}
	if (s->wrappers.frames[index] == UINT32_MAX) {
		call = wrapper_call(s, index, model);
		s->wrappers.frames[index] = call ? call->frame : 0;
	}
	return s->wrappers.frames[index];
}

static uint32_t no_wrapper(struct capture_session *s, const struct captured_thread *t, const struct site *site,
			   const struct gb_span *raw, uint32_t from, uint64_t end)
{
	uint32_t depth = 0, frame;
	unsigned i;

	while (from != NO_INDEX && (frame = wrapper_frame(s, from, site->function->model))) {
		unsigned slot;

		depth += frame;
		for (i = 0; i < site->nwrapped && site->wrapped[i] != depth; i++)
			;
		slot = site->wrapped_slot + i;
		if (i == site->nwrapped || slot >= raw->values || slot >= GB_SLOTS || raw->unread >> slot & 1)
			break;
		from = session_site(s, t, raw->value[slot], end);
	}
	return from;
}

uint32_t session_call_site(struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
			   uint64_t end)
{
	uint32_t from = raw->caller ? session_site(s, t, raw->caller, end) : NO_INDEX;
	const struct site *site = raw->probe < s->probes.count ? &s->plan->sites[raw->probe] : NULL;

	return site && site->nwrapped ? no_wrapper(s, t, site, raw, from, end) : from;
}

unsigned session_own_words(const struct capture_session *s, const struct gb_span *raw)
{
	const struct site *site = raw->probe < s->probes.count ? &s->plan->sites[raw->probe] : NULL;
	unsigned words = raw->values <= GB_SLOTS ? raw->values : GB_SLOTS;

	return site && site->nwrapped && words > site->own_slots ? site->own_slots : words;
}

void session_free_wrappers(struct capture_session *s)
{
	free(s->wrappers.frames);
}
