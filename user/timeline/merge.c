/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.c - the events of all threads in one order of time, out of a recording.
 *
 * timeline.c delivers the threads in turns, a chunk's worth of each at a time. Chunks are written in about the order of
 * time, but not quite. So the chunks are read twice: first to learn how far back each reaches (unless somebody has read
 * them before), then to deliver. Late
 * spans (recording.h) are known beforehand, and the others of a chunk begin no earlier than the earliest of them: what
 * happens before the earliest of all chunks still to come is complete once the threads have been taken up to there, and
 * is sorted and handed on. Large chunks are told in parts, so what waits in between is less than one.
 *
 * A recording need not be so kind: where more waits than WAITING_MOST, the older half is handed on as it is, and that
 * is said.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline/queue.h"
#include "timeline/timeline_private.h"
#include "util/log.h"

#define WAITING_MOST (1u << 20) /* events */

struct merge {
	const struct timeline_ops *ops; /* of whom it is for */
	const struct definitions *d;
	struct queue queue;
	uint64_t *floors; /* ns, by chunk: nothing that is not late begins earlier in this chunk or after it */
	size_t nfloors;
	struct timeline *timeline;
	size_t chunk;     /* the one that is being delivered */
	uint64_t reached; /* ns; handed on up to here */
	bool forced;      /* more waited than there is room for */
};

static int take_event(void *context, const struct definitions *d, const struct event *event)
{
	struct merge *m = context;
	int error;

	if (m->ops->roles && !(m->ops->roles >> d->probes[event->span->probe].role & 1))
		return 0;
	error = queue_put_event(&m->queue, event);
	if (error || m->queue.count < WAITING_MOST)
		return error;
	if (!m->forced)
		log_warn("replay: the recording's threads lie far apart: events of different threads may come out of "
			 "order");
	m->forced = true;
	return queue_release(&m->queue, UINT64_MAX, m->d, m->ops);
}

static int take_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	return queue_put_control(&((struct merge *)context)->queue, thread, control);
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	return queue_put_gap(&((struct merge *)context)->queue, gap);
}

static void take_progress(void *context, size_t done, size_t all)
{
	struct merge *m = context;

	if (m->ops->progress)
		m->ops->progress(m->ops->context, done, all);
}

/* Everything before this time is known, but for what is in progress. */
static int hand_on(struct merge *m, uint64_t time)
{
	int error;

	if (time <= m->reached)
		return 0;
	m->reached = time;
	error = timeline_advance(m->timeline, time);
	return error ? error : queue_release(&m->queue, time, m->d, m->ops);
}

/* Nothing that is still to come begins earlier, once the chunk has been read. */
static uint64_t floor_after(const struct merge *m, size_t chunk)
{
	return chunk + 1 < m->nfloors ? m->floors[chunk + 1] : UINT64_MAX;
}

static int chunk_done(struct timeline *t, size_t index, void *context)
{
	struct merge *m = context;

	m->chunk = index + 1;
	return hand_on(m, floor_after(m, index));
}

static int part_done(void *context, uint64_t time)
{
	struct merge *m = context;
	uint64_t floor = floor_after(m, m->chunk);

	return hand_on(m, time < floor ? time : floor);
}

static int find_floors(struct merge *m, struct recording *recording)
{
	size_t count = recording_chunks(recording);

	m->floors = calloc(count + 1, sizeof(*m->floors));
	if (!m->floors)
		return -ENOMEM;
	for (; m->nfloors < count; m->nfloors++) {
		int error = recording_chunk_floor(recording, m->nfloors, &m->floors[m->nfloors]);

		if (error == -ENODATA)
			break; /* said by the reader; it ends there */
		if (error)
			return error;
	}
	for (size_t i = m->nfloors; i-- > 1;)
		if (m->floors[i] < m->floors[i - 1])
			m->floors[i - 1] = m->floors[i];
	return 0;
}

int timeline_read_merged(struct recording *recording, const struct timeline_ops *ops)
{
	struct merge m = { .ops = ops, .d = recording_definitions(recording) };
	struct timeline_ops own = {
		.event = take_event,
		.gap = take_gap,
		.control = take_control,
		.part = part_done,
		.progress = take_progress,
		.context = &m,
	};
	struct timeline t = { .ops = &own, .chunk_done = chunk_done, .chunk_context = &m };
	int error = find_floors(&m, recording);

	m.timeline = &t;
	if (error == -ENOMEM)
		log_error("timeline: out of memory: free some memory and try again");
	if (!error)
		error = timeline_run(&t, recording);
	if (!error)
		error = queue_release(&m.queue, UINT64_MAX, m.d, ops);
	queue_free(&m.queue);
	free(m.floors);
	return error;
}
