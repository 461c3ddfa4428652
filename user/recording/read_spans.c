/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_spans.c - the spans of a recording, chunk by chunk: handed on in batches, or a whole chunk at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording/reader.h"
#include "util/log.h"

#define BATCH 64 /* spans that are handed on at once: few enough to stay in the cache */

size_t recording_chunks(const struct recording *r)
{
	return r->nplaces;
}

void recording_watch(struct recording *r, recording_watch_fn watch, void *context)
{
	r->watch = watch;
	r->watcher = context;
}

bool reader_goes_on(struct recording *r, size_t index)
{
	return !r->watch || r->watch(r->watcher, r->places[index].chunk.at, r->size);
}

const char *records_begin(struct recording *r, size_t index, struct records *records)
{
	const uint8_t *raw;
	const char *wrong = reader_load_spans(r, index, &raw);

	if (wrong)
		return wrong;
	*records = (struct records){
		raw + SPAN_HEAD, raw + r->places[index].chunk.raw, get_u32(raw), get_u32(raw + 4), reader_bounds(r),
	};
	if (records->nspans > RECORDING_CHUNK_SPANS || records->ngaps > RECORDING_CHUNK_SPANS)
		return "a chunk has too many spans";
	if (span_code_fit(&r->code, records->bounds.threads, records->bounds.probes))
		return READER_NO_MEMORY;
	span_code_reset(&r->code, get_u64(raw + 8));
	return NULL;
}

enum record records_next(struct recording *r, struct records *records, struct span *span, struct gap *gap,
			 const char **wrong)
{
	enum record record;

	*wrong = "a chunk has fewer spans than stated";
	if (records->at >= records->end)
		return RECORD_BAD;
	*wrong = NULL;
	record = record_decode(&r->code, &records->at, records->end, &records->bounds, span, gap, wrong);
	if ((record == RECORD_SPAN && !records->nspans--) || (record == RECORD_GAP && !records->ngaps--)) {
		*wrong = "a chunk has more spans than stated";
		return RECORD_BAD;
	}
	return record;
}

/* Everything from this record on is damaged. The chunk still counts where it gave something. */
void reader_stop_at(struct recording *r, size_t index, bool partly, const char *wrong)
{
	reader_say_damage(r, r->places[index].chunk.at, wrong);
	r->nplaces = index + partly;
}

/* Spans on their way to a sink. */
struct batch {
	size_t count;
	struct span spans[BATCH];
};

static int hand_on(struct recording *r, const struct span_sink *sink, struct batch *batch)
{
	const struct definitions *d = recording_definitions(r);
	size_t count = batch->count, i;
	int error = 0;

	batch->count = 0;
	if (sink->spans)
		return count ? sink->spans(sink->context, d, batch->spans, count) : 0;
	for (i = 0; i < count && !error; i++)
		error = sink->span(sink->context, d, &batch->spans[i]);
	return error;
}

/* What recording_chunk_floor() will be asked for, found while spans are read for something else. */
struct floor {
	uint64_t time;         /* ns */
	size_t position;       /* of the next span, with those that are left out */
	size_t late, late_end; /* the next late span of the chunk, and behind its last one */
	bool sound;            /* all late ones so far are where they should be */
};

static struct floor floor_begin(const struct recording *r, size_t index)
{
	const struct span_place *place = &r->places[index];

	return (struct floor){
		.time = UINT64_MAX, .late = place->late, .late_end = place->late + place->nlate, .sound = true
	};
}

static void floor_pass_span(const struct recording *r, struct floor *floor, const struct span *span, bool left_out)
{
	const struct late_span *late = floor->late < floor->late_end ? &r->late.spans[floor->late] : NULL;

	if (late && late->position == floor->position) {
		floor->sound &= late_is_copy(late, span);
		floor->late++;
	} else if (!left_out && span->start < floor->time) {
		floor->time = span->start;
	}
	floor->position++;
}

/* The whole chunk was read. */
static void floor_end(struct recording *r, size_t index, const struct floor *floor)
{
	if (!floor->sound || floor->late != floor->late_end)
		return; /* recording_read_chunk() will say that */
	r->places[index].floor = floor->time;
	r->places[index].floor_known = true;
}

bool reader_leaves_out(const struct recording *r, uint32_t thread, uint64_t start, uint64_t end)
{
	return r->some_left_out && (start > r->choice.to || end < r->choice.from || end - start < r->choice.over ||
				    thread_is_left_out(recording_definitions(r), thread));
}

static bool leaves_out_span(const struct recording *r, const struct span *span)
{
	return reader_leaves_out(r, span->thread, span->start, span->end);
}

/* How long a gap is says nothing of how long the calls were that are missing there. */
static bool leaves_out_gap(const struct recording *r, const struct gap *gap)
{
	return r->some_left_out && (gap->after > r->choice.to || (gap->before && gap->before < r->choice.from) ||
				    thread_is_left_out(recording_definitions(r), gap->thread));
}

int recording_read(struct recording *r, const struct span_sink *sink)
{
	struct batch batch = { 0 };
	struct gap gap;
	size_t i;

	for (i = 0; i < r->nplaces; i++) {
		struct records records = { 0 };
		struct floor floor = floor_begin(r, i);
		bool some = false, left_out;
		const char *wrong;
		int error = 0;

		if (!reader_goes_on(r, i))
			return -ECANCELED;
		wrong = records_begin(r, i, &records);
		while (!wrong && !error && (records.nspans || records.ngaps)) {
			struct span *span = &batch.spans[batch.count];

			switch (records_next(r, &records, span, &gap, &wrong)) {
			case RECORD_SPAN:
				some = true;
				left_out = leaves_out_span(r, span);
				floor_pass_span(r, &floor, span, left_out);
				if (!left_out && ++batch.count == BATCH)
					error = hand_on(r, sink, &batch);
				break;
			case RECORD_GAP:
				some = true;
				error = hand_on(r, sink, &batch);
				if (leaves_out_gap(r, &gap))
					break;
				if (gap.after < floor.time)
					floor.time = gap.after;
				if (!error && sink->gap)
					error = sink->gap(sink->context, recording_definitions(r), &gap);
				break;
			case RECORD_BAD:
				break; /* wrong is set */
			}
		}
		if (!error)
			error = hand_on(r, sink, &batch);
		if (error)
			return error;
		if (wrong)
			reader_stop_at(r, i, some, wrong);
		else
			floor_end(r, i, &floor);
	}
	return 0;
}

static bool make_room(struct recording *r)
{
	if (r->spans)
		return r->packed && r->thread_of && r->is_late && r->gaps && r->gap_before;
	r->packed = malloc((RECORDING_CHUNK_SPANS + 1) * sizeof(*r->packed)); /* and one that is too many */
	r->spans = calloc(RECORDING_CHUNK_SPANS + 1, sizeof(*r->spans));
	r->thread_of = malloc((RECORDING_CHUNK_SPANS + 1) * sizeof(*r->thread_of));
	r->is_late = calloc(RECORDING_CHUNK_SPANS, sizeof(*r->is_late));
	r->gaps = calloc(RECORDING_CHUNK_SPANS, sizeof(*r->gaps));
	r->gap_before = calloc(RECORDING_CHUNK_SPANS, sizeof(*r->gap_before));
	return r->packed && r->spans && r->thread_of && r->is_late && r->gaps && r->gap_before;
}

/* Marks the late spans of a chunk; they must be the same spans as their copies. */
static const char *mark_late(struct recording *r, size_t index, size_t nspans)
{
	const struct span_place *place = &r->places[index];
	const char *wrong = NULL;
	size_t i;

	memset(r->is_late, 0, nspans * sizeof(*r->is_late));
	for (i = place->late; i < place->late + place->nlate; i++) {
		const struct late_span *late = &r->late.spans[i];

		if (late->position < nspans && late_is_copy(late, r->spans[late->position]))
			r->is_late[late->position] = true;
		else
			wrong = "a late span is not among the spans";
	}
	return wrong;
}

/* Takes what belongs to processes that are no part of the job, and what was not chosen, out of a chunk. */
static void leave_out(struct recording *r, size_t index, size_t *nspans, size_t *ngaps)
{
	size_t spans = 0, gaps = 0, gap = 0;

	for (size_t i = 0; i <= *nspans; i++) {
		for (; gap < *ngaps && r->gap_before[gap] == i; gap++) {
			if (leaves_out_gap(r, &r->gaps[gap]))
				continue;
			r->gaps[gaps] = r->gaps[gap];
			r->gap_before[gaps++] = spans;
		}
		if (i == *nspans || leaves_out_span(r, r->spans[i]))
			continue;
		if (spans != i) {
			r->spans[spans] = r->spans[i];
			r->thread_of[spans] = r->thread_of[i];
		}
		r->is_late[spans++] = r->is_late[i];
	}
	r->places[index].left_out = *nspans - spans;
	*nspans = spans;
	*ngaps = gaps;
}

static uint64_t find_floor(const struct recording_chunk *chunk)
{
	uint64_t floor = UINT64_MAX;

	for (size_t i = 0; i < chunk->nspans; i++)
		if (!chunk->late[i] && chunk->spans[i]->start < floor)
			floor = chunk->spans[i]->start;
	for (size_t i = 0; i < chunk->ngaps; i++)
		if (chunk->gaps[i].after < floor)
			floor = chunk->gaps[i].after;
	return floor;
}

int recording_read_chunk(struct recording *r, size_t index, struct recording_chunk *chunk)
{
	struct records records = { 0 };
	size_t nspans = 0, ngaps = 0;
	const char *wrong, *late_wrong;
	struct span *span;

	if (index >= r->nplaces)
		return -ENODATA;
	if (!make_room(r)) {
		log_error("%s: cannot be read: out of memory: free some memory", log_safe(r->name));
		return -ENOMEM;
	}
	if (!reader_goes_on(r, index))
		return -ECANCELED;
	wrong = records_begin(r, index, &records);
	span = r->packed;
	while (!wrong && (records.nspans || records.ngaps)) {
		/* records_next() allows no more of each than there is room for; the last one's place is checked by it
		 * too. */
		struct gap *gap = &r->gaps[ngaps < RECORDING_CHUNK_SPANS ? ngaps : RECORDING_CHUNK_SPANS - 1];
		enum record record = records_next(r, &records, span, gap, &wrong);

		if (record == RECORD_SPAN) {
			r->thread_of[nspans] = span->thread;
			r->spans[nspans++] = span;
			span = (struct span *)(span->words + span->nwords);
		} else if (record == RECORD_GAP) {
			r->gap_before[ngaps++] = nspans;
		}
	}
	late_wrong = mark_late(r, index, nspans);
	if (!wrong)
		wrong = late_wrong;
	if (wrong) {
		reader_stop_at(r, index, nspans || ngaps, wrong);
		if (!nspans && !ngaps)
			return -ENODATA;
	}
	if (r->some_left_out)
		leave_out(r, index, &nspans, &ngaps);
	*chunk = (struct recording_chunk){ r->spans, r->thread_of, nspans, r->is_late, r->gaps, r->gap_before, ngaps };
	if (!r->places[index].floor_known)
		r->places[index].floor = find_floor(chunk);
	r->places[index].floor_known = true;
	return 0;
}

int recording_chunk_floor(struct recording *r, size_t index, uint64_t *floor)
{
	struct recording_chunk chunk;
	int error = index < r->nplaces && r->places[index].floor_known ? 0 : recording_read_chunk(r, index, &chunk);

	if (!error)
		*floor = r->places[index].floor;
	return error;
}
