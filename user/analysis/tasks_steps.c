/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_steps.c - the steps of a task: submitted, ready, running, over.
 */
#include "analysis/tasks.h"

#include <errno.h>
#include <stdlib.h>

/* --- chains ---------------------------------------------------------------------- */

void task_chain_longer(struct task_chain *chain, const struct task_chain *other)
{
	if (other->time > chain->time)
		*chain = *other;
}

/* What had to end before something that this thread does now. */
static struct task_chain chain_here(const struct task_event *t)
{
	const struct task_member *m = t->member;

	if (m->depth)
		return (struct task_chain){ .time = m->running.time + task_time(m->began, t->pool->now),
					    .tasks = m->running.tasks + 1 };
	if (m->worker)
		return m->released ? m->running : (struct task_chain){ 0 };
	return m->program;
}

/* --- the steps of a task ------------------------------------------------------------ */

static void count_latency(struct task_latency *latency, uint64_t time)
{
	latency->count++;
	latency->sum += time;
	if (time > latency->most)
		latency->most = time;
}

void task_count_down(uint64_t *count)
{
	if (*count)
		--*count;
}

void task_move(struct task_event *t, struct task *task, enum task_step to)
{
	if (task->step == TASK_SUBMITTED)
		task_count_down(&t->pool->blocked);
	if (task->step == TASK_READY)
		task_count_down(&t->pool->ready);
	if (task->step == TASK_FETCHED && t->member->fetching)
		t->member->fetching--;
	t->pool->blocked += to == TASK_SUBMITTED;
	t->pool->ready += to == TASK_READY;
	task->step = to;
}

static void forget(struct task_event *t, struct task *task)
{
	task_move(t, task, TASK_UNSEEN);
	HASH_DEL(t->s->all, task);
	free(task);
}

/* The kind of the call; where it does not tell one, that of the task. 0 or -ENOMEM. */
static int learn_kind(struct task_event *t, struct task *task, uint32_t *kind)
{
	bool says = t->call->kind >= 0 || t->call->nnames, beyond = false;

	*kind = task ? task->kind : NO_INDEX;
	if (*kind != NO_INDEX && !says && t->probe->role != ROLE_SUBMIT)
		return 0;
	if (!says && t->probe->role != ROLE_TASK && t->probe->role != ROLE_SUBMIT)
		return 0;
	*kind = tasks_find_kind(t, &beyond);
	if (*kind == NO_INDEX && !beyond)
		return -ENOMEM;
	t->s->beyond += beyond;
	if (task && task->kind == NO_INDEX)
		task->kind = *kind;
	return 0;
}

static void note_site(struct chief_site *chief, uint32_t site)
{
	if (!chief->lead)
		chief->site = site;
	if (chief->site == site)
		chief->lead++;
	else
		chief->lead--;
}

int task_submit(struct task_event *t, struct task *task)
{
	uint32_t kind;
	int64_t error;

	if (t->event->type == EVENT_END) {
		t->member->submitting += task_time(t->span->start, t->span->end);
		return 0;
	}
	if (task_call_number(t->s->d, t->span, t->call->error, &error) && error)
		return 0;
	if (learn_kind(t, task, &kind))
		return -ENOMEM;
	t->pool->submitted++;
	t->member->submitted++;
	if (kind != NO_INDEX) {
		t->s->kinds[kind].submitted++;
		note_site(&t->s->kinds[kind].site, t->span->site);
	}
	if (!task)
		return 0;
	task_move(t, task, TASK_SUBMITTED);
	task->kind = kind;
	task->submit_seen = true;
	task->ready_seen = false;
	task->submitted = t->pool->now;
	task->site = t->span->site;
	task->chain = chain_here(t);
	return 0;
}

int task_become_ready(struct task_event *t, struct task *task)
{
	struct task_chain chain = chain_here(t);
	uint32_t kind;

	if (t->event->type == EVENT_END || task->step == TASK_READY)
		return 0;
	if (learn_kind(t, task, &kind))
		return -ENOMEM;
	if (task->step == TASK_SUBMITTED && kind != NO_INDEX)
		count_latency(&t->s->kinds[kind].blocked, task_time(task->submitted, t->pool->now));
	task_move(t, task, TASK_READY);
	task->ready_seen = true;
	task->ready_by = t->number;
	task->ready = t->pool->now;
	task->passed = t->pool->passed[IDLE_READY];
	task_chain_longer(&task->chain, &chain);
	return 0;
}

static enum worker_state next_state(const struct task_member *m)
{
	return m->fetching ? WORKER_DATA : WORKER_FREE;
}

static int begin_task(struct task_event *t, struct task *task)
{
	struct task_member *m = t->member;
	uint32_t kind;

	if (learn_kind(t, task, &kind))
		return -ENOMEM;
	if (task) {
		/* Several workers may run one task: the first is the one that it waited for. */
		bool first = task->step != TASK_RUNS && task->step != TASK_RAN;

		if (first && kind != NO_INDEX && task->ready_seen)
			count_latency(&t->s->kinds[kind].waited, task_time(task->ready, t->pool->now));
		if (first && kind != NO_INDEX && task->submit_seen)
			count_latency(&t->s->kinds[kind].started, task_time(task->submitted, t->pool->now));
		t->pool->matched += first && task->submit_seen;
		t->pool->unsubmitted += first && !task->submit_seen;
		task_move(t, task, TASK_RUNS);
	}
	if (t->s->watch.task)
		task_tell_run(t, task, kind);
	if (m->depth++)
		return 0;
	m->began = t->pool->now;
	m->running = task ? task->chain : (struct task_chain){ 0 };
	m->released = false;
	m->class = tasks_first_of(t->s->d, &t->s->events, &t->s->nevents, t->span->probe, true);
	if (m->class == NO_INDEX)
		return -ENOMEM;
	if (!t->pool->has_workers)
		return 0;
	if (!m->numbered)
		m->numbered = task_call_number(t->s->d, t->span, t->call->worker, &m->number);
	task_worker_found(t->pool, m);
	task_worker_enter(t->pool, m, t->number, WORKER_RUNS, task);
	return 0;
}

void task_cell_widen(struct task_cell *cell, uint64_t width)
{
	for (; cell->width < width; cell->width *= 2)
		for (size_t i = 0; i < HISTORY; i++) {
			struct task_part first = 2 * i < HISTORY ? cell->history[2 * i] : (struct task_part){ 0 };
			struct task_part second = 2 * i < HISTORY ? cell->history[2 * i + 1] : (struct task_part){ 0 };

			cell->history[i] = (struct task_part){ first.count + second.count, first.time + second.time };
		}
}

/* All cells of a pool have parts of the same length, as long as all of its time needs. */
static void note_history(struct task_pool *pool, struct task_cell *cell, uint64_t time)
{
	uint64_t at = task_time(pool->begin, pool->now);

	while (at / pool->width >= HISTORY)
		pool->width *= 2;
	task_cell_widen(cell, pool->width);
	cell->history[at / pool->width].count++;
	cell->history[at / pool->width].time += time;
}

/* It has run, for as long as is known. 0 or -ENOMEM. */
static int count_run(struct task_event *t, uint32_t kind)
{
	struct tasks *s = t->s;
	uint64_t time = task_time(t->span->start, t->span->end);
	struct task_cell *cell;
	uint32_t number;
	bool beyond;

	t->pool->executed++;
	t->member->executed++;
	if (kind == NO_INDEX)
		return 0;
	s->kinds[kind].executed++;
	s->kinds[kind].time += time;
	number = tasks_find_cell(s, t->number, kind, &beyond);
	s->beyond += number == NO_INDEX && beyond;
	if (number == NO_INDEX)
		return beyond ? 0 : -ENOMEM;
	cell = &s->cells[number];
	sample_add(&cell->times, (double)time);
	cell->total += time;
	cell->least = time < cell->least ? time : cell->least;
	cell->most = time > cell->most ? time : cell->most;
	note_history(t->pool, cell, time);
	return 0;
}

static int end_task(struct task_event *t, struct task *task)
{
	struct task_member *m = t->member;
	bool over = t->span->reason != GB_END_DETACH && t->span->reason != GB_END_OFF;
	uint32_t kind;

	if (learn_kind(t, task, &kind))
		return -ENOMEM;
	t->pool->unfinished += !over;
	if (over && count_run(t, kind))
		return -ENOMEM;
	task_pool_last(t->pool);
	if (task && over)
		task_move(t, task, TASK_RAN);
	if (!m->depth || --m->depth) {
		if (task && over && !t->call->has_done)
			forget(t, task);
		return 0;
	}
	m->running.time += task_time(m->began, t->pool->now);
	m->running.tasks++;
	m->released = over;
	if (over) {
		task_chain_longer(&t->pool->longest, &m->running);
		t->pool->latest = m->running;
		t->pool->latest_ended = t->pool->now;
	}
	if (m->worker) {
		m->ending = task ? task->key.address : 0;
		task_worker_enter(t->pool, m, t->number, task && t->call->has_done ? WORKER_ENDS : next_state(m), NULL);
	}
	if (task && over && !t->call->has_done)
		forget(t, task);
	return 0;
}

int task_run(struct task_event *t, struct task *task)
{
	if (t->event->type == EVENT_ATOMIC) {
		t->pool->missing++; /* how long is not known */
		return 0;
	}
	return t->event->type == EVENT_START ? begin_task(t, task) : end_task(t, task);
}

void task_be_done(struct task_event *t, struct task *task)
{
	struct task_member *m = t->member;

	if (t->event->type == EVENT_END)
		return;
	task_pool_last(t->pool);
	if (m->worker && m->state == WORKER_ENDS && m->ending == task->key.address)
		task_worker_enter(t->pool, m, t->number, next_state(m), NULL);
	forget(t, task);
}
