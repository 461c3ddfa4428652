/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pointed.h - private to user/capture: the functions that regions were begun with.
 */
#ifndef GASPBPF_CAPTURE_POINTED_H
#define GASPBPF_CAPTURE_POINTED_H

struct capture_session;
struct captured_thread;
struct span;

struct pointed_table {
	struct pointed_record *met; /* uthash: those that were told */
};

/* A call that begins a region: tells of its function, if it is new. */
void session_meet_pointed(struct capture_session *s, const struct captured_thread *t, const struct span *span);
void session_free_pointed(struct capture_session *s);

#endif
