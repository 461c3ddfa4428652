/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks.c - tasks by worker in the page: as they are told, and as blocks.
 *
 * The longest are kept in a heap with the shortest on top, which goes to the cells when a longer one comes.
 */
#include "export/page/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "recording/labels.h"
#include "util/array.h"

#define BINS 1024
#define NAME_SIZE 1024
#define DEEP_MOST 64

struct page_tasks *page_tasks_new(const struct recording *chosen, const struct definitions *d, size_t most)
{
	struct page_tasks *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->d = d;
	t->chosen = chosen;
	t->start = d->run.start;
	t->end = d->run.end > d->run.start ? d->run.end : d->run.start;
	t->nbins = BINS;
	t->most = most;
	t->lanes = calloc(d->nthreads + 1, sizeof(*t->lanes));
	if (t->lanes)
		return t;
	page_tasks_free(t);
	return NULL;
}

void page_tasks_free(struct page_tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nkinds; i++)
		free((char *)t->kinds[i].name);
	free(t->kinds);
	free(t->lanes);
	free(t->heap);
	free(t->cells);
	free(t);
}

/* --- as they come ----------------------------------------------------------------------- */

static uint64_t length_of(const struct told_task *task)
{
	return task->end - task->start;
}

static void swap(struct told_task *a, struct told_task *b)
{
	struct told_task c = *a;

	*a = *b;
	*b = c;
}

static void rise(struct told_task *heap, size_t at)
{
	for (; at && length_of(&heap[at]) < length_of(&heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sink(struct told_task *heap, size_t count, size_t at)
{
	for (size_t least = at;; at = least) {
		for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < count; below++)
			if (length_of(&heap[below]) < length_of(&heap[least]))
				least = below;
		if (least == at)
			return;
		swap(&heap[at], &heap[least]);
	}
}

/* 0 or -ENOMEM. */
static int keep(struct page_tasks *t, const struct told_task *task)
{
	struct told_task out = *task;

	if (t->count < t->most) {
		if (!t->heap)
			t->heap = malloc(t->most * sizeof(*t->heap));
		if (!t->heap)
			return -ENOMEM;
		t->heap[t->count] = *task;
		rise(t->heap, t->count++);
		return 0;
	}
	if (t->count && length_of(task) > length_of(&t->heap[0])) {
		out = t->heap[0];
		t->heap[0] = *task;
		sink(t->heap, t->count, 0);
	}
	if (length_of(&out) >= t->shorter_than)
		t->shorter_than = length_of(&out) + 1;
	return task_cells_add(t, &out);
}

static int count_task(struct page_tasks *t, const struct told_task *task)
{
	struct task_lane *lane = &t->lanes[task->thread];
	uint32_t kind = task_kind_index(task->kind);
	size_t before = t->nkinds, room = t->nkinds;

	lane->thread = task->thread;
	lane->any = true;
	lane->all++;
	if (task->numbered && !lane->numbered) {
		lane->numbered = true;
		lane->worker = task->worker;
	}
	if (kind >= before) {
		if (array_reach(&t->kinds, &room, kind + (size_t)1, sizeof(*t->kinds)))
			return -ENOMEM;
		t->nkinds = room;
	}
	t->kinds[kind].any = true;
	t->kinds[kind].tasks++;
	t->kinds[kind].time += length_of(task);
	t->all++;
	return keep(t, task);
}

void page_tasks_note(void *context, const struct told_task *task)
{
	struct page_tasks *t = context;

	if (!t->error && recording_has_chosen(t->chosen, task->thread, task->start, task->end))
		t->error = count_task(t, task);
}

int page_tasks_kind(void *context, const struct told_kind *kind)
{
	struct page_tasks *t = context;
	size_t index = task_kind_index(kind->number);

	if (index >= t->nkinds || !t->kinds[index].any || t->kinds[index].name)
		return 0;
	t->kinds[index].name = strdup(kind->name);
	return t->kinds[index].name ? 0 : -ENOMEM;
}

/* --- order ---------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b, void *tasks)
{
	const struct page_tasks *t = tasks;
	const struct task_kind_sum *x = &t->kinds[*(const uint32_t *)a], *y = &t->kinds[*(const uint32_t *)b];

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Those that are there, the most time first; each knows its place then. NULL: out of memory. */
static uint32_t *order_kinds(struct page_tasks *t, size_t *count)
{
	uint32_t *order = calloc(t->nkinds + 1, sizeof(*order));

	*count = 0;
	for (uint32_t i = 0; order && i < t->nkinds; i++)
		if (t->kinds[i].any)
			order[(*count)++] = i;
	if (order)
		qsort_r(order, *count, sizeof(*order), by_time, t);
	for (size_t i = 0; order && i < *count; i++)
		t->kinds[order[i]].place = i;
	return order;
}

static int lanes_in_order(const void *a, const void *b, void *tasks)
{
	const struct page_tasks *t = tasks;
	const struct task_lane *x = &t->lanes[*(const uint32_t *)a], *y = &t->lanes[*(const uint32_t *)b];

	if (t->d->threads[x->thread].process == t->d->threads[y->thread].process && x->numbered && y->numbered &&
	    x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return thread_order(t->d, x->thread, y->thread);
}

static uint32_t *order_lanes(struct page_tasks *t, size_t *count)
{
	uint32_t *order = calloc(t->d->nthreads + 1, sizeof(*order));

	*count = 0;
	for (uint32_t i = 0; order && i < t->d->nthreads; i++)
		if (t->lanes[i].any)
			order[(*count)++] = i;
	if (order)
		qsort_r(order, *count, sizeof(*order), lanes_in_order, t);
	return order;
}

struct placing {
	const struct page_tasks *tasks;
	const uint32_t *places; /* by thread: of its lane */
};

/* By lane; what is around before what is inside. */
static int tasks_in_order(const void *a, const void *b, void *context)
{
	const struct placing *p = context;
	const struct told_task *x = a, *y = b;

	if (x->thread != y->thread)
		return p->places[x->thread] < p->places[y->thread] ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void put_u32(struct block *block, uint32_t value)
{
	uint8_t bytes[4] = { value, value >> 8, value >> 16, value >> 24 };

	block_put(block, (const char *)bytes, sizeof(bytes));
}

static void put_kinds(struct json *j, const struct page_tasks *t, const uint32_t *kinds, size_t count)
{
	json_key(j, "kinds");
	json_array(j);
	for (size_t i = 0; i < count; i++) {
		const struct task_kind_sum *kind = &t->kinds[kinds[i]];

		json_object(j);
		json_key_string(j, "name", kind->name);
		json_key_uint(j, "tasks", kind->tasks);
		json_key_uint(j, "time_ns", kind->time);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_lanes(struct json *j, const struct page_tasks *t, const uint32_t *lanes, size_t count,
		      const uint32_t *places)
{
	uint64_t first = 0;

	json_key(j, "lanes");
	json_array(j);
	for (size_t i = 0; i < count; i++) {
		const struct task_lane *lane = &t->lanes[lanes[i]];
		const struct def_process *process = thread_process(t->d, lane->thread);
		struct who who = who_is_thread(t->d, lane->thread);
		char name[NAME_SIZE];

		json_newline(j);
		json_object(j);
		json_key_uint_known(j, "thread", places[lane->thread], places[lane->thread] != NO_INDEX);
		json_key_int_known(j, "worker", lane->worker, lane->numbered);
		lane_text(&who, 0, name, sizeof(name));
		json_key_string(j, "name", name);
		process_text(t->d, t->d->threads[lane->thread].process, name, sizeof(name));
		json_key_string(j, "process", name);
		json_key_int_known(j, "rank", process ? process->rank : 0, process && process->rank >= 0);
		json_key_uint(j, "calls", lane->drawn);
		json_key_uint(j, "first", first);
		json_key_uint(j, "all", lane->all);
		json_end_object(j);
		first += lane->drawn;
	}
	json_end_array(j);
}

static uint32_t site_number(const struct page_tasks *t, struct listed *sites, uint32_t site, int *error)
{
	char label[LABEL_ROOM];
	uint32_t number;

	if (site >= t->d->nsites)
		return 0;
	site_label(t->d, site, label, sizeof(label));
	number = listed_number(sites, label, strlen(label), NO_INDEX - 1, error);
	return number == NO_INDEX ? 0 : number + 1;
}

/* How many of the drawn ones are around each. */
static unsigned level_of(const struct told_task *task, uint64_t ends[DEEP_MOST], unsigned *deep, uint32_t *thread)
{
	if (*thread != task->thread)
		*deep = 0;
	*thread = task->thread;
	while (*deep && ends[*deep - 1] <= task->start)
		--*deep;
	if (*deep == DEEP_MOST)
		return DEEP_MOST;
	ends[(*deep)++] = task->end;
	return *deep - 1;
}

enum column { START, DURATION, LEVEL, KIND, SITE, WORDS, END, SUBMITTED, READY, READY_BY, COLUMNS };

/* Columns of bytes, one at a time, as those of calls; and three more. */
static int put_column(struct page_tasks *t, enum column column, const uint32_t *places, struct listed *sites,
		      struct buffer *bytes)
{
	uint64_t before = 0, ends[DEEP_MOST];
	uint32_t thread = NO_INDEX, of = NO_INDEX;
	unsigned deep = 0;
	int error = 0;

	buffer_clear(bytes);
	for (size_t i = 0; i < t->count; i++) {
		const struct told_task *task = &t->heap[i];
		uint64_t since = task->start > t->start ? task->start - t->start : 0, value = 0;

		if (thread != task->thread)
			before = 0;
		thread = task->thread;
		switch (column) {
		case START:
			value = since - before;
			break;
		case DURATION:
			value = length_of(task);
			break;
		case LEVEL:
			value = level_of(task, ends, &deep, &of);
			break;
		case KIND:
			value = t->kinds[task_kind_index(task->kind)].place;
			break;
		case SITE:
			value = site_number(t, sites, task->site, &error);
			break;
		case END:
			value = task->open;
			break;
		case SUBMITTED:
			value = task->submit_seen && task->submitted <= task->start ? task->start - task->submitted + 1
										    : 0;
			break;
		case READY:
			value = task->ready_seen && task->ready <= task->start ? task->start - task->ready + 1 : 0;
			break;
		case READY_BY:
			value = task->ready_seen && places[task->ready_by] != NO_INDEX ? places[task->ready_by] + 1 : 0;
			break;
		default:
			break;
		}
		buffer_put_varint(bytes, value); /* levels and ends are below 128: a byte */
		before = since;
	}
	return bytes->failed ? -ENOMEM : error;
}

static int put_tasks(struct page_tasks *t, struct block *block, struct spool *spool, const uint32_t *places,
		     struct listed *sites)
{
	struct buffer bytes = { 0 };
	int error = 0, ended;

	block_begin(block, spool);
	for (int column = 0; column < COLUMNS && !error; column++) {
		error = put_column(t, column, places, sites, &bytes);
		put_u32(block, bytes.size);
		if (!error)
			error = block_put(block, (const char *)bytes.data, bytes.size);
	}
	buffer_free(&bytes);
	ended = block_end(block);
	return error ? error : ended;
}

/* Of one bin: cells of different kinds, one after the other. */
static void put_bin(const struct page_tasks *t, const struct task_cell *cells, size_t count, struct buffer *bytes)
{
	uint64_t groups[TASK_GROUPS] = { 0 }, tasks = 0, most = 0, width = (t->end - t->start) / t->nbins ?: 1;
	unsigned ngroups = 0;
	uint32_t kind = t->kinds[cells[0].kind].place;

	for (size_t i = 0; i < count; i++) {
		uint32_t place = t->kinds[cells[i].kind].place;

		groups[place < TASK_GROUPS ? place : TASK_GROUPS - 1] += cells[i].time;
		tasks += cells[i].tasks;
		if (cells[i].time > most) {
			most = cells[i].time;
			kind = place;
		}
	}
	for (int i = 0; i < TASK_GROUPS; i++)
		ngroups += groups[i] > 0;
	buffer_put_varint(bytes, tasks);
	buffer_put_varint(bytes, kind);
	buffer_put(bytes, &(uint8_t){ ngroups }, 1);
	for (int i = 0; i < TASK_GROUPS; i++) {
		uint64_t share = (unsigned __int128)groups[i] * 255 / width;

		if (groups[i])
			buffer_put(bytes, (uint8_t[]){ i, share > 255 ? 255 : share ? share : 1 }, 2);
	}
}

static int put_cells(struct page_tasks *t, struct block *block, struct spool *spool, const uint32_t *lanes,
		     size_t nlanes)
{
	size_t ncells = task_cells_sort(t);
	struct buffer bytes = { 0 };
	int error, ended;

	block_begin(block, spool);
	put_u32(block, t->nbins);
	for (size_t lane = 0; lane < nlanes; lane++) {
		size_t low = 0, high = ncells, count;
		uint32_t at = 0;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (t->cells[middle].thread < lanes[lane])
				low = middle + 1;
			else
				high = middle;
		}
		for (; low < ncells && t->cells[low].thread == lanes[lane]; low += count) {
			uint32_t bin = t->cells[low].bin;

			for (count = 1; low + count < ncells && t->cells[low + count].thread == lanes[lane] &&
					t->cells[low + count].bin == bin;)
				count++;
			buffer_put_varint(&bytes, bin - at);
			put_bin(t, &t->cells[low], count, &bytes);
			at = bin + 1;
		}
		buffer_put_varint(&bytes, t->nbins - at);
	}
	error = bytes.failed ? -ENOMEM : block_put(block, (const char *)bytes.data, bytes.size);
	buffer_free(&bytes);
	ended = block_end(block);
	return error ? error : ended;
}

struct listing {
	const struct page_tasks *tasks;
	const uint32_t *kinds, *lanes, *places;
	size_t nkinds, nlanes;
	struct listed sites;
};

static void put_list(struct json *j, const void *context)
{
	const struct listing *l = context;
	const struct page_tasks *t = l->tasks;

	json_object(j);
	json_key_uint(j, "start_ns", t->start);
	json_key_uint(j, "end_ns", t->end);
	json_key_uint(j, "all", t->all);
	json_key_uint(j, "drawn", t->count);
	json_key_uint(j, "shorter_than_ns", t->shorter_than);
	put_kinds(j, t, l->kinds, l->nkinds);
	json_key(j, "sites");
	listed_json(&l->sites, j);
	put_lanes(j, t, l->lanes, l->nlanes, l->places);
	json_end_object(j);
}

static int put_all(struct page_tasks *t, const uint32_t *places, const uint32_t *lane_of, struct listing *l,
		   struct page_task_blocks *blocks, struct spool *spool)
{
	struct placing placing = { t, lane_of };
	int error;

	if (t->count)
		qsort_r(t->heap, t->count, sizeof(*t->heap), tasks_in_order, &placing);
	for (size_t i = 0; i < t->count; i++)
		t->lanes[t->heap[i].thread].drawn++;
	error = put_tasks(t, &blocks->calls, spool, places, &l->sites);
	if (!error)
		error = put_cells(t, &blocks->bins, spool, l->lanes, l->nlanes);
	return error ? error : block_json(&blocks->list, spool, put_list, l);
}

int page_tasks_end(struct page_tasks *t, const uint32_t *places, struct page_task_blocks *blocks, struct spool *spool)
{
	struct listing l = { .tasks = t, .places = places };
	uint32_t *kinds, *lanes, *lane_of;
	int error = t->error;

	if (error || !t->all)
		return error;
	kinds = order_kinds(t, &l.nkinds);
	lanes = order_lanes(t, &l.nlanes);
	lane_of = calloc(t->d->nthreads + 1, sizeof(*lane_of));
	l.kinds = kinds;
	l.lanes = lanes;
	for (size_t i = 0; lane_of && lanes && i < l.nlanes; i++)
		lane_of[lanes[i]] = i;
	error = kinds && lanes && lane_of ? put_all(t, places, lane_of, &l, blocks, spool) : -ENOMEM;
	listed_free(&l.sites);
	free(kinds);
	free(lanes);
	free(lane_of);
	return error;
}
