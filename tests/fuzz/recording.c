/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.c - a recording that somebody hands on: read whole, chunk by chunk, its late spans, as events in order of
 * time.
 */
#include "recording/recording.h"
#include "shared/fuzz.h"
#include "shared/read.h"
#include "timeline/arguments.h"
#include "timeline/timeline.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	return recording_mutate(data, size, most, seed);
}

static int take_span(void *context, const struct definitions *d, const struct span *span)
{
	must(span->thread < d->nthreads && span->probe < d->nprobes);
	must(span->site == NO_INDEX || span->site < d->nsites);
	must(span->nwords <= GB_SLOTS);
	return 0;
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	must(gap->thread < d->nthreads);
	return 0;
}

static int take_event(void *context, const struct definitions *d, const struct event *event)
{
	struct argument arguments[ARGUMENTS_AT_MOST];

	must(event->lane < TIMELINE_LANES && event->span->end >= event->span->start);
	event_arguments(d, event, arguments, ARGUMENTS_AT_MOST);
	return 0;
}

static int take_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	must(thread < d->nthreads);
	return 0;
}

static void read_pieces(struct recording *r)
{
	struct recording_chunk chunk;
	struct span span;
	size_t late;

	for (size_t i = recording_chunks(r); i--;)
		recording_read_chunk(r, i, &chunk);
	recording_late(r, &late);
	for (size_t i = 0; i < late; i++) {
		recording_late_span(r, i, &span);
		take_span(NULL, recording_definitions(r), &span);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span_sink sink = { .span = take_span, .gap = take_gap };
	const struct timeline_ops ops = { .event = take_event, .gap = take_gap, .control = take_control };
	struct recording *r;

	if (recording_open_fd(&r, fuzz_file_fd(data, size), "input"))
		return 0;
	recording_read(r, &sink);
	read_pieces(r);
	timeline_read(r, &ops);
	timeline_read_merged(r, &ops);
	recording_close(r);
	return 0;
}
