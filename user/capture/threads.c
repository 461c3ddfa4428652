/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - the threads that are known, by number.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/session.h"
#include "util/clock.h"

static uint32_t read_pid_max(void)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
	unsigned long most = 4194304;

	if (f && (fscanf(f, "%lu", &most) != 1 || most < 1024 || most > 4194304))
		most = 4194304;
	if (f)
		fclose(f);
	return most + 1;
}

int session_open_threads(struct capture_session *s)
{
	s->threads.room = read_pid_max();
	s->threads.by_number = calloc(s->threads.room, sizeof(*s->threads.by_number));
	return s->threads.by_number ? 0 : -ENOMEM;
}

struct captured_thread *session_add_thread(struct capture_session *s, const struct captured_process *p, uint32_t tid)
{
	struct captured_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->index = definitions_add_thread(s->d);
	if (t->index == NO_INDEX) {
		free(t);
		return NULL;
	}
	t->pid = p->pid;
	t->tid = tid;
	t->next = 1;
	t->since = clock_monotonic();
	s->d->threads[t->index].process = p->index;
	s->d->threads[t->index].tid = tid;
	t->left_out = s->d->processes[p->index].left_out;
	s->d->threads[t->index].name = thread_name(p->pid, tid);
	s->totals.threads++;
	t->next_live = s->threads.live;
	t->live = &s->threads.live;
	if (s->threads.live)
		s->threads.live->live = &t->next_live;
	s->threads.live = t;
	return t;
}

void session_end_thread(struct capture_session *s, struct captured_thread *t)
{
	for (struct captured_thread **link = &s->threads.waiting; *link; link = &(*link)->next_waiting) {
		if (*link == t) {
			*link = t->next_waiting;
			break;
		}
	}
	*t->live = t->next_live;
	if (t->next_live)
		t->next_live->live = t->live;
	s->threads.by_number[t->tid] = t->successor;
	free(t->calls);
	free(t->announced.open);
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

void capture_visit_threads(const struct capture_session *s, void (*visit)(void *, const struct capture_thread *),
			   void *context)
{
	for (const struct captured_thread *t = s->threads.live; t; t = t->next_live) {
		const struct capture_thread shown = {
			.pid = t->pid,
			.tid = t->tid,
			.thread = t->index,
			.cost = t->cost,
			.since = t->since,
			.calls = t->calls,
			.ncalls = t->ncalls,
		};

		visit(context, &shown);
	}
}

void session_free_threads(struct capture_session *s)
{
	while (s->threads.live)
		session_end_thread(s, s->threads.live);
	free(s->threads.by_number);
}
