/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - threads, as the spans first name them, and which of those that had the same number a span is of.
 */
#include <stdlib.h>

#include "capture/session.h"
#include "util/clock.h"

static struct captured_thread *new_thread(struct capture_session *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct captured_process *p = session_calling_process(s, pid, time);
	struct captured_thread *t = p ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	t->index = definitions_add_thread(s->d);
	if (t->index == NO_INDEX) {
		free(t);
		return NULL;
	}
	t->pid = pid;
	t->tid = tid;
	t->next = 1;
	t->since = clock_monotonic();
	s->d->threads[t->index].process = p->index;
	s->d->threads[t->index].tid = tid;
	t->left_out = s->d->processes[p->index].left_out;
	s->d->threads[t->index].name = thread_name(pid, tid);
	s->totals.threads++;
	t->next_live = s->live;
	t->live = &s->live;
	if (s->live)
		s->live->live = &t->next_live;
	s->live = t;
	return t;
}

/*
 * A number may be used again while spans of the thread before are still to come: at once, where one that is not a
 * process's first thread executes a program and becomes it. So the ends that were told divide the spans, not the order
 * in which they come.
 */
struct captured_thread *session_thread(struct capture_session *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct captured_thread **link, *t;

	if (tid >= s->threads_room)
		return NULL;
	t = s->threads[tid];
	if (t && !t->ends && t->pid != pid)
		session_end_thread(s, t); /* its end was lost; the number belongs to another now */
	for (link = &s->threads[tid]; (t = *link); link = &t->successor)
		if (!t->ends || time <= t->ends)
			return t;
	t = new_thread(s, pid, tid, time);
	for (link = &s->threads[tid]; *link; link = &(*link)->successor)
		; /* again: with a process that had the number its thread may be gone */
	*link = t;
	return t;
}

void session_end_thread(struct capture_session *s, struct captured_thread *t)
{
	for (struct captured_thread **link = &s->waiting; *link; link = &(*link)->next_waiting) {
		if (*link == t) {
			*link = t->next_waiting;
			break;
		}
	}
	*t->live = t->next_live;
	if (t->next_live)
		t->next_live->live = t->live;
	s->threads[t->tid] = t->successor;
	free(t->calls);
	free(t->open);
	early_free(&t->early);
	free(t);
}

/* Threads get their names late, some never end: the last look. */
void capture_name_threads(struct capture_session *s)
{
	for (size_t i = 0; i < s->d->nthreads; i++) {
		struct def_thread *def = &s->d->threads[i];
		char *name;

		if (s->d->processes[def->process].end)
			continue;
		name = thread_name(s->d->processes[def->process].pid, def->tid);
		if (!name)
			continue;
		free(def->name);
		def->name = name;
	}
}

void session_free_threads(struct capture_session *s)
{
	while (s->live)
		session_end_thread(s, s->live);
	free(s->threads);
}
