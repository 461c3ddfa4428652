/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * images.h - private to user/capture: the files that calls come from and go to.
 */
#ifndef GASPBPF_CAPTURE_IMAGES_H
#define GASPBPF_CAPTURE_IMAGES_H

#include "probe/probe.h"

struct capture_session;

/* A mapped file that a call site lies in; may or may not be one of the plan's. */
struct known_image {
	uint64_t device, inode;
	struct image *image; /* NULL: could not be opened */
	bool owned;
	uint32_t index; /* in definitions; NO_INDEX until used */
};

struct image_table {
	struct known_image *list;
	size_t count;
};

/* images.c */
/* The file behind a mapping, opened while the process still offers it; NULL: no memory. */
struct known_image *session_image(struct capture_session *s, struct process *process, const struct mapping *mapping);
/* The file of a site of the plan, defined. NULL: no memory. */
struct known_image *session_image_of_site(struct capture_session *s, const struct site *site);
uint32_t session_define_image(struct capture_session *s, const struct image *image);
/* The file of this definition; NULL: there is none, or it could not be opened. */
struct image *session_defined_image(const struct capture_session *s, uint32_t index);
void session_free_images(struct capture_session *s);

/* locate.c: source lines of all call sites. 0 or -ENOMEM. */
int session_locate(struct capture_session *s);

#endif
