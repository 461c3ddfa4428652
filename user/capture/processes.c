/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processes.c - processes, as the spans first name them, and what they map, as it changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/clock.h"

/* Where it counts while it lives. */
static size_t *alive_like(struct capture_session *s, const struct captured_process *p)
{
	return s->d->processes[p->index].left_out ? &s->totals.left_out : &s->totals.alive;
}

static void count_end(struct capture_session *s, const struct captured_process *p)
{
	size_t *alive = alive_like(s, p);

	if (*alive)
		--*alive;
}

static struct captured_process *new_process(struct capture_session *s, uint32_t pid, struct process *process)
{
	struct captured_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD_INT(s->processes.table, pid, p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	p->index = session_fit_delivered(s, s->d->nprocesses + 1) ? NO_INDEX : definitions_add_process(s->d);
	if (p->index == NO_INDEX) {
		HASH_DEL(s->processes.table, p);
		free(p);
		return NULL;
	}
	p->process = process;
	p->started = process ? process->start_time : 0;
	s->d->processes[p->index].pid = pid;
	s->d->processes[p->index].rank = s->d->processes[p->index].ranks = -1;
	s->d->processes[p->index].start = clock_monotonic();
	s->totals.alive++;
	session_describe(s, p);
	return p;
}

static bool is_power_of_two(uint32_t n)
{
	return !(n & (n - 1));
}

bool session_is_another(const struct capture_session *s, const struct captured_process *p,
			const struct process *process)
{
	if (p->started)
		return p->started != process->start_time;
	return p->ended && process_started_ns(process) > s->d->processes[p->index].end;
}

/* Its number belongs to another process now. What is defined stays. */
static void drop_process(struct capture_session *s, struct captured_process *p)
{
	if (!p->ended)
		count_end(s, p);
	if (p->pid < s->threads.room && s->threads.by_number[p->pid])
		session_end_thread(s, s->threads.by_number[p->pid]);
	HASH_DEL(s->processes.table, p);
	session_forget_layouts(s, p);
	free(p);
}

/* 0, or -errno (-ESRCH: it has ended, and another one may have its number). */
static int look_at(struct capture_session *s, struct captured_process *p)
{
	struct process *process;
	int err = process_open_if_there(&process, (pid_t)p->pid);

	if (!err && (p->ended || session_is_another(s, p, process))) {
		process_close(process);
		err = -ESRCH;
	}
	if (err)
		return err;
	session_look_again(s, p);
	session_set_process(s, p, process);
	return 0;
}

struct captured_process *session_calling_process(struct capture_session *s, uint32_t pid, uint64_t time)
{
	struct captured_process *p = session_process(s, pid);
	const struct def_process *def = p ? &s->d->processes[p->index] : NULL;

	if (p && p->ended && def->has_exit && time > def->end && time != CAPTURE_NOW) {
		drop_process(s, p);
		p = NULL;
	}
	if (!p)
		p = new_process(s, pid, NULL);
	/* What it maps can take long to read: with its first threads, and then seldom. */
	if (!p || !is_power_of_two(++p->callers))
		return p;
	if (!p->process && !p->ended)
		look_at(s, p);
	/* One that was defined while it was being exec'ed had mapped nothing yet; now it has made a call. */
	if (p->process && s->d->processes[p->index].rank < 0 && !process_refresh(p->process))
		session_describe(s, p);
	return p;
}

void session_set_process(struct capture_session *s, struct captured_process *p, struct process *process)
{
	p->process = process;
	p->started = process ? process->start_time : p->started;
	p->callers = 0;
	session_describe(s, p);
}

/* It takes the place of the one that had its number, whose end may be told after this time (ns), at which this one was
 * there already. 0 or -ENOMEM. */
static int replace_process(struct capture_session *s, struct captured_process *p, struct process *process,
			   uint64_t time)
{
	uint32_t of = p->index;

	drop_process(s, p);
	p = new_process(s, process->pid, process);
	if (!p)
		return -ENOMEM;
	p->number_since = time;
	p->number_of = of;
	return 0;
}

int capture_add_process(struct capture_session *s, struct process *process)
{
	struct captured_process *p = session_process(s, process->pid);

	if (p && session_is_another(s, p, process))
		return replace_process(s, p, process, process->mapped_ns);
	if (!p)
		return new_process(s, process->pid, process) ? 0 : -ENOMEM;
	process_close(p->process);
	session_set_process(s, p, process);
	return 0;
}

int capture_refresh_process(struct capture_session *s, pid_t pid)
{
	struct captured_process *p = session_process(s, pid);
	struct process *process;
	uint64_t time = clock_monotonic();
	int err = process_open_if_there(&process, pid);

	if (err)
		return err;
	if (p && session_is_another(s, p, process))
		return replace_process(s, p, process, time);
	if (!p)
		return new_process(s, pid, process) ? 0 : -ENOMEM;
	if (p->ended) { /* a zombie: it is as it was */
		process_close(process);
		return -ESRCH;
	}
	session_look_again(s, p);
	session_set_process(s, p, process);
	return 0;
}

bool capture_looked_since(struct capture_session *s, pid_t pid, uint64_t time)
{
	struct captured_process *p = session_process(s, pid);

	return p && session_mapped_ns(p) > time;
}

bool session_is_there(struct capture_session *s, struct captured_process *p)
{
	return p->process ? process_alive(p->process) : !look_at(s, p);
}

void session_end_process(struct capture_session *s, struct captured_process *p)
{
	p->ended = true;
	if (s->plan->leave_near)
		kernel_set_rank(s->kernel, p->pid, -1);
	count_end(s, p);
	session_forget_layouts(s, p);
}

void capture_check_processes(struct capture_session *s)
{
	for (struct captured_process *p = s->processes.table; p; p = p->hh.next) {
		bool there = p->ended || session_is_there(s, p), again = p->missing;

		p->missing = !there;
		/* Mostly its end is only about to be told: what it did last is still to come, and wants it as it was.
		 */
		if (there || !again)
			continue;
		session_end_process(s, p);
		if (!s->d->processes[p->index].end)
			s->d->processes[p->index].end = s->d->processes[p->index].start;
	}
}

int capture_add_child(struct capture_session *s, pid_t pid, pid_t parent, uint64_t time)
{
	struct captured_process *p = session_process(s, pid);

	/* Told twice, by the kernel and by whoever held it at its birth; it may have ended in between. */
	if (p && p->born < time && (p->ended || (p->process && !process_alive(p->process)))) {
		drop_process(s, p);
		p = NULL;
	}
	if (p) {
		if (parent && !s->d->processes[p->index].parent)
			s->d->processes[p->index].parent = parent;
		return 0;
	}
	p = new_process(s, pid, NULL);
	if (!p)
		return -ENOMEM;
	p->born = time;
	s->d->processes[p->index].start = time;
	s->d->processes[p->index].parent = parent;
	return 0;
}

bool capture_knows(struct capture_session *s, pid_t pid)
{
	return session_process(s, pid);
}

struct process *capture_process(struct capture_session *s, pid_t pid)
{
	struct captured_process *p = session_process(s, pid);

	return p ? p->process : NULL;
}

uint32_t capture_definition(struct capture_session *s, pid_t pid)
{
	struct captured_process *p = session_process(s, pid);

	return p ? p->index : NO_INDEX;
}

/* --- who belongs to the job --------------------------------------------- */

/* why NULL: it does. */
static void set_left_out(struct capture_session *s, struct captured_process *p, const char *why)
{
	struct def_process *def = &s->d->processes[p->index];
	char *text = why ? strdup(why) : NULL;

	if (why && !text)
		return;
	if (!p->ended)
		count_end(s, p);
	free(def->left_out);
	def->left_out = text;
	if (!p->ended)
		++*alive_like(s, p);
	for (struct captured_thread *t = s->threads.live; t; t = t->next_live)
		if (t->pid == p->pid)
			t->left_out = why;
}

int capture_leave_out(struct capture_session *s, pid_t pid, const char *why)
{
	struct captured_process *p = session_process(s, pid);
	int err;

	if (!p || !p->process) {
		err = capture_refresh_process(s, pid);
		p = session_process(s, pid);
		if (!p)
			return err ?: -ESRCH;
	}
	if (!s->delivery.of[p->index].runtime)
		set_left_out(s, p, why);
	return 0;
}

void capture_take_in(struct capture_session *s, pid_t pid)
{
	struct captured_process *p = session_process(s, pid);

	if (p && s->d->processes[p->index].left_out)
		set_left_out(s, p, NULL);
}

const char *capture_left_out(struct capture_session *s, pid_t pid)
{
	struct captured_process *p = session_process(s, pid);

	return p ? s->d->processes[p->index].left_out : NULL;
}

bool capture_calls_runtime(const struct capture_session *s, uint32_t definition)
{
	return s->delivery.of[definition].runtime;
}

void session_note_runtime(struct capture_session *s, struct captured_thread *t, const struct model *model)
{
	uint32_t index = s->d->threads[t->index].process;
	struct def_process *def = &s->d->processes[index];
	struct captured_process *p;

	if (model->alone || model->always || s->delivery.of[index].runtime)
		return;
	p = session_process(s, t->pid);
	s->delivery.of[index].runtime = true;
	t->left_out = false;
	if (p && p->index == index && def->left_out) {
		set_left_out(s, p, NULL);
	} else {
		free(def->left_out);
		def->left_out = NULL;
	}
}
