/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spans.c - the spans of all recordings, one after the other.
 *
 * A recording has its spans about in the order in which they ended, and that of each thread exactly so. Of all next
 * ones the earliest is taken: the order within each recording stays, and whoever reads the result in the order of time
 * need not look far ahead. In memory is one chunk of each recording.
 */
#include <errno.h>

#include "merge/parts.h"

#define LOOKS 4096 /* so many records from one look whether to stop to the next */

static bool is_before(const struct merge *m, size_t a, size_t b)
{
	uint64_t x = m->inputs[m->heap[a]].at, y = m->inputs[m->heap[b]].at;

	return x != y ? x < y : m->heap[a] < m->heap[b];
}

static void swap(struct merge *m, size_t a, size_t b)
{
	size_t input = m->heap[a];

	m->heap[a] = m->heap[b];
	m->heap[b] = input;
}

static void sink(struct merge *m, size_t at)
{
	for (;;) {
		size_t least = at, left = 2 * at + 1, right = left + 1;

		if (left < m->nheap && is_before(m, left, least))
			least = left;
		if (right < m->nheap && is_before(m, right, least))
			least = right;
		if (least == at)
			return;
		swap(m, at, least);
		at = least;
	}
}

/* Reads the next record of a recording, and makes it one of the whole. */
static int advance(struct merge *m, struct merged *input)
{
	const struct correction *correction = &m->clocks[input->clock].correction;
	struct recorded_item *item = &input->next;
	int error = recording_next(input->recording, item);

	if (error || item->what == RECORDED_END)
		return error;
	if (item->what == RECORDED_GAP) {
		item->gap.thread += input->part.first_thread;
		item->gap.after = correction_apply(correction, item->gap.after);
		if (item->gap.before)
			item->gap.before = correction_apply(correction, item->gap.before);
		input->at = item->gap.after;
		return 0;
	}
	item->span.thread += input->part.first_thread;
	item->span.probe = input->part.probes[item->span.probe];
	if (item->span.site != NO_INDEX)
		item->span.site += input->part.first_site;
	item->span.start = correction_apply(correction, item->span.start);
	item->span.end = correction_apply(correction, item->span.end);
	input->at = item->span.end;
	return 0;
}

static int begin(struct merge *m)
{
	int error = 0;

	m->nheap = 0;
	for (size_t i = 0; i < m->ninputs && !error; i++) {
		recording_rewind(m->inputs[i].recording);
		error = advance(m, &m->inputs[i]);
		if (m->inputs[i].next.what != RECORDED_END)
			m->heap[m->nheap++] = i;
	}
	for (size_t i = m->nheap; i-- > 0;)
		sink(m, i);
	return error;
}

int merge_spans(struct merge *m, struct recording_writer *writer)
{
	int error = begin(m);

	for (size_t count = 0; m->nheap && !error; count++) {
		struct merged *input = &m->inputs[m->heap[0]];

		if (count % LOOKS == 0 && merge_is_stopped(m))
			return -EINTR;
		if (input->next.what == RECORDED_SPAN)
			error = recording_span(writer, &input->next.span);
		else
			error = recording_gap(writer, &input->next.gap);
		if (!error)
			error = advance(m, input);
		if (input->next.what == RECORDED_END)
			m->heap[0] = m->heap[--m->nheap];
		sink(m, 0);
	}
	return error;
}
