/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * levels.c - what goes up and down in the run, as the report's reading tells: memory in use, tasks that wait.
 *
 * Each has a few hundred points (export/series.h), which wait in memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/told.h"
#include "export/call.h"
#include "export/page/page.h"
#include "export/series.h"
#include "util/array.h"
#include "util/text.h"

#define SERIES_MOST 4096
#define SLOTS_MOST 166 /* of each, with three points at most */
#define SLOTS_LEAST 16
#define FULL_SERIES 128 /* up to so many processes each has as many slots */

struct level {
	enum report_level level;
	uint32_t process, probe; /* as told */
	struct series values;
	struct series_value *points;
	size_t count, room;
	struct level *next; /* of the process */
};

struct page_levels {
	const struct definitions *d;
	struct level **first; /* by process, those of all together last */
	struct level **all;
	size_t count, room;
	struct series_slots slots;
	uint64_t beyond; /* values of those for which there was no room */
	int error;
};

static const char *const names[LEVELS] = {
	[LEVEL_MEMORY] = "memory",
	[LEVEL_READY] = "tasks_ready",
	[LEVEL_BLOCKED] = "tasks_not_ready",
};

static int put_point(void *of, const struct series_value *value)
{
	struct level *one = of;

	if (array_one_more(&one->points, &one->room, one->count, sizeof(*one->points)))
		return -ENOMEM;
	one->points[one->count++] = *value;
	return 0;
}

static struct series_slots slots_of(const struct def_run *run, size_t nprocesses)
{
	uint64_t count = nprocesses > FULL_SERIES ? SLOTS_MOST * FULL_SERIES / nprocesses : SLOTS_MOST;
	uint64_t length = run->end > run->start ? run->end - run->start : 0;

	count = count < SLOTS_LEAST ? SLOTS_LEAST : count;
	return (struct series_slots){ run->start, run->start + length, length / count + 1, put_point };
}

struct page_levels *page_levels_new(const struct definitions *d)
{
	struct page_levels *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->d = d;
	l->slots = slots_of(&d->run, d->nprocesses);
	l->first = calloc(d->nprocesses + 1, sizeof(struct level *));
	if (l->first)
		return l;
	free(l);
	return NULL;
}

void page_levels_free(struct page_levels *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++) {
		free(l->all[i]->points);
		free(l->all[i]);
	}
	free(l->all);
	free(l->first);
	free(l);
}

/* --- what is told ---------------------------------------------------------------------- */

static const char *model_of(const struct page_levels *l, uint32_t probe)
{
	return l->d->probes[probe].model ?: "?";
}

/* NULL: there are too many, or out of memory, which l->error says. */
static struct level *level_of(struct page_levels *l, enum report_level level, uint32_t process, uint32_t probe)
{
	struct level **first = &l->first[process < l->d->nprocesses ? process : l->d->nprocesses], *one;

	for (one = *first; one; one = one->next)
		if (one->level == level &&
		    (one->probe == probe || same_text(model_of(l, one->probe), model_of(l, probe))))
			return one;
	if (l->count == SERIES_MOST)
		return NULL;
	one = calloc(1, sizeof(*one));
	if (!one || array_one_more(&l->all, &l->room, l->count, sizeof(*l->all))) {
		free(one);
		l->error = -ENOMEM;
		return NULL;
	}
	*one = (struct level){ .level = level, .process = process, .probe = probe, .next = *first };
	*first = l->all[l->count++] = one;
	return one;
}

void page_levels_note(void *context, enum report_level level, uint32_t process, uint32_t probe, uint64_t time,
		      uint64_t value)
{
	struct page_levels *l = context;
	struct level *one;

	if (l->error || probe >= l->d->nprobes || (process < l->d->nprocesses && l->d->processes[process].left_out))
		return;
	one = level_of(l, level, process, probe);
	if (one)
		l->error = series_set(&l->slots, &one->values, one, time, value);
	else
		l->beyond++;
}

/* --- the block ---------------------------------------------------------------------------- */

static void put_level(struct json *j, const struct page_levels *l, const struct level *one, uint64_t start)
{
	const struct def_process *process = one->process < l->d->nprocesses ? &l->d->processes[one->process] : NULL;

	json_newline(j);
	json_object(j);
	json_key_string(j, "what", names[one->level]);
	json_key_string(j, "model", model_of(l, one->probe));
	json_key_uint_known(j, "pid", process ? process->pid : 0, process);
	json_key_int_known(j, "rank", process ? process->rank : 0, process && process->rank >= 0);
	json_key(j, "at_ns");
	json_array(j);
	for (size_t i = 0; i < one->count; i++)
		json_uint(j, one->points[i].time > start ? one->points[i].time - start : 0);
	json_end_array(j);
	json_key(j, "values");
	json_array(j);
	for (size_t i = 0; i < one->count; i++)
		json_uint(j, one->points[i].value);
	json_end_array(j);
	json_end_object(j);
}

/* By process, and in each in the order in which they were met. */
static int in_order(const void *a, const void *b)
{
	const struct level *x = *(struct level *const *)a, *y = *(struct level *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->probe < y->probe ? -1 : x->probe > y->probe;
}

struct levels {
	const struct page_levels *all;
	uint64_t start;
};

static void put_all(struct json *j, const void *context)
{
	const struct levels *levels = context;
	const struct page_levels *l = levels->all;

	json_object(j);
	json_key_uint(j, "slot_ns", l->slots.width);
	json_key_uint(j, "left_out", l->beyond);
	json_key(j, "series");
	json_array(j);
	for (size_t i = 0; i < l->count; i++)
		put_level(j, l, l->all[i], levels->start);
	json_end_array(j);
	json_end_object(j);
}

int page_levels_end(struct page_levels *l, uint64_t start, struct block *block, struct spool *spool)
{
	const struct levels levels = { l, start };
	int error = l->error;

	for (size_t i = 0; i < l->count && !error; i++)
		error = series_end(&l->slots, &l->all[i]->values, l->all[i]);
	if (error || !l->count)
		return error;
	qsort(l->all, l->count, sizeof(struct level *), in_order);
	return block_json(block, spool, put_all, &levels);
}
