/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locate.c - source lines of the call sites, once, at the end: DWARF can take seconds, and nothing is
 * lost by looking late, since every image was opened when its first call site was met.
 */
#include "capture/session.h"
#include "util/log.h"

void capture_locate_site(struct capture_session *s, uint32_t index)
{
	struct def_site *site = &s->d->sites[index];
	struct image *image = session_defined_image(s, site->image);
	struct source_location location;

	if (site->located)
		return;
	site->located = true;
	if (!image || image_locate(image, site->offset, &location))
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
