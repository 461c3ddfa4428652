/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arrows.c - arrows in the page: those that were waited for the longest.
 *
 * They are kept in a heap with the shortest wait on top, which goes when a longer one comes. So memory has a bound.
 */
#include "export/arrows.h"

#include <errno.h>
#include <stdlib.h>

#include "export/page/page.h"

struct keeping {
	const struct survey *survey;
	struct page_arrows *arrows;
	struct page_path *path;
	struct arrow *heap;
	size_t count, most;
};

/* --- keeping the longest ------------------------------------------------------------ */

static void swap(struct arrow *a, struct arrow *b)
{
	struct arrow c = *a;

	*a = *b;
	*b = c;
}

static void rise(struct arrow *heap, size_t at)
{
	for (; at && heap[at].waited < heap[(at - 1) / 2].waited; at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sink(struct arrow *heap, size_t count, size_t at)
{
	for (size_t least = at;; at = least) {
		for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < count; below++)
			if (heap[below].waited < heap[least].waited)
				least = below;
		if (least == at)
			return;
		swap(&heap[at], &heap[least]);
	}
}

/* Of calls that lie on several lanes it is not known on which. */
static bool has_place(const struct survey *s, uint32_t thread)
{
	return s->first[thread] != NO_INDEX && s->count[thread] == 1;
}

static int keep(void *context, const struct arrow *arrow)
{
	struct keeping *k = context;
	uint64_t out = arrow->waited;

	if (!has_place(k->survey, arrow->from) || !has_place(k->survey, arrow->to))
		return 0;
	k->arrows->all++;
	if (k->count < k->most) {
		k->heap[k->count] = *arrow;
		rise(k->heap, k->count++);
		return 0;
	}
	if (k->count && arrow->waited > k->heap[0].waited) {
		out = k->heap[0].waited;
		k->heap[0] = *arrow;
		sink(k->heap, k->count, 0);
	}
	if (out >= k->arrows->shorter_than)
		k->arrows->shorter_than = out + 1;
	return 0;
}

static int tell_path(void *context, const struct related_call *call, const struct waited *waited)
{
	return page_path_call(((struct keeping *)context)->path, call, waited);
}

static int tell_path_work(void *context, const struct related_work *work)
{
	return page_path_work(((struct keeping *)context)->path, work);
}

/* --- packing -------------------------------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct arrow *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

enum column { FROM_LANE, FROM_TIME, TO_LANE, TO_TIME, KIND, COLUMNS };

static uint64_t value_of(const struct survey *s, const struct arrow *arrow, enum column column)
{
	uint64_t times[] = { [FROM_TIME] = arrow->begin, [TO_TIME] = arrow->end };

	switch (column) {
	case FROM_LANE:
		return s->first[arrow->from];
	case TO_LANE:
		return s->first[arrow->to];
	case KIND:
		return arrow->kind;
	default:
		return times[column] > s->start ? times[column] - s->start : 0;
	}
}

static void put_u32(struct block *block, uint32_t value)
{
	uint8_t bytes[4] = { value, value >> 8, value >> 16, value >> 24 };

	block_put(block, (const char *)bytes, sizeof(bytes));
}

static int pack(struct keeping *k, struct spool *spool)
{
	struct block *block = &k->arrows->block;
	struct buffer bytes = { 0 };
	int ended;

	block_begin(block, spool);
	put_u32(block, k->count);
	for (int column = 0; column < COLUMNS && !bytes.failed; column++) {
		buffer_clear(&bytes);
		for (size_t i = 0; i < k->count; i++) { /* a kind is a number below 128, and so one byte */
			buffer_put_varint(&bytes, value_of(k->survey, &k->heap[i], column));
		}
		put_u32(block, bytes.size);
		if (!bytes.failed)
			block_put(block, (const char *)bytes.data, bytes.size);
	}
	ended = bytes.failed ? -ENOMEM : 0;
	buffer_free(&bytes);
	return block_end(block) ?: ended;
}

int page_arrows_make(struct page_arrows *arrows, const struct survey *survey, struct relations *relations,
		     const struct recording *chosen, size_t most, struct page_path *path, struct spool *spool)
{
	struct keeping k = { .survey = survey, .arrows = arrows, .path = path, .most = most };
	const struct arrows_ops ops = { .arrow = keep, .call = tell_path, .work = tell_path_work, .context = &k };
	int error;

	if (!relations || !relations_possible(survey->d))
		return 0;
	k.heap = malloc((most + 1) * sizeof(*k.heap));
	if (!k.heap)
		return -ENOMEM;
	arrows->looked = true;
	error = arrows_read(relations, chosen, &ops);
	arrows->drawn = k.count;
	if (!error) {
		qsort(k.heap, k.count, sizeof(*k.heap), by_end);
		error = pack(&k, spool);
	}
	free(k.heap);
	return error;
}
