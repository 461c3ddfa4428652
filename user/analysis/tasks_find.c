/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_find.c - which runtimes, threads, kinds of tasks and tasks there are: each is met in some call.
 */
#include "analysis/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define KINDS_MOST 65536
#define CELLS_MOST (1u << 20)
#define FIRST_WIDTH 1024 /* ns: of a part of the history */

/* The first probe of the same model, and for `event` of the same event, too. */
uint32_t tasks_first_probe(const struct definitions *d, uint32_t probe, bool event)
{
	for (uint32_t i = 0; i < probe; i++)
		if (!strcmp(d->probes[i].model, d->probes[probe].model) &&
		    (!event || !strcmp(d->probes[i].event, d->probes[probe].event)))
			return i;
	return probe;
}

/* Looked up once: first[] holds the answer + 1. NO_INDEX: out of memory. */
uint32_t tasks_first_of(const struct definitions *d, uint32_t **first, size_t *count, uint32_t probe, bool event)
{
	if (array_reach(first, count, probe + (size_t)1, sizeof(**first)))
		return NO_INDEX;
	if (!(*first)[probe])
		(*first)[probe] = tasks_first_probe(d, probe, event) + 1;
	return (*first)[probe] - 1;
}

static bool says_worker(const struct def_probe *probe)
{
	for (uint32_t i = 0; i < probe->nvalues; i++)
		if (probe->values[i].meaning == MEANING_WORKER)
			return true;
	return false;
}

static struct task_pool pool_new(const struct tasks *s, uint32_t process, uint32_t model)
{
	const char *name = s->d->probes[model].model;
	struct task_pool pool = { .process = process, .model = model, .width = FIRST_WIDTH };

	for (size_t i = 0; i < s->d->nprobes; i++)
		pool.has_workers |= s->d->probes[i].role == ROLE_TASK && !strcmp(s->d->probes[i].model, name) &&
				    says_worker(&s->d->probes[i]);
	pool.knows_ready = task_model_has(s->d, name, ROLE_READY);
	pool.knows_done = task_model_has(s->d, name, ROLE_DONE);
	return pool;
}

/* add: also where there is none yet. 0, -ENOENT or -ENOMEM. */
int tasks_find_pool(struct task_event *t, bool add)
{
	struct tasks *s = t->s;
	uint32_t model = tasks_first_of(s->d, &s->models, &s->nmodels, t->span->probe, false);
	uint32_t process = s->d->threads[t->span->thread].process;
	const struct index_slot *known;
	struct index_slot *slot;

	if (model == NO_INDEX)
		return -ENOMEM;
	known = index_known(&s->by_pool, index_key(process, model));
	if (!known && !add)
		return -ENOENT;
	if (!known) {
		if (array_one_more(&s->pools, &s->pools_room, s->npools, sizeof(*s->pools)))
			return -ENOMEM;
		slot = index_find(&s->by_pool, index_key(process, model));
		if (!slot)
			return -ENOMEM;
		s->pools[s->npools] = pool_new(s, process, model);
		slot->value = s->npools++;
		known = slot;
	}
	t->pool_number = known->value;
	t->pool = &s->pools[t->pool_number];
	return 0;
}

/* 0 or -ENOMEM. */
int tasks_find_member(struct task_event *t)
{
	struct tasks *s = t->s;
	struct index_slot *slot = index_find(&s->by_member, index_key(t->span->thread, t->pool_number));

	if (!slot)
		return -ENOMEM;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&s->members, &s->members_room, s->nmembers, sizeof(*s->members)))
			return -ENOMEM;
		s->members[s->nmembers] = (struct task_member){ .thread = t->span->thread,
								.pool = t->pool_number,
								.class = NO_INDEX };
		slot->value = s->nmembers++;
	}
	t->number = slot->value;
	t->member = &s->members[t->number];
	return 0;
}

/* NO_INDEX: out of memory, or (*beyond) too many. */
uint32_t tasks_find_kind(struct task_event *t, bool *beyond)
{
	struct tasks *s = t->s;
	struct task_kind_record *record;
	struct task_kind_key key;
	uint64_t what = 0;
	const char *name = task_call_kind_name(&s->calls, t->call, t->span, &what);
	int64_t kind;
	bool says = task_call_number(s->d, t->span, t->call->kind, &kind);

	if (says)
		what = (uint64_t)kind;
	memset(&key, 0, sizeof(key));
	key.what = what;
	key.pool = t->pool_number;
	key.event = what || says ? NO_INDEX : tasks_first_of(s->d, &s->events, &s->nevents, t->span->probe, true);
	if (!what && !says && key.event == NO_INDEX)
		return NO_INDEX;
	HASH_FIND(hh, s->records, &key, sizeof(key), record);
	if (!record) {
		*beyond = s->nkinds >= KINDS_MOST;
		if (*beyond || array_one_more(&s->kinds, &s->kinds_room, s->nkinds, sizeof(*s->kinds)))
			return NO_INDEX;
		record = calloc(1, sizeof(*record));
		if (!record)
			return NO_INDEX;
		record->key = key;
		record->kind = s->nkinds;
		HASH_ADD(hh, s->records, key, sizeof(record->key), record);
		if (!record->hh.tbl) {
			free(record);
			return NO_INDEX;
		}
		s->kinds[s->nkinds++] = (struct task_kind){ .pool = t->pool_number,
							    .probe = t->span->probe,
							    .what = what,
							    .empty = says && !what,
							    .site = { .site = NO_INDEX } };
	}
	if (!s->kinds[record->kind].name)
		s->kinds[record->kind].name = name;
	return record->kind;
}

/* NULL: there is none, or out of memory, or (t->s->beyond) too many. */
struct task *tasks_find_task(struct task_event *t, uint64_t address, bool add)
{
	struct task_key key = { .address = address, .pool = t->pool_number };
	struct task *task;

	HASH_FIND(hh, t->s->all, &key, sizeof(key), task);
	if (task || !add)
		return task;
	task = calloc(1, sizeof(*task));
	if (!task)
		return NULL;
	task->key = key;
	task->kind = NO_INDEX;
	HASH_ADD(hh, t->s->all, key, sizeof(task->key), task);
	if (!task->hh.tbl) {
		free(task);
		return NULL;
	}
	return task;
}

uint32_t tasks_find_cell(struct tasks *s, uint32_t member, uint32_t kind, bool *beyond)
{
	struct index_slot *slot;

	*beyond = s->ncells >= CELLS_MOST && !index_known(&s->by_cell, index_key(member, kind));
	if (*beyond)
		return NO_INDEX;
	slot = index_find(&s->by_cell, index_key(member, kind));
	if (!slot)
		return NO_INDEX;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&s->cells, &s->cells_room, s->ncells, sizeof(*s->cells)))
			return NO_INDEX;
		s->cells[s->ncells] = (struct task_cell){
			.member = member, .kind = kind, .least = UINT64_MAX, .width = FIRST_WIDTH
		};
		slot->value = s->ncells++;
	}
	return slot->value;
}
