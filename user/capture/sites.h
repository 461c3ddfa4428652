/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.h - private to user/capture: the places that calls come from.
 */
#ifndef GASPBPF_CAPTURE_SITES_H
#define GASPBPF_CAPTURE_SITES_H

#include <uthash.h>

#include "gaspbpf/wire.h"

struct capture_session;
struct captured_thread;

#define SITE_CACHE 4096 /* recently used call sites; a power of two */
#define UNSETTLED (1U << 31)

struct site_key {
	uint64_t address;
	uint32_t process; /* index in definitions */
	uint32_t layout;  /* of the process; UNSETTLED is added between its changes */
};

struct site_record {
	struct site_key key;
	uint32_t site; /* index in definitions */
	UT_hash_handle hh;
};

struct site_table {
	struct site_record *table;
	struct {
		struct site_key key;
		uint32_t site;
	} cache[SITE_CACHE];
	struct named_site *named; /* that programs named themselves; private to sites.c */
};

struct wrappers {
	uint32_t *frames; /* by definition of a call site: how long the frame of a wrapper's function there is; 0: it is
			     none, UINT32_MAX: not looked at */
	size_t room;
};

/* sites.c */
/* A place that the program named itself; NO_INDEX: no memory. */
uint32_t session_named_site(struct capture_session *s, uint32_t process, uint64_t address, const char *file,
			    uint32_t line, uint32_t column);
uint32_t session_site(struct capture_session *s, const struct captured_thread *t, uint64_t caller, uint64_t end);
void session_free_sites(struct capture_session *s);

/* wrappers.c */
/* The place that the user's own call came from: of one that a library passed on, where that was called. */
uint32_t session_call_site(struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
			   uint64_t end);
/* How many of the call's words are values: not those that only tell where it came from. */
unsigned session_own_words(const struct capture_session *s, const struct gb_span *raw);
void session_free_wrappers(struct capture_session *s);

#endif
