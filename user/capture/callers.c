/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callers.c - the thread that a record is of, among those that had the same number; defined where it is new, as is its
 * process.
 */
#include "capture/session.h"

static struct captured_thread *new_thread(struct capture_session *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct captured_process *p = session_calling_process(s, pid, time);

	return p ? session_add_thread(s, p, tid) : NULL;
}

/*
 * A number may be used again while spans of the thread before are still to come: at once, where one that is not a
 * process's first thread executes a program and becomes it. So the ends that were told divide the spans, not the order
 * in which they come.
 */
struct captured_thread *session_thread(struct capture_session *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct captured_thread **link, *t;

	if (tid >= s->threads.room)
		return NULL;
	t = s->threads.by_number[tid];
	if (t && !t->ends && t->pid != pid)
		session_end_thread(s, t); /* its end was lost; the number belongs to another now */
	for (link = &s->threads.by_number[tid]; (t = *link); link = &t->successor)
		if (!t->ends || time <= t->ends)
			return t;
	t = new_thread(s, pid, tid, time);
	for (link = &s->threads.by_number[tid]; *link; link = &(*link)->successor)
		; /* again: with a process that had the number its thread may be gone */
	*link = t;
	return t;
}
