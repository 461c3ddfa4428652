/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_page.h - a door of user/export: the page without a recording, for a server that tells it what happens.
 *
 * It asks for "events" beside itself, with the query that is in its own address: server-sent events, each of them what
 * top_write_json() writes.
 */
#ifndef GASPBPF_EXPORT_LIVE_PAGE_H
#define GASPBPF_EXPORT_LIVE_PAGE_H

#include <stddef.h>

struct live_page {
	char *text; /* the caller's, to free() */
	size_t size;
};

/* 0 or -errno, said: this build has no page, for example. */
int live_page_make(struct live_page *page);

#endif
