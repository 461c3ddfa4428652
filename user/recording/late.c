/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * late.c - the late spans of a whole file, in memory.
 */
#include "recording/late.h"

#include <stdlib.h>
#include <string.h>

#include "recording/chunk.h"
#include "util/array.h"

#define LATE_MOST (1u << 30) /* bytes that they may take */

static const char does_not_fit[] = "a late span does not fit";
static const char out_of_memory[] = "there is not enough memory to read it";

/* Room for one more span and its words. */
static bool late_grow(struct late_store *store)
{
	if (array_one_more(&store->spans, &store->room, store->count, sizeof(*store->spans)))
		return false;
	if (store->words_room - store->nwords < GB_SLOTS) {
		size_t room = store->words_room ? 2 * store->words_room : 256;
		uint64_t *grown = realloc(store->words, room * sizeof(*grown));

		if (!grown)
			return false;
		store->words = grown;
		store->words_room = room;
	}
	return true;
}

static const char *keep(struct late_store *store, const struct span *span, uint32_t chunk, uint32_t position)
{
	if (store->count * (sizeof(*store->spans) + sizeof(*store->starts)) + store->nwords * sizeof(*store->words) >
	    LATE_MOST)
		return "there are too many late spans";
	if (!late_grow(store))
		return out_of_memory;
	store->spans[store->count++] = (struct late_span){
		.start = span->start,
		.end = span->end,
		.words = store->nwords,
		.thread = span->thread,
		.probe = span->probe,
		.site = span->site,
		.sequence = span->sequence,
		.unread = span->unread,
		.chunk = chunk,
		.position = position,
		.depth = span->depth,
		.reason = span->reason,
		.nwords = span->nwords,
	};
	memcpy(store->words + store->nwords, span->words, span->nwords * sizeof(*store->words));
	store->nwords += span->nwords;
	return NULL;
}

const char *late_read(struct late_store *store, struct span_code *code, const struct span_bounds *bounds,
		      const uint8_t *raw, size_t size, uint32_t chunk)
{
	struct cursor in = { raw + LATE_HEAD, raw + size, false };
	const char *wrong = NULL;
	uint64_t position = 0;
	struct span span;
	struct gap gap;
	uint32_t i, count;

	if (size < LATE_HEAD)
		return "a chunk of late spans is too short";
	if (store->settled < store->count)
		return "late spans have no spans";
	count = get_u32(raw);
	span_code_reset(code, get_u64(raw + 8));
	for (i = 0; i < count && !wrong; i++) {
		uint64_t step = cursor_varint(&in);

		if (in.failed || in.at == in.end || (i && !step) || step >= RECORDING_CHUNK_SPANS)
			return does_not_fit;
		position += step;
		if (position >= RECORDING_CHUNK_SPANS)
			return does_not_fit;
		switch (record_decode(code, &in.at, in.end, bounds, &span, &gap, &wrong)) {
		case RECORD_SPAN:
			wrong = keep(store, &span, chunk, (uint32_t)position);
			break;
		case RECORD_GAP:
			return "a hole is among the late spans";
		case RECORD_BAD:
			break;
		}
	}
	return wrong;
}

size_t late_settle(struct late_store *store)
{
	size_t count = store->count - store->settled;

	store->settled = store->count;
	return count;
}

/* By thread, start, and then the one that comes last in the file first. */
static int compare(const void *left, const void *right, void *context)
{
	const struct late_span *spans = context;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;

	if (spans[l].thread != spans[r].thread)
		return spans[l].thread < spans[r].thread ? -1 : 1;
	if (spans[l].start != spans[r].start)
		return spans[l].start < spans[r].start ? -1 : 1;
	return l > r ? -1 : l < r;
}

bool late_sort(struct late_store *store, const struct definitions *d)
{
	size_t i, kept = 0;

	store->count = store->settled;
	store->order = malloc((store->count + 1) * sizeof(*store->order));
	store->starts = malloc((store->count + 1) * sizeof(*store->starts));
	if (!store->order || !store->starts)
		return false;
	for (i = 0; i < store->count; i++)
		if (!d || !thread_is_left_out(d, store->spans[i].thread))
			store->order[kept++] = (uint32_t)i;
	store->count = kept;
	qsort_r(store->order, store->count, sizeof(*store->order), compare, store->spans);
	for (i = 0; i < store->count; i++) {
		const struct late_span *late = &store->spans[store->order[i]];

		store->starts[i] = (struct late_start){ late->start, late->thread, late->chunk, late->position };
	}
	return true;
}

void late_get(const struct late_store *store, size_t index, struct span *span)
{
	const struct late_span *late = &store->spans[store->order[index]];

	*span = (struct span){
		.start = late->start,
		.end = late->end,
		.thread = late->thread,
		.probe = late->probe,
		.site = late->site,
		.sequence = late->sequence,
		.unread = late->unread,
		.depth = late->depth,
		.reason = late->reason,
		.nwords = late->nwords,
	};
	memcpy(span->words, store->words + late->words, late->nwords * sizeof(*store->words));
}

bool late_is_copy(const struct late_span *late, const struct span *span)
{
	return late->start == span->start && late->end == span->end && late->thread == span->thread &&
	       late->probe == span->probe && late->sequence == span->sequence;
}

void late_free(struct late_store *store)
{
	free(store->spans);
	free(store->words);
	free(store->order);
	free(store->starts);
	*store = (struct late_store){ 0 };
}
