/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks_bounds.c - what the tasks of a runtime take at least, whoever schedules them.
 *
 * Area bound: all workers are busy up to the end, and each kind of task runs where that is best for the whole. Workers
 * are of one class whose tasks are the same event (a processor's, a device's), and a kind takes as long on each of a
 * class as its tasks took there on average. A kind that was not seen on a class cannot run there. With two classes the
 * best division is found as in a fractional knapsack: kinds go to the second class in the order of what they gain
 * there, until both classes end at the same time. With more, each kind takes its best class's time, which is less than
 * what can be reached, and so still a bound.
 *
 * The other bound is the longest chain of tasks that had to wait for each other (tasks.c).
 */
#include "analysis/tasks.h"

#include <errno.h>
#include <stdlib.h>

#define CLASSES_MOST 8

/* Classes of workers in a pool. */
struct classes {
	uint32_t events[CLASSES_MOST];
	uint64_t workers[CLASSES_MOST];
	size_t count;
	bool beyond;
};

/* A kind on each class. */
struct on_classes {
	uint64_t tasks;
	uint64_t count[CLASSES_MOST], time[CLASSES_MOST];
};

static size_t class_of(const struct classes *classes, uint32_t event)
{
	size_t i = 0;

	while (i < classes->count && classes->events[i] != event)
		i++;
	return i;
}

static struct classes classes_of(const struct tasks *s, const struct task_pool *pool)
{
	struct classes classes = { 0 };

	for (size_t i = 0; i < pool->workers; i++) {
		const struct task_member *m = &s->members[s->order[pool->first_worker + i]];
		size_t at = class_of(&classes, m->class);

		if (!m->executed)
			continue;
		if (at == CLASSES_MOST) {
			classes.beyond = true;
			continue;
		}
		if (at == classes.count)
			classes.events[classes.count++] = m->class;
		classes.workers[at]++;
	}
	return classes;
}

/* ns; where it has run there. */
static double mean_on(const struct on_classes *kind, size_t class)
{
	return (double)kind->time[class] / kind->count[class];
}

static double best_mean(const struct on_classes *kind, size_t nclasses)
{
	double best = -1;

	for (size_t i = 0; i < nclasses; i++)
		if (kind->count[i] && (best < 0 || mean_on(kind, i) < best))
			best = mean_on(kind, i);
	return best < 0 ? 0 : best;
}

static double by_best(const struct on_classes *kinds, size_t nkinds, const struct classes *classes)
{
	double time = 0, workers = 0;

	for (size_t i = 0; i < nkinds; i++)
		time += kinds[i].tasks * best_mean(&kinds[i], classes->count);
	for (size_t i = 0; i < classes->count; i++)
		workers += classes->workers[i];
	return workers > 0 ? time / workers : 0;
}

/* How many times as long it takes on the first class as on the second; below 0 where it runs on one only. */
static double gain(const struct on_classes *kind)
{
	double there;

	if (!kind->count[0] || !kind->count[1])
		return -1;
	there = mean_on(kind, 1);
	return mean_on(kind, 0) / (there > 1e-3 ? there : 1e-3);
}

static int by_gain(const void *a, const void *b)
{
	double left = gain(a), right = gain(b);

	return left > right ? -1 : left < right;
}

static double on_two_classes(struct on_classes *kinds, size_t nkinds, const struct classes *classes)
{
	double first = 0, second = 0, w = classes->workers[0], v = classes->workers[1];

	qsort(kinds, nkinds, sizeof(*kinds), by_gain);
	for (size_t i = 0; i < nkinds; i++) {
		if (kinds[i].count[0])
			first += kinds[i].tasks * mean_on(&kinds[i], 0);
		else if (kinds[i].count[1])
			second += kinds[i].tasks * mean_on(&kinds[i], 1);
	}
	for (size_t i = 0; i < nkinds && first / w > second / v; i++) {
		double here, there, part;

		if (!kinds[i].count[0] || !kinds[i].count[1])
			break; /* the others run on one only */
		here = kinds[i].tasks * mean_on(&kinds[i], 0);
		there = kinds[i].tasks * mean_on(&kinds[i], 1);
		/* (first - part * here) / w = (second + part * there) / v */
		part = here / w + there / v > 0 ? (first / w - second / v) / (here / w + there / v) : 1;
		part = part > 1 ? 1 : part;
		first -= part * here;
		second += part * there;
	}
	return first / w > second / v ? first / w : second / v;
}

/* kinds: room for as many as there are. */
static void find_area(const struct tasks *s, struct task_pool *pool, struct on_classes *kinds)
{
	struct classes classes = classes_of(s, pool);
	size_t count = 0;

	pool->has_area = classes.count && !classes.beyond;
	if (!pool->has_area)
		return;
	for (size_t i = 0; i < pool->ncells; i++) {
		const struct task_cell *cell = &s->cells[pool->first_cell + i];
		size_t class = class_of(&classes, s->members[cell->member].class);

		if (!i || cell->kind != cell[-1].kind)
			kinds[count++] = (struct on_classes){ 0 };
		if (class >= classes.count)
			continue; /* it has changed its class: a recording that somebody made up */
		kinds[count - 1].tasks += cell->times.count;
		kinds[count - 1].count[class] += cell->times.count;
		kinds[count - 1].time[class] += cell->total;
	}
	pool->area = classes.count == 2 ? on_two_classes(kinds, count, &classes) : by_best(kinds, count, &classes);
}

/* Those of a pool stand together, the most time first. */
static int by_time(const void *a, const void *b, void *context)
{
	const struct tasks *s = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct task_kind *x = &s->kinds[left], *y = &s->kinds[right];

	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* The same of cells; those of a kind stand together. */
static int by_kind(const void *a, const void *b, void *context)
{
	const struct tasks *s = context;
	const struct task_cell *x = a, *y = b;
	int order = by_time(&x->kind, &y->kind, context);

	return order ?: thread_order(s->d, s->members[x->member].thread, s->members[y->member].thread);
}

static int by_busy(const void *a, const void *b, void *context)
{
	const struct tasks *s = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct task_member *x = &s->members[left], *y = &s->members[right];

	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	if (x->time[WORKER_RUNS] != y->time[WORKER_RUNS])
		return x->time[WORKER_RUNS] < y->time[WORKER_RUNS] ? -1 : 1;
	return thread_order(s->d, x->thread, y->thread);
}

static void add_worker(struct task_pool *pool, const struct task_member *m)
{
	pool->workers++;
	for (int i = 0; i < WORKER_STATES; i++)
		pool->spent[i] += m->time[i];
	for (int i = 0; i < IDLES; i++)
		pool->idle[i] += m->idle[i];
	pool->overhead += m->overhead + m->time[WORKER_ENDS];
}

/* Puts workers, kinds and cells in order, and tells each pool which are its own. */
static void put_in_order(struct tasks *s)
{
	for (size_t i = 0; i < s->nkinds; i++)
		s->kind_order[i] = i;
	qsort_r(s->order, s->nworkers, sizeof(*s->order), by_busy, s);
	qsort_r(s->kind_order, s->nkinds, sizeof(*s->kind_order), by_time, s);
	if (s->ncells)
		qsort_r(s->cells, s->ncells, sizeof(*s->cells), by_kind, s);
	for (size_t i = s->nworkers; i-- > 0;)
		s->pools[s->members[s->order[i]].pool].first_worker = i;
	for (size_t i = s->nkinds; i-- > 0;) {
		struct task_pool *pool = &s->pools[s->kinds[s->kind_order[i]].pool];

		pool->first_kind = i;
		pool->nkinds++;
	}
	for (size_t i = s->ncells; i-- > 0;) {
		struct task_pool *pool = &s->pools[s->kinds[s->cells[i].kind].pool];

		task_cell_widen(&s->cells[i], pool->width);
		pool->first_cell = i;
		pool->ncells++;
	}
}

int tasks_sum_up(struct tasks *s)
{
	struct on_classes *kinds = calloc(s->nkinds + 1, sizeof(*kinds));

	s->order = calloc(s->nmembers + 1, sizeof(*s->order));
	s->kind_order = calloc(s->nkinds + 1, sizeof(*s->kind_order));
	if (!s->order || !s->kind_order || !kinds) {
		free(kinds);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->nmembers; i++) {
		struct task_member *m = &s->members[i];
		struct task_pool *pool = &s->pools[m->pool];

		if (!m->worker || !pool->executed)
			continue;
		task_worker_end(pool, m);
		add_worker(pool, m);
		s->order[s->nworkers++] = i;
	}
	put_in_order(s);
	for (size_t i = 0; i < s->npools; i++)
		if (s->pools[i].has_workers && s->pools[i].executed)
			find_area(s, &s->pools[i], kinds);
	free(kinds);
	return 0;
}

double task_pool_overhead(const struct task_pool *pool)
{
	return pool->executed ? pool->overhead / pool->executed : 0;
}
