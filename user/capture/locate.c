/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locate.c - source lines of the call sites, once, at the end: DWARF can take seconds, and nothing is
 * lost by looking late, since every image was opened when its first call site was met. A call that hands on a function
 * that the compiler has cut out of the program (a parallel region's body, a task's) is where that construct stands.
 */
#include "capture/session.h"
#include "util/log.h"

static int locate(struct capture_session *s, uint32_t index, struct image *image, struct source_location *location)
{
	uint64_t handed_on = session_handed_on(s, index);

	if (handed_on && !image_locate_cut_out(image, handed_on, location))
		return 0;
	return image_locate(image, s->d->sites[index].offset, location);
}

void capture_locate_site(struct capture_session *s, uint32_t index)
{
	struct def_site *site = &s->d->sites[index];
	struct image *image = session_defined_image(s, site->image);
	struct source_location location;

	if (site->located)
		return;
	site->located = true;
	if (!image || locate(s, index, image, &location))
		return;
	site->function = location.function;
	site->function_offset = location.function_offset;
	site->file = location.file;
	site->line = location.line;
	site->column = location.column;
}

int session_locate(struct capture_session *s)
{
	for (size_t i = 0; i < s->d->nsites; i++) {
		if (i % 64 == 63)
			log_status("finding source lines: %zu of %zu", i + 1, s->d->nsites);
		capture_locate_site(s, i);
	}
	log_status("%s", "");
	return s->err;
}
