/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * span_code.c - spans as few bytes, and back.
 *
 * A job may make a million calls a second and more, for hours, so a span must cost few bytes and few
 * nanoseconds. What makes it small is guessing: each record begins with a byte of flags, one for each field that
 * is usually what it was the last time, and only the fields that the guess missed follow. The guesses:
 *
 *   thread    the one of the record before
 *   probe     the one that followed this thread's last probe the last time (malloc, free, malloc, free ...)
 *   sequence  the thread's last plus one
 *   site, depth, number of words: those of the probe's last span
 *   end       by return, every word readable
 *
 * Times and words are differences: a start to the thread's last end (negative for a call that encloses others), an end
 * to its start, a word to the same word of the probe's last span. All numbers are LEB128, differences zigzag. What is
 * left is mostly low entropy and small, and zstd at its fastest level takes it down further.
 *
 * The state is forgotten at each chunk, so that chunks can be read alone. Forgetting is done with an epoch number, when
 * a thread or probe is next met: the tables can have millions of entries of which a chunk touches few.
 */
#include "recording/span_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HAS_THREAD = 0x01,
	HAS_PROBE = 0x02,
	HAS_SITE = 0x04,
	HAS_DEPTH = 0x08,
	HAS_END = 0x10, /* reason and unread */
	HAS_SEQUENCE = 0x20,
	HAS_WORDS = 0x40, /* the number of words */
	IS_GAP = 0x80,    /* not a span; the others are then */
	GAP_HAS_BEFORE = 0x01,
};

int span_code_fit(struct span_code *code, size_t threads, size_t probes)
{
	if (threads > code->nthreads) {
		size_t room = 2 * threads;
		struct coded_thread *grown = realloc(code->threads, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + code->nthreads, 0, (room - code->nthreads) * sizeof(*grown));
		code->threads = grown;
		code->nthreads = room;
	}
	if (probes > code->nprobes) {
		size_t room = 2 * probes;
		struct probe_state *grown = realloc(code->probes, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + code->nprobes, 0, (room - code->nprobes) * sizeof(*grown));
		code->probes = grown;
		code->nprobes = room;
	}
	return 0;
}

void span_code_free(struct span_code *code)
{
	free(code->threads);
	free(code->probes);
	*code = (struct span_code){ 0 };
}

void span_code_reset(struct span_code *code, uint64_t base)
{
	if (++code->epoch == 0) {
		/* Once in 4 billion chunks old epochs would look like new ones. */
		memset(code->threads, 0, code->nthreads * sizeof(*code->threads));
		memset(code->probes, 0, code->nprobes * sizeof(*code->probes));
		code->epoch = 1;
	}
	code->thread = 0;
	code->base = base;
}

static inline struct coded_thread *thread_state(struct span_code *code, uint32_t index)
{
	struct coded_thread *state = &code->threads[index];

	if (state->epoch != code->epoch)
		*state = (struct coded_thread){ .epoch = code->epoch, .end = code->base };
	return state;
}

static inline struct probe_state *probe_state(struct span_code *code, uint32_t index)
{
	struct probe_state *state = &code->probes[index];

	if (state->epoch != code->epoch)
		*state = (struct probe_state){ .epoch = code->epoch, .site = NO_INDEX };
	return state;
}

/* --- writing ----------------------------------------------------------- */

static inline uint8_t *put(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

/* A difference modulo 2^64. */
static inline uint8_t *put_difference(uint8_t *to, uint64_t value, uint64_t before)
{
	int64_t difference = (int64_t)(value - before);

	return put(to, ((uint64_t)difference << 1) ^ (uint64_t)(difference >> 63));
}

static uint8_t *put_words(uint8_t *to, struct probe_state *probe, const struct span *span)
{
	unsigned i;

	for (i = 0; i < span->nwords; i++) {
		to = put_difference(to, span->words[i], probe->words[i]);
		probe->words[i] = span->words[i];
	}
	return to;
}

uint8_t *span_encode(struct span_code *code, uint8_t *to, const struct span *span)
{
	struct coded_thread *thread = thread_state(code, span->thread);
	struct probe_state *last = probe_state(code, thread->probe), *probe = probe_state(code, span->probe);
	uint8_t *flags = to++;

	*flags = 0;
	if (span->thread != code->thread) {
		*flags |= HAS_THREAD;
		to = put(to, span->thread);
	}
	if (span->probe != last->next) {
		*flags |= HAS_PROBE;
		to = put(to, span->probe);
	}
	if (span->site != probe->site) {
		*flags |= HAS_SITE;
		to = put(to, (uint32_t)(span->site + 1)); /* NO_INDEX is 0 */
	}
	if (span->depth != probe->depth) {
		*flags |= HAS_DEPTH;
		to = put(to, span->depth);
	}
	if (span->reason | span->unread) {
		*flags |= HAS_END;
		*to++ = span->reason;
		to = put(to, span->unread);
	}
	if (span->sequence != thread->sequence + 1) {
		*flags |= HAS_SEQUENCE;
		to = put_difference(to, span->sequence, thread->sequence);
	}
	if (span->nwords != probe->nwords) {
		*flags |= HAS_WORDS;
		*to++ = span->nwords;
	}
	to = put_difference(to, span->start, thread->end);
	to = put(to, span->end - span->start);
	to = put_words(to, probe, span);

	last->next = span->probe;
	code->thread = span->thread;
	thread->end = span->end;
	thread->sequence = span->sequence;
	thread->probe = span->probe;
	probe->site = span->site;
	probe->depth = span->depth;
	probe->nwords = span->nwords;
	return to;
}

uint8_t *gap_encode(struct span_code *code, uint8_t *to, const struct gap *gap)
{
	*to++ = IS_GAP | (gap->before ? GAP_HAS_BEFORE : 0);
	to = put(to, gap->thread);
	to = put(to, gap->count);
	to = put_difference(to, gap->after, code->base);
	if (gap->before)
		to = put_difference(to, gap->before, gap->after);
	return to;
}

/* --- reading ----------------------------------------------------------- */

/* At most 10 bytes; what goes beyond 64 bits is dropped. */
static inline uint64_t get(const uint8_t **at)
{
	const uint8_t *from = *at;
	uint64_t value = *from & 0x7f;
	unsigned shift = 7;

	while (*from++ & 0x80) {
		if (shift > 63)
			break;
		value |= (uint64_t)(*from & 0x7f) << shift;
		shift += 7;
	}
	*at = from;
	return value;
}

static inline uint64_t get_difference(const uint8_t **at, uint64_t before)
{
	uint64_t value = get(at);

	return before + ((value >> 1) ^ -(value & 1));
}

/* A number that must be below `most`, with NO_INDEX standing for all that are not. */
static inline uint32_t get_index(const uint8_t **at, uint64_t most)
{
	uint64_t value = get(at);

	return value < most ? (uint32_t)value : NO_INDEX;
}

static enum record gap_decode(struct span_code *code, const uint8_t **at, const struct span_bounds *bounds,
			      uint8_t flags, struct gap *gap, const char **wrong)
{
	if (flags & ~(IS_GAP | GAP_HAS_BEFORE)) {
		*wrong = "a hole has unknown flags";
		return RECORD_BAD;
	}
	gap->thread = get_index(at, bounds->threads);
	gap->count = get(at);
	gap->after = get_difference(at, code->base);
	gap->before = flags & GAP_HAS_BEFORE ? get_difference(at, gap->after) : 0;
	if (gap->thread == NO_INDEX) {
		*wrong = "a hole refers to no thread";
		return RECORD_BAD;
	}
	if (gap->after > RECORDING_TIME_MOST || gap->before > RECORDING_TIME_MOST) {
		*wrong = "a hole is beyond all time";
		return RECORD_BAD;
	}
	return RECORD_GAP;
}

/* Which thread and probe it is; the states follow, or NULL where there is none. */
static const char *get_states(struct span_code *code, const uint8_t **at, const struct span_bounds *bounds,
			      uint8_t flags, struct span *span, struct coded_thread **thread,
			      struct probe_state **probe)
{
	struct probe_state *last;

	span->thread = flags & HAS_THREAD ? get_index(at, bounds->threads) : code->thread;
	if (span->thread >= bounds->threads)
		return "a span refers to no thread";
	*thread = thread_state(code, span->thread);
	if ((*thread)->probe >= bounds->probes)
		return "a span refers to no probe";
	last = probe_state(code, (*thread)->probe);
	span->probe = flags & HAS_PROBE ? get_index(at, bounds->probes) : last->next;
	if (span->probe >= bounds->probes)
		return "a span refers to no probe";
	last->next = span->probe;
	*probe = probe_state(code, span->probe);
	return NULL;
}

/* The fields whose guess failed. */
static const char *get_fields(const uint8_t **at, const struct span_bounds *bounds, uint8_t flags, struct span *span,
			      const struct coded_thread *thread, struct probe_state *probe)
{
	span->reason = 0;
	span->unread = 0;
	span->sequence = thread->sequence + 1;
	if (flags & HAS_SITE) {
		uint64_t site = get(at);

		if (site > bounds->sites)
			return "a span refers to no call site";
		probe->site = (uint32_t)site - 1;
	}
	if (flags & HAS_DEPTH) {
		uint64_t depth = get(at);

		if (depth > UINT16_MAX)
			return "a span has an impossible depth";
		probe->depth = (uint16_t)depth;
	}
	if (flags & HAS_END) {
		uint64_t unread;

		span->reason = *(*at)++;
		unread = get(at);
		span->unread = (uint32_t)unread;
		if (span->reason >= GB_ENDS || unread >> GB_SLOTS)
			return "a span has an unknown end";
	}
	if (flags & HAS_SEQUENCE)
		span->sequence = (uint32_t)get_difference(at, thread->sequence);
	if (flags & HAS_WORDS) {
		probe->nwords = *(*at)++;
		if (probe->nwords > GB_SLOTS)
			return "a span has too many words";
	}
	return NULL;
}

enum record record_decode(struct span_code *code, const uint8_t **from, const uint8_t *end,
			  const struct span_bounds *bounds, struct span *span, struct gap *gap, const char **wrong)
{
	const uint8_t *at = *from;
	struct coded_thread *thread;
	struct probe_state *probe;
	enum record record = RECORD_SPAN;
	uint8_t flags = *at++;
	unsigned i;

	if (flags & IS_GAP) {
		record = gap_decode(code, &at, bounds, flags, gap, wrong);
		goto out;
	}
	*wrong = get_states(code, &at, bounds, flags, span, &thread, &probe);
	if (!*wrong)
		*wrong = get_fields(&at, bounds, flags, span, thread, probe);
	if (*wrong)
		return RECORD_BAD;
	span->start = get_difference(&at, thread->end);
	span->end = span->start + get(&at);
	span->site = probe->site;
	span->depth = probe->depth;
	span->nwords = probe->nwords;
	for (i = 0; i < span->nwords; i++)
		span->words[i] = probe->words[i] = get_difference(&at, probe->words[i]);
	if (span->end < span->start || span->end > RECORDING_TIME_MOST) {
		*wrong = "a span ends before it starts, or beyond all time";
		return RECORD_BAD;
	}
	code->thread = span->thread;
	thread->end = span->end;
	thread->sequence = span->sequence;
	thread->probe = span->probe;
out:
	if (at > end) {
		*wrong = "a record does not fit";
		return RECORD_BAD;
	}
	*from = at;
	return record;
}

bool span_is_sound(const struct definitions *d, const struct span *span)
{
	return span->thread < d->nthreads && span->probe < d->nprobes &&
	       (span->site < d->nsites || span->site == NO_INDEX) && span->nwords <= GB_SLOTS &&
	       span->reason < GB_ENDS && !(span->unread >> GB_SLOTS) && span->end >= span->start &&
	       span->end <= RECORDING_TIME_MOST;
}
