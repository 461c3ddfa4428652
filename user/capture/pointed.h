/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pointed.h - private to user/capture: the functions that regions were begun with.
 */
#ifndef GASPBPF_CAPTURE_POINTED_H
#define GASPBPF_CAPTURE_POINTED_H

#include <stddef.h>
#include <stdint.h>

struct capture_session;
struct captured_thread;
struct span;

struct pointed_table {
	struct pointed_record *met; /* uthash: those that were told */
	uint64_t *handed_on;        /* by definition of a call site: the address of what was handed on there first */
	size_t room;
};

/* A call that begins a region: tells of its function, if it is new. */
void session_meet_pointed(struct capture_session *s, const struct captured_thread *t, const struct span *span);
/* A call from there has handed on code, or something else, at this address. */
void session_note_handed_on(struct capture_session *s, uint32_t site, uint64_t address);
/* Where in the site's file that lies, if it does; 0: nothing was. */
uint64_t session_handed_on(const struct capture_session *s, uint32_t site);
void session_free_pointed(struct capture_session *s);

#endif
