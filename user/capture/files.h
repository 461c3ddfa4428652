/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.h - private to user/capture: what the descriptors are that calls name.
 */
#ifndef GASPBPF_CAPTURE_FILES_H
#define GASPBPF_CAPTURE_FILES_H

#include <stdint.h>

struct capture_session;
struct captured_thread;
struct span;

struct file_table {
	struct open_file *table; /* by process and descriptor */
	uint32_t known;          /* how many those are */
	uint32_t kept;           /* names in the recording */
};

/* CARRY_FILES: a call is over. What its descriptor is becomes an entry of the recording. */
void session_note_files(struct capture_session *s, const struct captured_thread *t, const struct span *span);
void session_free_files(struct capture_session *s);

#endif
