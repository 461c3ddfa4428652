/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c - counting tasks.
 *
 * A task is known by its address from its submission to its end; an address may be used again after that. The
 * definitions are those of StarPU 1.4's own counters: the program's tasks are counted when they are submitted, the
 * runtime's own (@internal) are not; but whatever a worker executes is counted there. A submission that failed is none.
 *
 * Where a task was submitted before the observation began, its later steps count for what they are: it becomes ready
 * without ever having been seen waiting.
 */
#include "analysis/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "analysis/task_calls.h"
#include "util/array.h"

#define TASKS_MOST (1u << 22) /* in progress at a time, and rows: a job has fewer, a forged recording need not */
#define ROWS_MOST (1u << 18)

enum state { UNSEEN, SUBMITTED, READY, RUNNING };

struct task_key {
	uint64_t address;
	uint32_t process, zero;
};

struct task {
	struct task_key key;
	enum state state;
	bool internal;
	uint32_t kind; /* row; NO_INDEX: none yet */
	UT_hash_handle hh;
};

struct row_key {
	uint64_t what;
	uint32_t process;
	uint32_t scope;
	const char *model;
};

struct row_record {
	struct row_key key;
	uint32_t row;
	UT_hash_handle hh;
};

struct counters {
	const struct definitions *d;
	struct task_calls calls;
	struct task *tasks;
	struct row_record *index;
	struct counter_row *rows;
	size_t nrows, room;
	uint32_t changed[COUNTER_SCOPES];
	size_t nchanged;
};

struct counters *counters_new(const struct definitions *d)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->d = d;
	if (task_calls_open(&c->calls, d)) {
		free(c);
		return NULL;
	}
	return c;
}

void counters_free(struct counters *c)
{
	struct task *task, *next;
	struct row_record *row, *after;

	if (!c)
		return;
	HASH_ITER (hh, c->tasks, task, next) {
		HASH_DEL(c->tasks, task);
		free(task);
	}
	HASH_ITER (hh, c->index, row, after) {
		HASH_DEL(c->index, row);
		free(row);
	}
	task_calls_close(&c->calls);
	free(c->rows);
	free(c);
}

/* --- rows ------------------------------------------------------------------ */

static uint32_t row_of(struct counters *c, enum counter_scope scope, uint32_t process, uint64_t what, const char *model)
{
	struct row_record *record;
	struct row_key key;

	memset(&key, 0, sizeof(key));
	key.what = what;
	key.process = process;
	key.scope = scope;
	for (size_t i = 0; i < c->nrows && !key.model; i++) /* equal names are one: there are few */
		if (!strcmp(c->rows[i].model, model))
			key.model = c->rows[i].model;
	if (!key.model)
		key.model = model;
	HASH_FIND(hh, c->index, &key, sizeof(key), record);
	if (record)
		return record->row;
	record = c->nrows < ROWS_MOST ? calloc(1, sizeof(*record)) : NULL;
	if (!record || array_one_more(&c->rows, &c->room, c->nrows, sizeof(*c->rows))) {
		free(record);
		return NO_INDEX;
	}
	record->key = key;
	record->row = c->nrows;
	HASH_ADD(hh, c->index, key, sizeof(record->key), record);
	if (!record->hh.tbl) {
		free(record);
		return NO_INDEX;
	}
	c->rows[c->nrows++] = (struct counter_row){ .scope = scope,
						    .process = process,
						    .model = key.model,
						    .worker = scope == COUNTER_WORKER ? (int64_t)what : 0,
						    .kind = scope == COUNTER_KIND ? what : 0 };
	return record->row;
}

static void change(struct counters *c, uint32_t row)
{
	if (c->nchanged < COUNTER_SCOPES)
		c->changed[c->nchanged++] = row;
}

/* --- tasks ----------------------------------------------------------------- */

static struct task *task_of(struct counters *c, uint32_t process, uint64_t address, bool add)
{
	struct task_key key = { .address = address, .process = process };
	struct task *task;

	HASH_FIND(hh, c->tasks, &key, sizeof(key), task);
	if (task || !add)
		return task;
	task = HASH_COUNT(c->tasks) < TASKS_MOST ? calloc(1, sizeof(*task)) : NULL;
	if (!task)
		return NULL;
	task->key = key;
	task->kind = NO_INDEX;
	HASH_ADD(hh, c->tasks, key, sizeof(task->key), task);
	if (!task->hh.tbl) {
		free(task);
		return NULL;
	}
	return task;
}

static void raise(uint64_t *now, uint64_t *peak)
{
	if (++*now > *peak)
		*peak = *now;
}

/* What is done to the process's row and the kind's. */
static void leave(struct counter_row *row, enum state state)
{
	if (state == SUBMITTED && row->now_submitted)
		row->now_submitted--;
	if (state == READY && row->now_ready)
		row->now_ready--;
}

static void enter(struct counter_row *row, enum state state)
{
	if (state == SUBMITTED)
		raise(&row->now_submitted, &row->peak_submitted);
	if (state == READY)
		raise(&row->now_ready, &row->peak_ready);
}

struct step {
	struct counters *c;
	const struct event *event;
	const struct task_call *facts;
	struct task *task;
	uint32_t global, kind; /* rows; kind NO_INDEX: tasks of this runtime have none */
};

static void move(struct step *s, enum state state)
{
	struct counters *c = s->c;

	if (!s->task->internal) {
		leave(&c->rows[s->global], s->task->state);
		enter(&c->rows[s->global], state);
		if (s->kind != NO_INDEX) {
			leave(&c->rows[s->kind], s->task->state);
			enter(&c->rows[s->kind], state);
		}
	}
	s->task->state = state;
}

static void count_submitted(struct counter_row *row, bool internal, bool sorts)
{
	if (internal)
		row->internal++;
	else
		row->submitted++;
	row->unsorted += !sorts;
}

static void submit(struct step *s)
{
	struct counters *c = s->c;
	/* A model without internal tasks tells by that, too, whose they are. */
	bool sorts = s->facts->internal < 0 || s->facts->sorts;

	count_submitted(&c->rows[s->global], s->task->internal, sorts);
	if (s->kind != NO_INDEX)
		count_submitted(&c->rows[s->kind], s->task->internal, sorts);
	if (s->task->state != UNSEEN) /* it runs again, or its address does */
		move(s, UNSEEN);
	move(s, SUBMITTED);
	change(c, s->global);
	if (s->kind != NO_INDEX)
		change(c, s->kind);
}

static int finish_run(struct step *s)
{
	const struct span *span = s->event->span;
	struct counters *c = s->c;
	int64_t worker;

	c->rows[s->global].executed++;
	c->rows[s->global].busy += span->end - span->start;
	change(c, s->global);
	if (s->kind != NO_INDEX) {
		c->rows[s->kind].executed++;
		c->rows[s->kind].busy += span->end - span->start;
		change(c, s->kind);
	}
	if (!task_call_number(c->d, span, s->facts->worker, &worker))
		worker = -1 - (int64_t)c->d->threads[span->thread].tid; /* its thread is all that is known of it */
	uint32_t row = row_of(c, COUNTER_WORKER, s->task->key.process, (uint64_t)worker,
			      c->d->probes[span->probe].model);

	if (row == NO_INDEX)
		return -ENOMEM;
	c->rows[row].name = c->d->threads[span->thread].name;
	c->rows[row].executed++;
	c->rows[row].busy += span->end - span->start;
	change(c, row);
	return 0;
}

static void forget(struct counters *c, struct task *task)
{
	HASH_DEL(c->tasks, task);
	free(task);
}

static int take_step(struct step *s, enum role role)
{
	const struct span *span = s->event->span;
	int64_t error;

	switch (role) {
	case ROLE_SUBMIT:
		if (s->event->type != EVENT_END && !(task_call_number(s->c->d, span, s->facts->error, &error) && error))
			submit(s);
		return 0;
	case ROLE_READY:
		if (s->event->type != EVENT_END)
			move(s, READY);
		return 0;
	case ROLE_TASK:
		if (s->event->type != EVENT_END)
			move(s, RUNNING);
		if (s->event->type == EVENT_START || span->reason == GB_END_DETACH)
			return 0;
		if (!s->facts->has_done) {
			int result = finish_run(s);

			forget(s->c, s->task);
			return result;
		}
		return finish_run(s);
	default: /* ROLE_DONE */
		move(s, UNSEEN);
		forget(s->c, s->task);
		return 0;
	}
}

int counters_event(void *context, const struct definitions *d, const struct event *event)
{
	struct counters *c = context;
	const struct def_probe *probe = &d->probes[event->span->probe];
	uint32_t process = d->threads[event->span->thread].process;
	struct step s = { .c = c, .event = event, .kind = NO_INDEX };
	int64_t task, kind, internal = 0;

	c->nchanged = 0;
	if (probe->role != ROLE_SUBMIT && probe->role != ROLE_READY && probe->role != ROLE_TASK &&
	    probe->role != ROLE_DONE)
		return 0;
	s.facts = task_calls_of(&c->calls, event->span->probe);
	if (!s.facts)
		return -ENOMEM;
	if (!task_call_number(d, event->span, s.facts->task, &task) || !task)
		return 0;
	s.task = task_of(c, process, (uint64_t)task, true);
	s.global = row_of(c, COUNTER_GLOBAL, process, 0, probe->model);
	if (!s.task || s.global == NO_INDEX)
		return -ENOMEM;
	if (task_call_number(d, event->span, s.facts->internal, &internal) && event->type != EVENT_END)
		s.task->internal = internal != 0;
	else if (probe->role == ROLE_SUBMIT && event->type != EVENT_END)
		s.task->internal = false;
	if (task_call_number(d, event->span, s.facts->kind, &kind)) {
		s.kind = row_of(c, COUNTER_KIND, process, (uint64_t)kind, probe->model);
		if (s.kind == NO_INDEX)
			return -ENOMEM;
		if (!c->rows[s.kind].name)
			c->rows[s.kind].name = task_call_kind_name(&c->calls, s.facts, event->span, NULL);
	}
	return take_step(&s, probe->role);
}

size_t counters_changed(const struct counters *c, const struct counter_row *rows[COUNTER_SCOPES])
{
	for (size_t i = 0; i < c->nchanged; i++)
		rows[i] = &c->rows[c->changed[i]];
	return c->nchanged;
}

const struct counter_row *counters_rows(const struct counters *c, size_t *count)
{
	*count = c->nrows;
	return c->rows;
}

bool counters_know_internal(const struct counter_row *row)
{
	return !row->unsorted;
}

bool counters_know_peaks(const struct counters *c, const struct counter_row *row)
{
	return task_model_has(c->d, row->model, ROLE_READY) && counters_know_internal(row);
}

bool counters_know_worker(const struct counter_row *row)
{
	return row->worker >= 0;
}

uint64_t counters_missing(const struct counters *c)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < c->d->nsums; i++) {
		enum role role = c->d->probes[c->d->sums[i].probe].role;

		if (role == ROLE_SUBMIT || role == ROLE_READY || role == ROLE_TASK || role == ROLE_DONE)
			missing += c->d->sums[i].lost + c->d->sums[i].summed + c->d->sums[i].skipped;
	}
	return missing;
}
