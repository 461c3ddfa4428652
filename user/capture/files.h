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

#define FOLDERS 64 /* a power of two */

struct file_table {
	struct open_file *table; /* by process and descriptor */
	uint32_t known;          /* how many those are */
	uint32_t kept;           /* names in the recording */
	struct known_folder {
		uint32_t process; /* index in definitions */
		uint64_t pass;    /* in which it was looked at */
		uint64_t id;      /* gb_folder_id(); 0: not known */
		char *text;
	} folders[FOLDERS]; /* the working directories of processes, by their last bits */
};

/*
 * given.c: the name by the path that the call itself was given, as definitions keep it ("given: /a/path", "relative:
 * path"). NULL: the call has none, or it is not certain. From malloc.
 */
char *session_given_name(struct capture_session *s, const struct captured_thread *t, const struct span *span);
void session_free_folders(struct capture_session *s);

/* CARRY_FILES: a call is over. What its descriptor is becomes an entry of the recording. */
void session_note_files(struct capture_session *s, const struct captured_thread *t, const struct span *span);
void session_free_files(struct capture_session *s);

#endif
