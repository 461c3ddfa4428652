/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * creation.c - the calls by which a program creates its events and names them.
 */
#include <string.h>

#include "capture/announced/announced_private.h"

static bool take_text(struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
		      uint8_t slot, uint8_t at, char *text)
{
	size_t room = TELLING_TEXT * sizeof(raw->value[0]);

	text[0] = '\0';
	if (slot == SLOT_NOWHERE)
		return false;
	if (slot + TELLING_TEXT <= raw->values && announced_was_read(raw, slot)) {
		memcpy(text, &raw->value[slot], room);
		text[room - 1] = '\0';
		return true;
	}
	return announced_was_read(raw, at) && raw->value[at] &&
	       announced_constant_text(s, session_process(s, t->pid), raw->value[at], text, room);
}

void announced_create(struct capture_session *s, struct captured_thread *t, const struct site *site,
		      const struct gb_span *raw)
{
	const struct telling *telling = &site->captures[0].telling;
	char name[TELLING_TEXT * 8], format[TELLING_TEXT * 8];
	bool known = take_text(s, t, raw, telling->name, telling->name_at, name);

	if (raw->reason != GB_END_RETURN || !announced_was_read(raw, telling->id) || !known)
		return;
	known = take_text(s, t, raw, telling->format, telling->format_at, format);
	announced_name(s, s->d->threads[t->index].process, t->pid, raw->value[telling->id], name,
		       known && *format ? format : NULL);
	if (strlen(format) == sizeof(format) - 1 && session_process(s, t->pid))
		announced_read_table_again(s, session_process(s, t->pid)); /* it may be longer */
}

/* A thread or process that would have to end first, as its number belongs to another since, may be the one whose call
 * is being taken. It is shown when its own turn comes. */
static bool ends_another(struct capture_session *s, uint32_t pid, uint32_t tid)
{
	const struct captured_thread *t = tid < s->threads.room ? s->threads.by_number[tid] : NULL;
	const struct captured_process *p = session_process(s, pid);

	return (t && t->pid != pid) || (p && p->ended);
}

static void show_creation(void *context, const void *record, size_t size)
{
	struct capture_session *s = context;
	const struct gb_span *raw = record;
	uint32_t pid, tid;
	struct gb_span whole = { 0 };
	struct captured_thread *t;

	if (size < GB_SPAN_HEADER || raw->probe >= s->probes.count ||
	    !(s->plan->sites[raw->probe].function->marks & MARK_CREATES))
		return;
	memcpy(&whole, raw, size < sizeof(whole) ? size : sizeof(whole));
	pid = raw->pid_tid >> 32;
	tid = (uint32_t)raw->pid_tid;
	t = ends_another(s, pid, tid) ? NULL : session_thread(s, pid, tid, raw->end);
	if (t)
		announced_create(s, t, &s->plan->sites[raw->probe], &whole);
}

void announced_look_ahead(struct capture_session *s)
{
	if (s->announced.looked_ahead == s->pass.number)
		return; /* what is delivered in this pass was in the rings then */
	s->announced.looked_ahead = s->pass.number;
	for (unsigned i = 0; i < s->rings.count; i++)
		ring_peek(&s->rings.list[i], show_creation, s);
	for (const struct captured_thread *t = s->threads.waiting; t; t = t->next_waiting)
		for (size_t i = 0; i < t->early.count; i++)
			show_creation(s, t->early.heap[i].span, sizeof(struct gb_span));
}
