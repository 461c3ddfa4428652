/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open.c - the calls in progress at the moment of a dump: the barrier that somebody waits in is what the reader wants
 * to see.
 *
 * They are looked at twice, and what both looks show alike was in progress between them (user/capture/open.c). Then the
 * rings are drained: a call that has ended since is among the spans, and is taken from the list. So each call is in the
 * dump once, with its end or without.
 */
#include <stdlib.h>
#include <string.h>

#include "flight/private.h"
#include "util/array.h"

static void collect(void *context, const struct span *span, bool silent)
{
	struct open_calls *open = context;

	if (span->probe == NO_INDEX)
		return; /* silent ones, that will be no span, are wanted: somebody may wait in them */
	if (array_one_more(&open->spans, &open->room, open->count, sizeof(*open->spans)))
		open->failed = true;
	else
		open->spans[open->count++] = *span;
}

/* Of one thread's calls that began at the same time the outer one is the first. */
static int by_thread_and_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)x->depth - (int)y->depth;
}

static void sort(struct open_calls *open)
{
	if (open->count)
		qsort(open->spans, open->count, sizeof(*open->spans), by_thread_and_start);
}

int open_look(struct flight *f, struct open_calls *open)
{
	int err = capture_visit_open(f->capture, collect, open) ?: capture_visit_stacked(f->capture, collect, open);

	sort(open);
	return err;
}

static bool is_same(const struct span *a, const struct span *b)
{
	return a->thread == b->thread && a->start == b->start && a->probe == b->probe && a->depth == b->depth;
}

void open_fetch(struct flight *f)
{
	struct open_calls *open = &f->open, before = { 0 };
	size_t kept = 0;

	open_free(open);
	if (open_look(f, &before) || open_look(f, open))
		open->count = 0; /* an old kernel, or no memory: the dump goes without them */
	for (size_t i = 0, k = 0; i < open->count; i++) {
		while (k < before.count && by_thread_and_start(&before.spans[k], &open->spans[i]) < 0)
			k++;
		if (k < before.count && is_same(&before.spans[k], &open->spans[i]))
			open->spans[kept++] = open->spans[i];
	}
	open->count = kept;
	open_free(&before);
	capture_drain(f->capture); /* what ended before the dump was asked for, however long the last pass took */
}

/* A call that another thread has finished than the one that began it; count: it is none of these. */
static size_t ended_elsewhere(const struct open_calls *open, const struct span *span)
{
	size_t i = 0;

	while (i < open->count && (open->spans[i].start != span->start || open->spans[i].probe != span->probe))
		i++;
	return i;
}

void open_forget(struct open_calls *open, const struct span *span, bool may_move)
{
	size_t low = 0, high = open->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (by_thread_and_start(&open->spans[middle], span) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == open->count || !is_same(&open->spans[low], span))
		low = may_move ? ended_elsewhere(open, span) : open->count;
	if (low == open->count)
		return;
	memmove(&open->spans[low], &open->spans[low + 1], (--open->count - low) * sizeof(*open->spans));
}

void open_free(struct open_calls *open)
{
	free(open->spans);
	*open = (struct open_calls){ 0 };
}
