/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks.c - tasks from their submission to their end, on the workers that run them.
 *
 * A runtime is here whatever it is called: roles say when a task is submitted, ready, running and over, and @task which
 * one it is. Where a model has no @task, what runs is counted by itself: nobody knows when it was submitted. Regions
 * that several threads have their shares of are no tasks (MARK_TEAM, MARK_SHARE).
 *
 * What a task depends on is not seen, but who makes it ready: it is the task that has just ended on the same thread, or
 * the one that runs there, or the program, which may have waited for tasks before. So each task has a chain of others
 * before it that really had to end first. The longest one is not longer than the critical path.
 *
 * Workers are told apart by their threads. A thread of the runtime is a worker where the model says which worker runs a
 * task (@worker); threads that run tasks between other things are not.
 */
#include "analysis/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define TASKS_MOST (1u << 22) /* in progress at a time: a job has fewer, a forged recording need not */

#define ROLES                                                                                       \
	(ROLE_BIT(ROLE_SUBMIT) | ROLE_BIT(ROLE_READY) | ROLE_BIT(ROLE_TASK) | ROLE_BIT(ROLE_DONE) | \
	 ROLE_BIT(ROLE_WAIT) | ROLE_BIT(ROLE_INIT) | ROLE_BIT(ROLE_TRANSFER) | ROLE_BIT(ROLE_COPY))

/* NULL: there are too many. 0 or -ENOMEM. */
static int add_task(struct task_event *t, uint64_t address, struct task **task)
{
	bool room = HASH_COUNT(t->s->all) < TASKS_MOST;

	*task = tasks_find_task(t, address, room);
	if (!*task && room)
		return -ENOMEM;
	t->pool->interrupted |= !*task;
	t->s->beyond += !*task;
	return 0;
}

/* SUBMIT, READY, TASK, DONE. */
static int tell_step(struct task_event *t)
{
	enum role role = t->probe->role;
	struct task *task = NULL;
	int64_t address;
	bool known;
	int error;

	if (!t->call->tells)
		return 0;
	error = tasks_find_pool(t, true) ?: tasks_find_member(t);
	if (error)
		return error;
	if (!t->pool->begun) {
		t->pool->begun = true;
		t->pool->begin = t->pool->now = t->event->time;
	}
	task_pool_advance(t->pool, t->event->time);
	known = task_call_number(t->s->d, t->span, t->call->task, &address) && address;
	/* What ends has begun: if it is over already, it was not the last one to run it. */
	if (known && (role == ROLE_DONE || (role == ROLE_TASK && t->event->type == EVENT_END)))
		task = tasks_find_task(t, (uint64_t)address, false);
	else if (known && add_task(t, (uint64_t)address, &task))
		return -ENOMEM;
	switch (role) {
	case ROLE_SUBMIT:
		return task_submit(t, task);
	case ROLE_TASK:
		return task_run(t, task);
	case ROLE_READY:
		return task ? task_become_ready(t, task) : 0;
	default:
		if (task)
			task_be_done(t, task);
		return 0;
	}
}

/* A worker waits for the data of a task that it is to run, maybe while it runs another one. 0 or -ENOMEM. */
static int fetch(struct task_event *t, bool *fetches)
{
	struct task_member *m = t->member;
	struct task *task;
	int64_t address;

	*fetches = false;
	if (!m->worker || !task_call_number(t->s->d, t->span, t->call->task, &address))
		return 0;
	if (add_task(t, (uint64_t)address, &task))
		return -ENOMEM;
	if (!task || task->step > TASK_READY)
		return 0; /* it runs elsewhere */
	*fetches = true;
	if (!m->depth) {
		task_worker_enter(t->pool, m, t->number, WORKER_DATA, task);
		m->released = false;
	}
	task_move(t, task, TASK_FETCHED);
	m->fetching++;
	t->pool->fetched++;
	return 0;
}

static void end_wait(struct task_event *t)
{
	struct task_member *m = t->member;

	if (!m->waits || --m->waits)
		return;
	task_count_down(&t->pool->waiting);
	/* What it waited for has ended; for which task of several it was is not told. */
	if (t->call->task < 0 && t->pool->latest_ended > m->waits_since)
		task_chain_longer(&m->program, &t->pool->latest);
}

static int tell_wait(struct task_event *t)
{
	int error = tasks_find_pool(t, false) ?: tasks_find_member(t);
	bool fetches;

	if (error)
		return error == -ENOENT ? 0 : error;
	task_pool_advance(t->pool, t->event->time);
	if (t->event->type == EVENT_END) {
		end_wait(t);
		return 0;
	}
	error = t->event->type == EVENT_ATOMIC ? 0 : fetch(t, &fetches);
	if (error || t->event->type == EVENT_ATOMIC || fetches || t->member->worker)
		return error;
	if (!t->member->waits++) {
		t->member->waits_since = t->event->time;
		t->pool->waiting++;
	}
	return 0;
}

/* A worker says that it begins to work. */
static int tell_init(struct task_event *t)
{
	int error;

	if (t->call->worker < 0 || t->event->type != EVENT_END)
		return 0;
	error = tasks_find_pool(t, true) ?: tasks_find_member(t);
	if (error)
		return error;
	task_pool_advance(t->pool, t->event->time);
	t->member->numbered = task_call_number(t->s->d, t->span, t->call->worker, &t->member->number);
	if (t->pool->has_workers)
		task_worker_found(t->pool, t->member);
	return 0;
}

static int take_event(struct task_event *t)
{
	switch (t->probe->role) {
	case ROLE_WAIT:
		return tell_wait(t);
	case ROLE_INIT:
		return tell_init(t);
	case ROLE_TRANSFER:
		return tasks_tell_transfer(t);
	case ROLE_COPY:
		return tasks_tell_copy(t);
	default:
		return tell_step(t);
	}
}

static void tell_level(const struct task_event *t, enum report_level level, uint64_t now, uint64_t *told)
{
	if (now == *told)
		return;
	*told = now;
	t->s->watch.level(t->s->watch.context, level, t->pool->process, t->pool->model, t->event->time, now);
}

static int tell_event(void *state, const struct definitions *d, const struct event *event)
{
	struct tasks *s = state;
	struct task_event t = { .s = s, .event = event, .span = event->span, .probe = &d->probes[event->span->probe] };
	int error;

	if (thread_is_left_out(d, event->span->thread))
		return 0;
	t.call = task_calls_of(&s->calls, event->span->probe);
	if (!t.call)
		return -ENOMEM;
	error = take_event(&t);
	if (error || !s->watch.level || !t.pool)
		return error;
	tell_level(&t, LEVEL_READY, t.pool->ready, &t.pool->told_ready);
	tell_level(&t, LEVEL_BLOCKED, t.pool->blocked, &t.pool->told_blocked);
	return 0;
}

static void watch(void *state, const struct report_watch *watch)
{
	((struct tasks *)state)->watch = *watch;
}

static int tell_gap(void *state, const struct definitions *d, const struct gap *gap)
{
	struct tasks *s = state;
	uint32_t process = d->threads[gap->thread].process;

	if (array_reach(&s->gaps, &s->ngaps, process + (size_t)1, sizeof(*s->gaps)))
		return -ENOMEM;
	s->gaps[process] += gap->count;
	return 0;
}

/* --- begin and end ------------------------------------------------------------------- */

static int begin(void **state, const struct definitions *d)
{
	struct tasks *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*state = s;
	s->d = d;
	return task_calls_open(&s->calls, d);
}

/* The pool of a probe's calls in a process; NULL: there is none. 0 or -ENOMEM. */
static int pool_of(struct tasks *s, uint32_t process, uint32_t probe, struct task_pool **pool)
{
	uint32_t model = tasks_first_of(s->d, &s->models, &s->nmodels, probe, false);
	const struct index_slot *slot;

	if (model == NO_INDEX)
		return -ENOMEM;
	slot = index_known(&s->by_pool, index_key(process, model));
	*pool = slot ? &s->pools[slot->value] : NULL;
	return 0;
}

/* Calls that the kernel has counted, and that are not on the timeline. Of a recording that was cut the gaps are known.
 * 0 or -ENOMEM. */
static int find_missing(struct tasks *s)
{
	const struct definitions *d = s->d;

	for (size_t i = 0; i < d->nsums; i++) {
		const struct def_sum *sum = &d->sums[i];
		const struct task_call *call = task_calls_of(&s->calls, sum->probe);
		struct task_pool *pool = NULL;

		if (!call || (call->tells && pool_of(s, d->threads[sum->thread].process, sum->probe, &pool)))
			return -ENOMEM;
		if (pool)
			pool->missing += sum->lost + sum->summed + sum->skipped;
	}
	for (size_t i = 0; i < s->npools; i++) {
		uint64_t gaps = s->pools[i].process < s->ngaps ? s->gaps[s->pools[i].process] : 0;

		if (!d->run.finished && gaps > s->pools[i].missing)
			s->pools[i].missing = gaps;
	}
	return 0;
}

/* Was its measurement off for a while? 0 or -ENOMEM. */
static int find_interrupted(struct tasks *s)
{
	bool *off = calloc(s->d->nprocesses + 1, sizeof(*off));

	if (!off)
		return -ENOMEM;
	for (size_t i = 0; i < s->d->ncontrols; i++)
		off[s->d->controls[i].process] = true;
	for (size_t i = 0; i < s->npools; i++)
		s->pools[i].interrupted |= s->pools[i].process < s->d->nprocesses && off[s->pools[i].process];
	free(off);
	return 0;
}

static int end(void *state, struct report *r)
{
	struct tasks *s = state;
	int error;

	error = find_missing(s) ?: find_interrupted(s) ?: tasks_sum_up(s);
	return error ?: tasks_tell(s, r);
}

static void forget_all(void *state)
{
	struct tasks *s = state;
	struct task *task, *next;
	struct task_kind_record *record, *after;

	if (!s)
		return;
	HASH_ITER (hh, s->all, task, next) {
		HASH_DEL(s->all, task);
		free(task);
	}
	HASH_ITER (hh, s->records, record, after) {
		HASH_DEL(s->records, record);
		free(record);
	}
	task_calls_close(&s->calls);
	free(s->models);
	free(s->events);
	free(s->pools);
	free(s->members);
	free(s->kinds);
	free(s->cells);
	free(s->pairs);
	free(s->by_pool.slots);
	free(s->by_member.slots);
	free(s->by_cell.slots);
	free(s->order);
	free(s->kind_order);
	free(s->gaps);
	free(s);
}

const struct analysis analysis_tasks = {
	.name = "tasks",
	.title = "Tasks and workers",
	.of_calls = true,
	.roles = ROLES,
	.worth = task_probe_tells,
	.begin = begin,
	.event = tell_event,
	.gap = tell_gap,
	.end = end,
	.print = tasks_print,
	.json = tasks_json,
	.tell = tasks_tell_kinds,
	.watch = watch,
	.free = forget_all,
};
