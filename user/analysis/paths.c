/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paths.c - the paths of all threads, which have most of their past in common.
 *
 * A path is a chain of nodes, each with what was done last and for how long, and the node before it. Paths that part
 * share the nodes before. So what a thread adds is a node, and to take over another's path costs nothing. A wait may be
 * told long after the one that was waited for has gone on: so each thread keeps marks, which are the ends of its path
 * when it began its calls, as long as some thread's present is before them.
 *
 * Most nodes are soon of no interest one by one. Whenever their array is full it is gone through (collect()): what no
 * thread's path and no mark leads to is dropped, and a chain of nodes between two at which paths part or end becomes
 * one node for each thing that was done. What all paths have in common is such a chain. So memory is that of the
 * threads, their marks, and the different things done, whatever the number of calls. A node stands behind the one
 * before it in the array, so that going through is two loops. The array is then twice what is left: the work is
 * constant for each node that was added.
 *
 * There are bounds on marks (MARKS_MOST; a thread that stands still forever would keep those of all others) and on
 * nodes (NODES_MOST): then only the longest things in each chain are kept, and the sum of the others is "folded".
 */
#include "analysis/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/recording.h"
#include "util/array.h"

#define FIRST_NODES 4096
#define NODES_MOST (4u << 20) /* 16 bytes each */
#define NODES_A_THREAD 16     /* where there are so many threads that this is more */
#define MARKS_MOST (1u << 17) /* of all threads together */
#define MARKS_LEAST 1024      /* of one */
#define MARKS_OF_ONE (1u << 15)
#define KEPT_FIRST 32 /* things of one chain that are kept where there are too many nodes; then but one */

#define ROOT 0u

struct node {
	uint32_t before; /* ROOT: it is the first, or itself the root */
	uint32_t what;
	uint64_t time; /* ns */
};

struct bookmark {
	uint64_t time; /* ns */
	uint32_t node;
};

struct path {
	uint32_t head, last; /* last: when its last call had ended */
	uint64_t present;    /* ns: when its head is */
	uint64_t ended;      /* ns: the last call */
	bool begun, calls;
	struct bookmark *marks; /* in the order of time */
	size_t nmarks, room;
};

struct paths {
	struct path *all;
	size_t count;
	struct node *nodes; /* the first is the root */
	size_t nnodes, room, most;
	size_t marks_most; /* of one thread */
	uint32_t *place;   /* by what: in the sums of a chain, if these have it */
	size_t places;
	uint64_t forgotten;
};

struct paths *paths_new(size_t nthreads)
{
	struct paths *p = calloc(1, sizeof(*p));
	size_t marks = MARKS_MOST / (nthreads + 1);

	if (!p)
		return NULL;
	p->count = nthreads;
	p->marks_most = marks < MARKS_LEAST ? MARKS_LEAST : marks > MARKS_OF_ONE ? MARKS_OF_ONE : marks;
	p->most = NODES_MOST;
	if (p->most < NODES_A_THREAD * nthreads)
		p->most = NODES_A_THREAD * nthreads;
	p->all = calloc(nthreads + 1, sizeof(*p->all));
	p->nodes = calloc(FIRST_NODES, sizeof(*p->nodes));
	p->room = FIRST_NODES;
	p->nnodes = 1;
	if (p->all && p->nodes)
		return p;
	paths_free(p);
	return NULL;
}

void paths_free(struct paths *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->all && i < p->count; i++)
		free(p->all[i].marks);
	free(p->all);
	free(p->nodes);
	free(p->place);
	free(p);
}

/* --- collecting --------------------------------------------------------------- */

enum { UNUSED, INNER, KNOT }; /* a knot: paths part or end there */

struct collection {
	struct node *nodes; /* what is left */
	size_t count, room;
	uint32_t *moved;   /* knots: where they are now */
	uint8_t *use;      /* of each node */
	struct node *sums; /* of the chain that is at hand */
	size_t nsums, sums_room;
};

/* Before that, nobody asks for a path any more: a thread waits for what comes after its present. Of one that has not
 * begun (0), that is not known. */
static uint64_t needed_from(const struct paths *p)
{
	uint64_t needed = UINT64_MAX;

	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].present < needed)
			needed = p->all[i].present;
	return needed;
}

static void drop_marks(struct path *path, size_t count)
{
	memmove(path->marks, path->marks + count, (path->nmarks - count) * sizeof(*path->marks));
	path->nmarks -= count;
}

static void forget_marks(struct paths *p)
{
	uint64_t needed = needed_from(p);

	for (size_t i = 0; i < p->count; i++) {
		struct path *path = &p->all[i];
		size_t old = 0;

		while (old + 1 < path->nmarks && path->marks[old + 1].time <= needed)
			old++;
		if (old)
			drop_marks(path, old);
	}
}

static void find_uses(const struct paths *p, uint8_t *use)
{
	use[ROOT] = KNOT;
	for (size_t i = 0; i < p->count; i++) {
		const struct path *path = &p->all[i];

		use[path->head] = use[path->last] = KNOT;
		for (size_t k = 0; k < path->nmarks; k++)
			use[path->marks[k].node] = KNOT;
	}
	for (size_t i = p->nnodes - 1; i > ROOT; i--)
		if (use[i])
			use[p->nodes[i].before] = use[p->nodes[i].before] == UNUSED ? INNER : KNOT;
}

static int by_what(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->what < y->what ? -1 : x->what > y->what;
}

static int by_time(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->time != y->time ? (x->time > y->time ? -1 : 1) : by_what(a, b);
}

/* Adds up the chain that ends with this knot; *before: the knot before. */
static int sum_chain(struct paths *p, struct collection *c, uint32_t knot, uint32_t *before)
{
	uint32_t at = knot;

	c->nsums = 0;
	do {
		const struct node *node = &p->nodes[at];
		uint32_t *place;

		if (array_reach(&p->place, &p->places, node->what + 1, sizeof(*p->place)))
			return -ENOMEM;
		place = &p->place[node->what];
		if (*place < c->nsums && c->sums[*place].what == node->what) {
			c->sums[*place].time += node->time;
		} else {
			if (array_one_more(&c->sums, &c->sums_room, c->nsums, sizeof(*c->sums)))
				return -ENOMEM;
			*place = c->nsums;
			c->sums[c->nsums++] = *node;
		}
		at = node->before;
	} while (c->use[at] == INNER);
	*before = at;
	return 0;
}

/* All but the longest, and but the number of changes, become one. */
static void fold_sums(struct collection *c, size_t keep)
{
	struct node folded = { .what = PATH_FOLDED };
	size_t kept = 0, counted = 0;

	qsort(c->sums, c->nsums, sizeof(*c->sums), by_time);
	for (size_t i = 0; i < c->nsums; i++) {
		struct node node = c->sums[i];

		if (node.what == PATH_CHANGES || (node.what != PATH_FOLDED && counted++ < keep))
			c->sums[kept++] = node;
		else
			folded.time += node.time;
	}
	if (folded.time)
		c->sums[kept++] = folded;
	c->nsums = kept;
}

static int collect_chain(struct paths *p, struct collection *c, uint32_t knot, size_t keep)
{
	uint32_t before;

	if (sum_chain(p, c, knot, &before))
		return -ENOMEM;
	if (c->nsums > keep)
		fold_sums(c, keep);
	before = c->moved[before];
	for (size_t i = 0; i < c->nsums; i++) {
		if (array_one_more(&c->nodes, &c->room, c->count, sizeof(*c->nodes)))
			return -ENOMEM;
		c->nodes[c->count] = c->sums[i];
		c->nodes[c->count].before = before;
		before = c->count++;
	}
	c->moved[knot] = before;
	return 0;
}

static void move_all(struct paths *p, const uint32_t *moved)
{
	for (size_t i = 0; i < p->count; i++) {
		struct path *path = &p->all[i];

		path->head = moved[path->head];
		path->last = moved[path->last];
		for (size_t k = 0; k < path->nmarks; k++)
			path->marks[k].node = moved[path->marks[k].node];
	}
}

static int collect(struct paths *p, size_t keep)
{
	struct collection c = { 0 };
	int error = 0;

	forget_marks(p);
	c.use = calloc(p->nnodes, sizeof(*c.use));
	c.moved = malloc(p->nnodes * sizeof(*c.moved));
	if (!c.use || !c.moved || array_one_more(&c.nodes, &c.room, 0, sizeof(*c.nodes)))
		error = -ENOMEM;
	if (!error) {
		find_uses(p, c.use);
		c.nodes[c.count++] = (struct node){ 0 };
		c.moved[ROOT] = ROOT;
	}
	for (size_t i = 1; i < p->nnodes && !error; i++)
		if (c.use[i] == KNOT)
			error = collect_chain(p, &c, i, keep);
	if (!error) {
		move_all(p, c.moved);
		free(p->nodes);
		p->nodes = c.nodes;
		p->nnodes = c.count;
		p->room = c.room;
	} else {
		free(c.nodes);
	}
	free(c.use);
	free(c.moved);
	free(c.sums);
	return error;
}

/* Where all is in use, marks go before nodes do. */
static void forget_half(struct paths *p)
{
	for (size_t i = 0; i < p->count; i++)
		drop_marks(&p->all[i], p->all[i].nmarks / 2);
}

static int make_room(struct paths *p)
{
	size_t wanted = FIRST_NODES + p->count; /* at least: it goes through all threads, too */
	int error = collect(p, SIZE_MAX);

	if (!error && p->nnodes > p->most / 2)
		error = collect(p, KEPT_FIRST);
	while (!error && p->nnodes > p->most / 2) {
		forget_half(p);
		error = collect(p, 1);
		if (p->marks_most > 1)
			p->marks_most /= 2;
		else
			break;
	}
	if (wanted < 2 * p->nnodes)
		wanted = 2 * p->nnodes;
	return error ? error : array_reach(&p->nodes, &p->room, wanted, sizeof(*p->nodes));
}

/* --- feeding -------------------------------------------------------------------- */

static int push(struct paths *p, struct path *path, uint32_t what, uint64_t time)
{
	int error = p->nnodes == p->room ? make_room(p) : 0;

	if (error)
		return error;
	p->nodes[p->nnodes] = (struct node){ path->head, what, time };
	path->head = p->nnodes++;
	return 0;
}

static int go_to(struct paths *p, struct path *path, uint64_t time, uint32_t what)
{
	uint64_t present = path->present;

	if (!path->begun) {
		path->begun = true;
		path->present = time;
		return 0;
	}
	if (time <= present)
		return 0;
	path->present = time;
	return push(p, path, what, time - present);
}

int paths_add(struct paths *p, uint32_t thread, uint64_t start, uint64_t end, uint32_t what)
{
	struct path *path = &p->all[thread];

	return go_to(p, path, start, PATH_UNKNOWN) ?: go_to(p, path, end, what);
}

int paths_begin_call(struct paths *p, uint32_t thread, uint64_t start)
{
	struct path *path = &p->all[thread];
	int error = go_to(p, path, start, PATH_UNKNOWN);

	if (error)
		return error;
	if (path->nmarks >= p->marks_most)
		drop_marks(path, path->nmarks - p->marks_most / 2);
	if (array_one_more(&path->marks, &path->room, path->nmarks, sizeof(*path->marks)))
		return -ENOMEM;
	path->marks[path->nmarks++] = (struct bookmark){ path->present, path->head };
	return 0;
}

/* The last mark that is not later. NULL: none. */
static const struct bookmark *mark_until(const struct path *path, uint64_t time)
{
	size_t low = 0, high = path->nmarks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path->marks[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &path->marks[low - 1] : NULL;
}

int paths_wait(struct paths *p, uint32_t thread, uint32_t whom, uint64_t until)
{
	struct path *path = &p->all[thread], *of = &p->all[whom];
	const struct bookmark *mark;
	uint64_t from;

	if (of->begun && of->present <= until) {
		path->head = of->head;
		from = of->present;
	} else {
		mark = mark_until(of, until);
		if (!mark) {
			p->forgotten++;
			return go_to(p, path, until, PATH_UNKNOWN);
		}
		path->head = mark->node;
		from = mark->time;
	}
	path->begun = true;
	path->present = from;
	return push(p, path, PATH_CHANGES, 1) ?: go_to(p, path, until, PATH_UNKNOWN);
}

void paths_end_call(struct paths *p, uint32_t thread)
{
	struct path *path = &p->all[thread];

	path->calls = true;
	path->last = path->head;
	path->ended = path->present;
}

/* --- asking --------------------------------------------------------------------- */

bool paths_end(const struct paths *p, uint32_t thread, uint64_t *end)
{
	*end = p->all[thread].ended;
	return p->all[thread].calls;
}

void paths_sum(const struct paths *p, uint32_t thread, uint64_t *sums)
{
	for (uint32_t at = p->all[thread].last; at != ROOT; at = p->nodes[at].before)
		sums[p->nodes[at].what] += p->nodes[at].time;
}

uint64_t paths_forgotten(const struct paths *p)
{
	return p->forgotten;
}
