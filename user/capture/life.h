/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * life.h - private to user/capture: what the kernel tells of processes and threads.
 */
#ifndef GASPBPF_CAPTURE_LIFE_H
#define GASPBPF_CAPTURE_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gaspbpf/wire.h"

struct capture_session;

struct life_list {
	struct gb_life *list; /* of this pass, and ends for the next one */
	size_t count, room;
	size_t applied; /* of those, as far as they come before spans */
};

/* life.c */
/* Takes what is in the control ring. */
void session_drain_control(struct capture_session *s);
/* Has a change been told of the process that this pass does not know yet? What has been read of it just now may be of
 * after that. */
bool session_changes(struct capture_session *s, uint32_t pid);
/* Has a thread of this number ended since it was last heard of? */
bool session_end_is_told(const struct capture_session *s, uint32_t tid);
/* So many of the list, from its beginning on, have been applied. */
void session_forget_life(struct capture_session *s, size_t count);
void session_free_life(struct capture_session *s);

/* life_apply.c */
/* Applies what changes the meaning of spans to come. */
void session_apply_early(struct capture_session *s, const struct gb_life *life);
/* Applies ends: all spans that were made before them are in. */
void session_apply_late(struct capture_session *s, const struct gb_life *life);

#endif
