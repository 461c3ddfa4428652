/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * life.c - what the kernel tells of processes and threads, taken out of its ring and kept until it is applied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/array.h"

static void take_life(void *context, const void *record, size_t size)
{
	struct capture_session *s = context;

	if (size < sizeof(struct gb_life))
		return;
	if (array_one_more(&s->life.list, &s->life.room, s->life.count, sizeof(*s->life.list))) {
		s->err = -ENOMEM;
		return;
	}
	memcpy(&s->life.list[s->life.count++], record, sizeof(struct gb_life));
}

void session_drain_control(struct capture_session *s)
{
	ring_drain(&s->rings.control, ring_filled(&s->rings.control), take_life, s);
}

bool session_changes(struct capture_session *s, uint32_t pid)
{
	session_drain_control(s);
	for (size_t i = s->life.applied; i < s->life.count; i++)
		if (s->life.list[i].pid == pid &&
		    (s->life.list[i].kind == GB_LIFE_LINKER || s->life.list[i].kind == GB_LIFE_EXEC))
			return true;
	return false;
}

bool session_end_is_told(const struct capture_session *s, uint32_t tid)
{
	for (size_t i = 0; i < s->life.count; i++)
		if (s->life.list[i].kind == GB_LIFE_THREAD && s->life.list[i].tid == tid)
			return true;
	return false;
}

void session_forget_life(struct capture_session *s, size_t count)
{
	s->life.count -= count;
	s->life.applied -= count;
	if (count && s->life.count)
		memmove(s->life.list, s->life.list + count, s->life.count * sizeof(*s->life.list));
}

void session_free_life(struct capture_session *s)
{
	free(s->life.list);
}
