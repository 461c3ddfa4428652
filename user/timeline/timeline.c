/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.c - START, END and ATOMIC in order, out of spans in the order they ended.
 *
 * A recording has the spans of a thread in the order of their ends, so a call comes after
 * all that it contains, maybe gigabytes later. Events are wanted in the order of
 * time. Sorting the whole recording would take memory or disk for all of it. Instead it is read
 * chunk by chunk, and the recording names its late spans beforehand: those that
 * began before the end of a span of their thread in an earlier chunk (recording.h). So once chunk k is
 * read, every start of a thread before its largest end so far, its horizon, is at hand: it is
 * in this chunk, or among the late ones, or was delivered before. For each thread met in a chunk,
 * the chunk's own spans that are not late are sorted by start and merged with the late ones
 * that began before the new horizon; that is the order of the STARTs.
 *
 * ENDs come from the calls in progress: each lane of a thread has a stack of them; those that the chunk ends before
 * are copied then. Before a START at time t, all ENDs up to t are delivered. Where an END and a START have the same
 * time, the sequence numbers and depths of the spans say whether the one lies inside the other.
 *
 * Lanes: a thread that switches stacks (ucontext, fibers) has calls that overlap without
 * nesting. A call goes to the first lane where it ends no later than the call
 * in progress there. One stack means one lane, which is found at once.
 *
 * Memory: one chunk and its sort keys, the calls in progress, a small struct per thread, and the late spans that
 * the reader holds. The number of lanes is limited, and a call that comes too late is moved, so that a forged
 * recording costs no more and promises no less than a real one.
 */
#include "timeline/timeline_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

#define MOVES 16        /* of keys, for each of them, before they are sorted in general */
#define AHEAD 4         /* spans that are asked for before they are needed */
#define PART_SPANS 1024 /* of a chunk that is told in parts */

/* --- the order of starts --------------------------------------------------- */

/* True where call `outer` was in progress when `inner` was, by their numbers alone. */
static bool encloses(const struct span *outer, const struct span *inner)
{
	return outer->depth < inner->depth && (int32_t)(outer->sequence - inner->sequence) > 0;
}

/* At the same start the outer call is first; of calls side by side the one that ended first. */
static int compare_keys(const struct key *x, const struct key *y)
{
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->sequence != y->sequence)
		return (int32_t)(x->sequence - y->sequence) < 0 ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int by_key(const void *a, const void *b)
{
	return compare_keys(a, b);
}

struct key timeline_key(const struct span *span, uint32_t index)
{
	return (struct key){ .start = span->start, .sequence = span->sequence, .depth = span->depth, .index = index };
}

/*
 * The keys come in the order in which the calls ended, so each belongs only a few places before where it stands: as
 * many as the calls that it encloses. Whatever needs more than MOVES moves a key on average is sorted in general.
 */
void timeline_sort(struct key *keys, size_t count)
{
	size_t moves = MOVES * count;

	for (size_t i = 1; i < count; i++) {
		struct key key = keys[i];
		size_t at = i;

		while (at && compare_keys(&keys[at - 1], &key) > 0 && moves) {
			keys[at] = keys[at - 1];
			at--;
			moves--;
		}
		keys[at] = key;
		if (!moves) {
			qsort(keys, count, sizeof(*keys), by_key);
			return;
		}
	}
}

/* --- calls in progress -------------------------------------------------------- */

int timeline_tell_controls(struct timeline *t, uint32_t thread, uint64_t time, bool until)
{
	struct thread *own = &t->threads[thread];

	for (; own->control < t->d->ncontrols; own->control++) {
		const struct def_control *control = &t->d->controls[own->control];

		if (control->time > time || (control->time == time && !until))
			return 0;
		if (control->process != t->d->threads[thread].process || !t->ops->control)
			continue;
		int error = t->ops->control(t->ops->context, t->d, thread, control);

		if (error)
			return error;
	}
	return 0;
}

static int say(struct timeline *t, enum event_type type, uint64_t time, const struct span *span, unsigned lane,
	       unsigned level)
{
	struct event event = { .type = type, .time = time, .span = span, .lane = lane, .level = level };

	if (t->threads[span->thread].control < t->d->ncontrols) {
		/* What ends right then ended because of it. */
		int error = timeline_tell_controls(t, span->thread, time, type != EVENT_END);

		if (error)
			return error;
	}
	return t->ops->event(t->ops->context, t->d, &event);
}

/* Only the call was observed. */
static bool is_moment(const struct span *span)
{
	return !span_has_duration(span);
}

static const struct span *innermost(const struct lane *lane)
{
	return open_call_span(&lane->open[lane->nopen - 1]);
}

/* The lane whose innermost call ends first; NULL: nothing is in progress. */
static struct lane *first_to_end(struct thread *thread)
{
	struct lane *first = NULL;

	for (unsigned i = 0; i < thread->nlanes; i++) {
		struct lane *lane = &thread->lanes[i];

		if (lane->nopen && (!first || innermost(lane)->end < innermost(first)->end))
			first = lane;
	}
	return first;
}

static int end_innermost(struct timeline *t, struct thread *thread, struct lane *lane)
{
	const struct span *span = open_call_span(&lane->open[--lane->nopen]);

	if (span->end > thread->now)
		thread->now = span->end;
	return say(t, EVENT_END, span->end, span, lane - thread->lanes, lane->nopen);
}

int timeline_end_until(struct timeline *t, struct thread *thread, uint64_t time, const struct span *next)
{
	struct lane *lane;

	while ((lane = first_to_end(thread))) {
		const struct span *top = innermost(lane);

		if (top->end > time || (top->end == time && next && encloses(top, next)))
			return 0;
		int error = end_innermost(t, thread, lane);

		if (error)
			return error;
	}
	return 0;
}

/* The first lane in which a call nests that ends then; made where there is none. NULL: too many, or no memory (*error).
 */
static struct lane *lane_for(struct timeline *t, struct thread *thread, uint64_t end, int *error)
{
	*error = 0;
	for (unsigned i = 0; i < thread->nlanes; i++) {
		struct lane *lane = &thread->lanes[i];

		if (!lane->nopen || innermost(lane)->end >= end)
			return lane;
	}
	if (thread->nlanes == TIMELINE_LANES) {
		t->crowded++;
		return NULL;
	}
	struct lane *larger = realloc(thread->lanes, (thread->nlanes + 1) * sizeof(*larger));

	if (!larger) {
		*error = -ENOMEM;
		return NULL;
	}
	thread->lanes = larger;
	memset(&larger[thread->nlanes], 0, sizeof(*larger));
	return &larger[thread->nlanes++];
}

/* Most calls have few words, so only those are copied. */
static void copy_span(struct span *to, const struct span *from)
{
	memcpy(to, from, offsetof(struct span, words));
	for (unsigned i = 0; i < from->nwords; i++)
		to->words[i] = from->words[i];
}

/* Makes it the innermost call in progress. */
static int push(struct lane *lane, const struct span *span, uint64_t start, uint64_t end, bool stays)
{
	struct open_call *top;

	if (lane->nopen == lane->room) {
		size_t room = lane->room ? 2 * lane->room : 4;
		struct open_call *larger = realloc(lane->open, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		lane->open = larger;
		lane->room = room;
	}
	top = &lane->open[lane->nopen++];
	top->in_chunk = stays && span->start == start && span->end == end ? span : NULL;
	if (top->in_chunk)
		return 0;
	copy_span(&top->copy, span);
	top->copy.start = start;
	top->copy.end = end;
	return 0;
}

/* The chunk ends: calls that are still in progress are kept. */
static void keep_open(struct thread *thread)
{
	for (unsigned i = 0; i < thread->nlanes; i++) {
		struct lane *lane = &thread->lanes[i];

		for (size_t k = 0; k < lane->nopen; k++) {
			if (lane->open[k].in_chunk)
				copy_span(&lane->open[k].copy, lane->open[k].in_chunk);
			lane->open[k].in_chunk = NULL;
		}
	}
}

static int begin_moment(struct timeline *t, const struct thread *thread, const struct lane *lane,
			const struct span *original, uint64_t time)
{
	struct span span;

	copy_span(&span, original);
	span.start = span.end = time;
	return say(t, EVENT_ATOMIC, time, &span, lane - thread->lanes, lane->nopen);
}

int timeline_begin(struct timeline *t, struct thread *thread, const struct span *span, bool stays)
{
	uint64_t start = span->start, end = span->end;
	struct lane *lane;
	int error;

	if (start < thread->now) {
		start = thread->now;
		t->disordered++;
	}
	if (end < start || is_moment(span))
		end = start;
	thread->now = start;
	error = timeline_end_until(t, thread, start, span);
	if (error)
		return error;
	lane = lane_for(t, thread, end, &error);
	if (!lane)
		return error;
	if (is_moment(span))
		return begin_moment(t, thread, lane, span, start);
	error = push(lane, span, start, end, stays);
	if (error)
		return error;
	return say(t, EVENT_START, start, innermost(lane), lane - thread->lanes, lane->nopen - 1);
}

int timeline_pass_gap(struct timeline *t, struct thread *thread, const struct gap *gap)
{
	int error = timeline_end_until(t, thread, gap->after, NULL);

	return error || !t->ops->gap ? error : t->ops->gap(t->ops->context, t->d, gap);
}

/* --- one chunk ---------------------------------------------------------------- */

static int room_for(void *array, size_t *room, size_t count, size_t size)
{
	void **data = array;

	if (count <= *room)
		return 0;
	void *larger = realloc(*data, count * size);

	if (!larger)
		return -ENOMEM;
	*data = larger;
	*room = count;
	return 0;
}

static void meet(struct timeline *t, uint32_t index)
{
	if (!t->threads[index].nspans && !t->threads[index].ngaps)
		t->met[t->nmet++] = index;
}

/* Counts what each thread has in the chunk, then gives it its part of the key and gap arrays. */
static void divide(struct timeline *t, const struct recording_chunk *chunk)
{
	size_t spans = 0, gaps = 0;

	t->nmet = 0;
	for (size_t i = 0; i < chunk->nspans; i++) {
		meet(t, chunk->threads[i]);
		t->threads[chunk->threads[i]].nspans++;
	}
	for (size_t i = 0; i < chunk->ngaps; i++) {
		meet(t, chunk->gaps[i].thread);
		t->threads[chunk->gaps[i].thread].ngaps++;
	}
	for (size_t i = 0; i < t->nmet; i++) {
		struct thread *thread = &t->threads[t->met[i]];

		thread->spans = spans;
		thread->gaps = gaps;
		spans += thread->nspans;
		gaps += thread->ngaps;
		thread->nspans = thread->ngaps = 0;
		thread->span = thread->gap = 0;
	}
}

/* Puts the spans that are not late, and the gaps, in the parts of their threads. */
static void distribute(struct timeline *t, const struct recording_chunk *chunk)
{
	for (size_t i = 0; i < chunk->nspans; i++) {
		const struct span *span = chunk->spans[i];
		struct thread *thread = &t->threads[chunk->threads[i]];

		if (span->end > thread->horizon)
			thread->horizon = span->end;
		if (span->start > thread->horizon)
			thread->horizon = span->start;
		if (!chunk->late[i])
			t->keys[thread->spans + thread->nspans++] = timeline_key(span, i);
	}
	for (size_t i = 0; i < chunk->ngaps; i++) {
		struct thread *thread = &t->threads[chunk->gaps[i].thread];

		t->gaps[thread->gaps + thread->ngaps++] = i;
	}
}

/* Begins the late spans that come before `limit`, and before the span `next` where that is given. */
static int begin_late(struct timeline *t, struct thread *thread, uint64_t limit, const struct span *next)
{
	while (thread->late < thread->late_end && t->lates[thread->late].start <= limit) {
		struct span span;

		if (t->lates[thread->late].chunk >= recording_chunks(t->recording)) {
			thread->late++; /* what it belongs to is damaged */
			continue;
		}
		recording_late_span(t->recording, thread->late, &span);
		if (next) {
			struct key late = timeline_key(&span, 0), other = timeline_key(next, 0);

			if (compare_keys(&late, &other) > 0)
				return 0;
		}
		thread->late++;
		int error = timeline_begin(t, thread, &span, false);

		if (error)
			return error;
	}
	return 0;
}

/* Asks for a span's memory: in a chunk of many threads the next one is somewhere else. */
static void fetch(const struct span *span)
{
	__builtin_prefetch(span);
	__builtin_prefetch((const char *)span + 64);
}

/* The thread's spans of this chunk that begin until then, with the late spans and gaps before each. */
static int deliver_spans(struct timeline *t, struct thread *thread, const struct recording_chunk *chunk, uint64_t until)
{
	struct key *keys = t->keys + thread->spans;
	int error;

	for (; thread->span < thread->nspans && keys[thread->span].start <= until; thread->span++) {
		const struct span *span = chunk->spans[keys[thread->span].index];

		if (thread->span + AHEAD < thread->nspans)
			fetch(chunk->spans[keys[thread->span + AHEAD].index]);
		while (thread->gap < thread->ngaps &&
		       chunk->gaps[t->gaps[thread->gaps + thread->gap]].after <= span->start) {
			const struct gap *at = &chunk->gaps[t->gaps[thread->gaps + thread->gap++]];

			error = begin_late(t, thread, at->after, span);
			if (!error)
				error = timeline_pass_gap(t, thread, at);
			if (error)
				return error;
		}
		error = begin_late(t, thread, span->start, span);
		if (!error)
			error = timeline_begin(t, thread, span, true);
		if (error)
			return error;
	}
	return 0;
}

/*
 * Begins the late spans that come until then, but for those behind a gap. One that begins at the horizon itself may
 * belong behind spans of the next chunk; strictly before it is due.
 */
static int begin_late_until(struct timeline *t, struct thread *thread, const struct recording_chunk *chunk,
			    uint64_t until)
{
	if (!thread->horizon)
		return 0;
	if (thread->gap < thread->ngaps && chunk->gaps[t->gaps[thread->gaps + thread->gap]].after < until)
		until = chunk->gaps[t->gaps[thread->gaps + thread->gap]].after;
	return begin_late(t, thread, until < thread->horizon ? until : thread->horizon - 1, NULL);
}

/* Those gaps of the thread that no span of this chunk follows until then. */
static int deliver_gaps(struct timeline *t, struct thread *thread, const struct recording_chunk *chunk, uint64_t until)
{
	int error = 0;

	while (!error && thread->gap < thread->ngaps) {
		const struct gap *at = &chunk->gaps[t->gaps[thread->gaps + thread->gap]];

		if (at->after > until)
			return 0;
		error = begin_late_until(t, thread, chunk, at->after) ?: timeline_pass_gap(t, thread, at);
		thread->gap++;
	}
	return error;
}

/* What is left of it. */
static int deliver(struct timeline *t, struct thread *thread, const struct recording_chunk *chunk)
{
	int error = deliver_spans(t, thread, chunk, UINT64_MAX);

	for (; thread->gap < thread->ngaps && !error; thread->gap++)
		error = timeline_pass_gap(t, thread, &chunk->gaps[t->gaps[thread->gaps + thread->gap]]);
	if (!error)
		error = begin_late_until(t, thread, chunk, UINT64_MAX);
	thread->nspans = thread->ngaps = 0;
	return error;
}

/* When the first and the last of its spans begin. */
static void find_bounds(const struct timeline *t, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t i = 0; i < t->nmet; i++) {
		const struct thread *thread = &t->threads[t->met[i]];
		const struct key *keys = t->keys + thread->spans;

		if (!thread->nspans)
			continue;
		if (keys[0].start < *first)
			*first = keys[0].start;
		if (keys[thread->nspans - 1].start > *last)
			*last = keys[thread->nspans - 1].start;
	}
}

/* All threads until some time, then all of them until a later one, and so on; deliver() has the rest. */
static int deliver_parts(struct timeline *t, const struct recording_chunk *chunk)
{
	/* Whoever is told has to look at all threads, perhaps. */
	size_t parts = chunk->nspans / (t->d->nthreads > PART_SPANS ? t->d->nthreads : PART_SPANS);
	uint64_t first, last;
	int error = 0;

	find_bounds(t, &first, &last);
	for (size_t part = 1; part < parts && first < last && !error; part++) {
		uint64_t until = first + (last - first) / parts * part;

		for (size_t i = 0; i < t->nmet && !error; i++) {
			struct thread *thread = &t->threads[t->met[i]];

			error = deliver_spans(t, thread, chunk, until);
			if (!error)
				error = deliver_gaps(t, thread, chunk, until);
			if (!error)
				error = begin_late_until(t, thread, chunk, until);
		}
		if (!error)
			error = t->ops->part(t->ops->context, until);
	}
	return error;
}

static int read_chunk(struct timeline *t, size_t index)
{
	struct recording_chunk chunk;
	int error = t->ahead ? read_ahead_chunk(t->ahead, index, &chunk)
			     : recording_read_chunk(t->recording, index, &chunk);

	if (error)
		return error;
	error = room_for(&t->keys, &t->keys_room, chunk.nspans, sizeof(*t->keys));
	if (!error)
		error = room_for(&t->gaps, &t->gaps_room, chunk.ngaps, sizeof(*t->gaps));
	if (error)
		return error;
	divide(t, &chunk);
	distribute(t, &chunk);
	for (size_t i = 0; i < t->nmet; i++)
		timeline_sort(t->keys + t->threads[t->met[i]].spans, t->threads[t->met[i]].nspans);
	if (t->ops->part)
		error = deliver_parts(t, &chunk);
	for (size_t i = 0; i < t->nmet && !error; i++)
		error = deliver(t, &t->threads[t->met[i]], &chunk);
	for (size_t i = 0; i < t->nmet; i++)
		keep_open(&t->threads[t->met[i]]);
	return error;
}

/* --- the whole ----------------------------------------------------------------- */

static int timeline_open(struct timeline *t, struct recording *recording)
{
	t->recording = recording;
	t->d = recording_definitions(recording);
	t->lates = recording_late(recording, &t->nlates);
	t->threads = calloc(t->d->nthreads + 1, sizeof(*t->threads));
	t->met = calloc(t->d->nthreads + 1, sizeof(*t->met));
	if (!t->threads || !t->met)
		return -ENOMEM;
	for (size_t i = 0; i < t->nlates; i++) {
		struct thread *thread = &t->threads[t->lates[i].thread];

		if (!thread->late_end)
			thread->late = i;
		thread->late_end = i + 1;
	}
	return 0;
}

static void timeline_close(struct timeline *t)
{
	read_ahead_end(t->ahead);
	for (size_t i = 0; t->threads && i < t->d->nthreads; i++) {
		for (unsigned lane = 0; lane < t->threads[i].nlanes; lane++)
			free(t->threads[i].lanes[lane].open);
		free(t->threads[i].lanes);
	}
	free(t->threads);
	free(t->met);
	free(t->keys);
	free(t->gaps);
}

/* What is in progress at the end of the recording ends now. */
static int end_all(struct timeline *t)
{
	int error = 0;

	for (size_t i = 0; i < t->d->nthreads && !error; i++) {
		error = begin_late(t, &t->threads[i], UINT64_MAX, NULL);
		if (!error)
			error = timeline_end_until(t, &t->threads[i], UINT64_MAX, NULL);
		if (!error)
			error = timeline_tell_controls(t, i, UINT64_MAX, true);
	}
	return error;
}

int timeline_advance(struct timeline *t, uint64_t time)
{
	int error = 0;

	for (size_t i = 0; time && i < t->d->nthreads && !error; i++) {
		error = begin_late(t, &t->threads[i], time - 1, NULL);
		if (!error)
			error = timeline_end_until(t, &t->threads[i], time - 1, NULL);
	}
	return error;
}

/* Says what could not be shown as it was. */
static void say_trouble(const struct timeline *t)
{
	if (t->crowded)
		log_warn("timeline: %llu calls overlap others of their thread in more than %d ways: they are left out",
			 (unsigned long long)t->crowded, TIMELINE_LANES);
	if (t->disordered)
		log_warn("timeline: %llu calls are not where the recording says: they are shown later than they began",
			 (unsigned long long)t->disordered);
}

int timeline_run(struct timeline *t, struct recording *recording)
{
	int error = timeline_open(t, recording);

	if (t->ops->ahead && !error)
		t->ahead = read_ahead_begin(recording);
	for (size_t i = 0; i < recording_chunks(recording) && !error; i++) {
		error = read_chunk(t, i);
		if (!error && t->chunk_done)
			error = t->chunk_done(t, i, t->chunk_context);
		if (!error && t->ops->progress)
			t->ops->progress(t->ops->context, i + 1, recording_chunks(recording));
	}
	if (error == -ENODATA)
		error = 0; /* said by the reader; what came before it is all there is */
	if (!error)
		error = end_all(t);
	if (error == -ENOMEM)
		log_error("timeline: out of memory: free some memory and try again");
	say_trouble(t);
	timeline_close(t);
	return error;
}

int timeline_read(struct recording *recording, const struct timeline_ops *ops)
{
	struct timeline t = { .ops = ops };

	return timeline_run(&t, recording);
}
