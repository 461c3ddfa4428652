/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * texts.h - private to user/capture: the names that calls carry.
 */
#ifndef GASPBPF_CAPTURE_TEXTS_H
#define GASPBPF_CAPTURE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct capture_session;
struct captured_thread;
struct span;

#define TEXT_CACHE 256 /* recently met names; a power of two */

struct text_table {
	struct text_record *table;
	struct text_record *recent[TEXT_CACHE];
	uint32_t kept;  /* entries of the recording */
	uint8_t *carry; /* by definition of a probe: what its calls carry, and CARRY_KNOWN; 0: not looked at yet */
	size_t carry_room;
};

/* What calls carry that has to be looked up in the process. */
enum carry { CARRY_KNOWN = 1, CARRY_NAMES = 2, CARRY_FILES = 4 };

/* What the calls of a probe (definition) carry: enum carry. */
unsigned session_carry(struct capture_session *s, uint32_t probe);
/* CARRY_NAMES: the names that a call carries are read where they are not known yet. */
void session_note_texts(struct capture_session *s, const struct captured_thread *t, const struct span *span);
void session_free_texts(struct capture_session *s);

#endif
