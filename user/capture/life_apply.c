/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * life_apply.c - what becomes of the things that the kernel tells of processes and threads.
 *
 * Some change the meaning of spans, and are applied before those of a pass; ends are applied after them (session.c).
 */
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/log.h"

/* --- before the spans of a pass ---------------------------------------- */

/* Spans that end later are of another thread of this number. */
static void note_end(struct capture_session *s, const struct gb_life *life)
{
	struct captured_thread *t = life->sequence || life->sums ? session_thread(s, life->pid, life->tid, life->time)
								 : NULL;

	if (t && !t->ends)
		t->ends = life->time;
}

void session_apply_early(struct capture_session *s, const struct gb_life *life)
{
	switch (life->kind) {
	case GB_LIFE_FORK:
		if (s->events.forked)
			s->events.forked(s->events.context, life->pid, life->parent, life->time, life->exit_code);
		break;
	case GB_LIFE_EXEC:
		if (s->events.execed)
			s->events.execed(s->events.context, life->pid, life->tid != life->pid, life->time);
		session_change_layout(s, life->pid, life->time, CHANGE_ANY);
		session_change_program(s, life->pid, life->time);
		break;
	case GB_LIFE_STRANGER:
		if (s->events.stranger)
			s->events.stranger(s->events.context, life->pid);
		break;
	case GB_LIFE_THREAD:
		note_end(s, life);
		break;
	case GB_LIFE_CONTROL:
		session_take_control(s, life);
		break;
	case GB_LIFE_LINKER:
		if (session_expected(s, life))
			break;
		session_change_layout(s, life->pid, life->time, session_kind_of_change(s, life->pid));
		if (s->events.mapped && session_may_have_mapped(s, life->pid))
			s->events.mapped(s->events.context, life->pid, life->time, life->exit_code);
		break;
	}
}

/* --- after them -------------------------------------------------------- */

static void set_name(char **name, const char comm[GB_COMM])
{
	char *copy = strndup(comm, GB_COMM);

	if (!copy)
		return;
	free(*name);
	*name = copy;
}

static void note_last_call(struct capture_session *s, const struct gb_life *life, uint64_t time)
{
	struct captured_process *p = session_process(s, life->pid);

	if (p && time > p->latest)
		p->latest = time;
}

/* It is the process's first thread; others may live on. */
static void end_first_thread(struct capture_session *s, const struct gb_life *life)
{
	struct captured_process *p = session_process(s, life->pid);

	if (p && !p->ended && life->time >= p->born && attach_is_for(s->kernel, life->pid))
		p->first_left = life->time;
}

/* The kernel's final word on a thread: what is missing at its end was lost. */
static void count_thread(struct capture_session *s, const struct gb_life *life)
{
	struct captured_thread *t;
	struct def_thread *def;

	if (!life->sequence && !life->sums)
		return;
	t = session_thread(s, life->pid, life->tid, life->time);
	if (!t)
		return;
	note_last_call(s, life, t->last_end);
	session_close_thread(s, t, life->sequence);
	session_end_announced(s, t, life->time, life->kind == GB_LIFE_OPEN ? GB_END_DETACH : GB_END_EXIT);
	def = &s->d->threads[t->index];
	set_name(&def->name, life->comm);
	def->calls = life->sequence - (t->merged < life->sequence ? t->merged : life->sequence);
	def->lost = life->lost;
	def->cost = t->cost;
	def->system = life->system;
	def->observed = life->observed;
	def->run = life->run;
	def->queue_known = life->queued != GB_UNKNOWN;
	def->queued = def->queue_known ? life->queued : 0;
	def->preempted = life->preempted;
	def->cpus = life->cpus;
	def->cpu = life->cpu;
	def->counted = true;
	session_end_queue(s, t, life);
	session_sum_thread(s, t, life);
	if (def->lost != t->lost)
		log_debug("thread %u: the kernel lost %llu spans, the numbers say %llu", t->tid,
			  (unsigned long long)life->lost, (unsigned long long)t->lost);
}

static void end_process(struct capture_session *s, const struct gb_life *life)
{
	struct captured_process *p = session_process(s, life->pid);
	bool others = p && life->time < p->number_since; /* it is told late, of the one that had the number before */
	struct def_process *def;

	if (!p || life->time < p->born)
		return;
	def = &s->d->processes[others ? p->number_of : p->index];
	def->end = life->time;
	def->exit_code = life->exit_code;
	def->has_exit = true;
	if (!def->name) /* it lived too short to be looked at */
		set_name(&def->name, life->comm);
	if (!others && !p->ended) {
		session_tell_first_thread(s, p, life->time);
		session_end_process(s, p);
	}
	if (s->events.exited)
		s->events.exited(s->events.context, life->pid, life->exit_code);
}

void session_apply_late(struct capture_session *s, const struct gb_life *life)
{
	struct captured_thread *t;

	switch (life->kind) {
	case GB_LIFE_THREAD:
		if (life->tid == life->pid)
			end_first_thread(s, life);
		count_thread(s, life);
		t = life->tid < s->threads.room ? s->threads.by_number[life->tid] : NULL;
		if (t && t->ends && t->ends <= life->time)
			session_end_thread(s, t);
		break;
	case GB_LIFE_OPEN:
		count_thread(s, life);
		break;
	case GB_LIFE_EXIT:
		end_process(s, life);
		break;
	}
}
