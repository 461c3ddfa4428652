/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.c - the critical path, part by part: the one that the report has the sums of (analysis/critical_path.c).
 *
 * Where a thread waited for another one, its path is from then on that of the other, as it was at that moment. So each
 * wait is a node that knows the other thread's node of that moment, and in the end the path is followed back from the
 * last call of all. There are bounds on nodes and on parts: beyond them the path is not told.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/page/page.h"
#include "util/array.h"

#define NODES_MOST (1u << 20) /* 20 bytes each, with all that leads to it */
#define PARTS_MOST 65536
#define NONE UINT32_MAX

struct path_node {
	uint64_t from; /* ns: on this thread from then on */
	uint32_t thread;
	uint32_t before; /* where the path was until then; NONE: it begins here */
};

struct path_thread {
	uint32_t *nodes; /* its, by time */
	size_t count, room;
	bool calls;
	uint64_t ended; /* ns: the last call */
};

struct page_path *page_path_new(const struct survey *survey)
{
	struct page_path *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->survey = survey;
	p->threads = calloc(survey->d->nthreads + 1, sizeof(*p->threads));
	if (p->threads)
		return p;
	free(p);
	return NULL;
}

void page_path_free(struct page_path *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->survey->d->nthreads; i++)
		free(p->threads[i].nodes);
	free(p->threads);
	free(p->nodes);
	block_free(&p->block);
	free(p);
}

/* --- waits ------------------------------------------------------------------------------ */

/* What the thread's path was at that time; NONE: it had none. */
static uint32_t node_at(const struct page_path *p, uint32_t thread, uint64_t time)
{
	const struct path_thread *t = &p->threads[thread];
	size_t first = 0, end = t->count; /* the first that is later */

	while (first < end) {
		size_t middle = (first + end) / 2;

		if (p->nodes[t->nodes[middle]].from > time)
			end = middle;
		else
			first = middle + 1;
	}
	return first ? t->nodes[first - 1] : NONE;
}

static int add_node(struct page_path *p, uint32_t thread, uint64_t from, uint32_t before)
{
	struct path_thread *t = &p->threads[thread];

	if (p->nnodes == NODES_MOST) {
		p->too_many = true;
		return 0;
	}
	if (array_one_more(&p->nodes, &p->room, p->nnodes, sizeof(*p->nodes)) ||
	    array_one_more(&t->nodes, &t->room, t->count, sizeof(*t->nodes)))
		return -ENOMEM;
	p->nodes[p->nnodes] = (struct path_node){ from, thread, before };
	t->nodes[t->count++] = p->nnodes++;
	return 0;
}

static int begin(struct page_path *p, uint32_t thread, uint64_t time)
{
	return p->threads[thread].count ? 0 : add_node(p, thread, time, NONE);
}

int page_path_work(struct page_path *p, const struct related_work *work)
{
	return begin(p, work->thread, work->start);
}

int page_path_call(struct page_path *p, const struct related_call *call, const struct waited *waited)
{
	struct path_thread *t = &p->threads[call->thread];
	uint32_t of = waited ? node_at(p, waited->of.thread, waited->until) : NONE;
	int error = begin(p, call->thread, call->start);

	if (!error && of != NONE)
		error = add_node(p, call->thread, waited->until, of);
	t->ended = call->end;
	t->calls = true;
	return error;
}

/* --- the path of the last one -------------------------------------------------------------- */

struct part {
	uint32_t thread;
	uint64_t from, to; /* ns */
};

/* The thread whose last call ended last; NONE: nobody called anything. */
static uint32_t last_thread(const struct page_path *p)
{
	uint32_t last = NONE;

	for (uint32_t i = 0; i < p->survey->d->nthreads; i++) {
		if (p->threads[i].calls && !thread_is_left_out(p->whole, i) &&
		    (last == NONE || p->threads[i].ended > p->threads[last].ended))
			last = i;
	}
	return last;
}

/* From its end to its begin. 0 or -ENOMEM. */
static int find_parts(const struct page_path *p, struct part **parts, size_t *count)
{
	uint32_t last = last_thread(p), node = NONE;
	uint64_t to = last == NONE ? 0 : p->threads[last].ended;
	size_t room = 0;

	if (last != NONE && p->threads[last].count)
		node = p->threads[last].nodes[p->threads[last].count - 1];
	for (; node != NONE && *count <= PARTS_MOST; node = p->nodes[node].before) {
		const struct path_node *n = &p->nodes[node];

		if (n->from >= to)
			continue;
		if (array_one_more(parts, &room, *count, sizeof(**parts)))
			return -ENOMEM;
		(*parts)[(*count)++] = (struct part){ n->thread, n->from, to };
		to = n->from;
	}
	return 0;
}

struct parts {
	const struct survey *survey;
	const struct part *list;
	size_t count;
};

static void put_parts(struct json *j, const void *context)
{
	const struct parts *parts = context;
	const struct survey *s = parts->survey;

	json_object(j);
	json_key(j, "parts");
	json_array(j);
	for (size_t i = parts->count; i--;) {
		const struct part *part = &parts->list[i];

		if (s->first[part->thread] == NO_INDEX)
			continue; /* it is not shown */
		json_array(j);
		json_uint(j, s->first[part->thread]);
		json_uint(j, part->from > s->start ? part->from - s->start : 0);
		json_uint(j, part->to > s->start ? part->to - s->start : 0);
		json_end_array(j);
	}
	json_end_array(j);
	json_end_object(j);
}

int page_path_end(struct page_path *p, const struct definitions *whole, struct spool *spool)
{
	struct part *parts = NULL;
	size_t count = 0;
	int error;

	p->whole = whole;
	error = p->too_many ? 0 : find_parts(p, &parts, &count);
	if (!error && count && count <= PARTS_MOST) {
		p->known = true;
		error = block_json(&p->block, spool, put_parts, &(struct parts){ p->survey, parts, count });
	}
	free(parts);
	free(p->nodes);
	p->nodes = NULL;
	return error;
}
