/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flight_test.c - the flight recorder's ring against a plain list, blocks there and back, what a trigger may say.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "flight/private.h"
#include "flight/ring.h"
#include "flight/trigger.h"
#include "recording/recording.h"

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* --- the ring ------------------------------------------------------------ */

static void fill(uint8_t *bytes, size_t size, uint64_t number)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(number * 31 + i);
}

/* What is there must be the last blocks that were put in, whole, and no two at the same place. */
static void check_ring(const struct ring_of_blocks *ring, const uint32_t *sizes, uint64_t pushed)
{
	static uint8_t wanted[20000];
	size_t used = 0;

	assert_true(ring->count <= pushed && ring->count <= ring->room);
	for (size_t i = 0; i < ring->count; i++) {
		const struct block *block = ring_block(ring, i);
		uint64_t number = pushed - ring->count + i;

		assert_int_equal(block->spans, number);
		assert_int_equal(block->size, sizes[number]);
		assert_true(block->at + block->size <= ring->size);
		fill(wanted, block->size, number);
		assert_memory_equal(ring->data + block->at, wanted, block->size);
		used += block->size;
	}
	assert_true(used <= ring->size);
}

static void test_ring_keeps_the_last(void **state)
{
	enum { PUSHES = 3000 };
	static uint32_t sizes[PUSHES];
	static uint8_t bytes[20000];
	struct ring_of_blocks ring;
	uint32_t seed = 7;

	assert_int_equal(ring_new(&ring, 100000, 50), 0);
	for (uint64_t i = 0; i < PUSHES; i++) {
		uint32_t most = i % 500 < 250 ? 20000 : 2000; /* now the bytes are the limit, now the number */
		struct block block = { .begin = i * 10, .end = i * 10 + 9, .spans = i };

		sizes[i] = 1 + next_random(&seed) % (most - 1);
		fill(bytes, sizes[i], i);
		assert_int_equal(ring_push(&ring, &block, bytes, sizes[i]), 0);
		check_ring(&ring, sizes, i + 1);
		assert_true(ring.count > 0);
		if (ring.count <= i)
			assert_int_equal(ring.gone, (i - ring.count) * 10 + 9);
		if (i % 100 == 99) {
			ring_expire(&ring, block.begin - 20);
			check_ring(&ring, sizes, i + 1);
			assert_true(ring.count <= 4);
		}
	}
	ring_expire(&ring, UINT64_MAX);
	assert_int_equal(ring.count, 0);
	assert_int_equal(ring_push(&ring, &(struct block){ 0 }, bytes, ring.size + 1), -EFBIG);
	ring_destroy(&ring);
}

/* --- blocks -------------------------------------------------------------- */

static const char *const NAMES[] = { "GASP_C_MALLOC", "GASP_PTHREAD_BARRIER_WAIT" };

static void define(struct definitions *d)
{
	memset(d, 0, sizeof(*d));
	definitions_add_process(d);
	for (int i = 0; i < 5; i++)
		definitions_add_thread(d);
	definitions_add_image(d);
	for (int i = 0; i < 2; i++) {
		uint32_t index = definitions_add_probe(d);

		d->probes[index].event = strdup(NAMES[i]);
		d->probes[index].role = i ? ROLE_BARRIER : ROLE_ALLOC;
	}
	definitions_add_site(d);
}

struct expected {
	struct span spans[2000];
	struct gap gaps[200];
	size_t nspans, ngaps, spans_met, gaps_met;
};

static int meet_span(void *context, const struct definitions *d, const struct span *span)
{
	struct expected *e = context;
	const struct span *wanted = &e->spans[e->spans_met++];

	assert_true(e->spans_met <= e->nspans);
	assert_memory_equal(span, wanted, offsetof(struct span, words));
	assert_memory_equal(span->words, wanted->words, span->nwords * sizeof(span->words[0]));
	return 0;
}

static int meet_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct expected *e = context;

	const struct gap *wanted = &e->gaps[e->gaps_met++];

	assert_int_equal(gap->thread, wanted->thread);
	assert_int_equal(gap->count, wanted->count);
	assert_int_equal(gap->after, wanted->after);
	assert_int_equal(gap->before, wanted->before);
	return 0;
}

static void add_some(struct block_maker *maker, struct expected *e, uint32_t *seed)
{
	for (int i = 0; i < 1500; i++) {
		struct span *span = &e->spans[e->nspans++];

		memset(span, 0, sizeof(*span));
		span->start = next_random(seed) * 100ull;
		span->end = span->start + next_random(seed);
		span->thread = next_random(seed) % 5;
		span->probe = next_random(seed) % 2;
		span->site = next_random(seed) % 2 ? 0 : NO_INDEX;
		span->sequence = next_random(seed);
		span->nwords = next_random(seed) % 4;
		for (int k = 0; k < span->nwords; k++)
			span->words[k] = (uint64_t)next_random(seed) << (next_random(seed) % 40);
		assert_int_equal(block_add_span(maker, span), 0);
		if (i % 100)
			continue;
		e->gaps[e->ngaps] = (struct gap){
			.thread = i % 5, .count = 1 + i, .after = span->end, .before = i % 200 ? span->end + 5 : 0
		};
		assert_int_equal(block_add_gap(maker, &e->gaps[e->ngaps++]), 0);
	}
}

static void test_blocks_there_and_back(void **state)
{
	static struct expected e;
	struct span_sink sink = { .span = meet_span, .gap = meet_gap, .context = &e };
	struct definitions d;
	struct block_maker *maker;
	const uint8_t *bytes;
	uint8_t *copy;
	uint32_t seed = 3;
	ssize_t size;

	define(&d);
	maker = block_maker_new(&d);
	assert_int_equal(block_seal(maker, &bytes), 0); /* nothing yet */
	for (int round = 0; round < 3; round++) {
		memset(&e, 0, sizeof(e));
		add_some(maker, &e, &seed);
		assert_true(block_filled(maker) > 0);
		size = block_seal(maker, &bytes);
		assert_true(size > 0);
		assert_int_equal(block_filled(maker), 0);
		copy = malloc(size);
		memcpy(copy, bytes, size);
		assert_int_equal(block_read(maker, copy, size, &sink), 0);
		assert_int_equal(e.spans_met, e.nspans);
		assert_int_equal(e.gaps_met, e.ngaps);
		/* Whatever has happened to the memory: it is refused. */
		for (ssize_t at = 0; at < size; at += 1 + size / 300) {
			copy[at] ^= 0x10;
			assert_int_equal(block_read(maker, copy, size, &sink), -EBADMSG);
			copy[at] ^= 0x10;
		}
		assert_int_equal(block_read(maker, copy, 10, &sink), -EBADMSG);
		free(copy);
	}
	assert_int_equal(block_add_span(maker, &(struct span){ .thread = 5 }), -EINVAL);
	assert_int_equal(block_add_gap(maker, &(struct gap){ .thread = 5 }), -EINVAL);
	block_maker_free(maker);
	definitions_free(&d);
}

/* --- triggers ------------------------------------------------------------ */

static uint64_t limit_of(const char *text, enum role role, const char *event)
{
	struct flight_options o = { .ntriggers = 1 };
	struct def_probe probe = { .role = role, .event = (char *)event };
	const struct trigger *which;
	struct trigger trigger;
	uint64_t limit;

	assert_null(trigger_parse(&trigger, text));
	o.triggers = &trigger;
	limit = trigger_limit(&o, &probe, &which);
	assert_true((which != NULL) == (limit != NO_LIMIT));
	trigger_free(&trigger);
	return limit;
}

static void test_triggers(void **state)
{
	static const char *const wrong[] = { "",          "barrier",   ">5s",         "barrier>",
					     "barrier>x", "barrier>0", "nonsense>5s", "gasp_mpi>5s" };

	assert_int_equal(limit_of("barrier>5s", ROLE_BARRIER, "GASP_X"), 5000000000ULL);
	assert_int_equal(limit_of("barrier=5ms", ROLE_BARRIER, "GASP_X"), 5000000ULL);
	assert_true(limit_of("barrier>5s", ROLE_ACQUIRE, "GASP_X") == NO_LIMIT);
	assert_int_equal(limit_of("lock>1", ROLE_ACQUIRE, "GASP_X"), 1000000000ULL);
	assert_true(limit_of("lock>1", ROLE_RELEASE, "GASP_X") == NO_LIMIT);
	assert_int_equal(limit_of("wait>1", ROLE_COLLECTIVE, "GASP_X"), 1000000000ULL);
	assert_int_equal(limit_of("any>1", ROLE_FREE, "GASP_X"), 1000000000ULL);
	assert_int_equal(limit_of("GASP_MPI_WAIT*>2s", ROLE_FREE, "GASP_MPI_WAITALL"), 2000000000ULL);
	assert_true(limit_of("GASP_MPI_WAIT*>2s", ROLE_FREE, "GASP_MPI_SEND") == NO_LIMIT);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct trigger trigger;

		assert_non_null(trigger_parse(&trigger, wrong[i]));
		trigger_free(&trigger);
	}
}

/* --- calls in progress ---------------------------------------------------- */

/* Two threads' calls, by thread and start; how many are left when one that ended on this thread is taken out. */
static size_t left_after(uint32_t thread, uint64_t start, uint32_t probe, bool may_move, uint64_t *gone)
{
	static const struct span calls[] = { { .thread = 0, .start = 10, .probe = 1 },
					     { .thread = 0, .start = 20, .probe = 1 },
					     { .thread = 1, .start = 15, .probe = 2 } };
	const struct span ended = { .thread = thread, .start = start, .probe = probe };
	struct open_calls open = { .spans = malloc(sizeof(calls)), .count = 3 };
	size_t left, sum = 0;

	assert_non_null(open.spans);
	memcpy(open.spans, calls, sizeof(calls));
	open_forget(&open, &ended, may_move);
	for (size_t i = 0; i < open.count; i++)
		sum += open.spans[i].start;
	*gone = 45 - sum;
	left = open.count;
	open_free(&open);
	return left;
}

/* A fiber may be finished by another thread than has begun its call: that one is over, too, and no other is. */
static void test_calls_that_have_ended(void **state)
{
	uint64_t gone;

	assert_int_equal(left_after(0, 20, 1, false, &gone), 2);
	assert_int_equal(gone, 20);
	assert_int_equal(left_after(1, 20, 1, true, &gone), 2);
	assert_int_equal(gone, 20);
	assert_int_equal(left_after(0, 15, 2, true, &gone), 2);
	assert_int_equal(gone, 15);
	assert_int_equal(left_after(1, 20, 1, false, &gone), 3); /* of a function that never moves: another call */
	assert_int_equal(left_after(1, 20, 2, true, &gone), 3);
	assert_int_equal(left_after(1, 10, 2, true, &gone), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_keeps_the_last),
		cmocka_unit_test(test_blocks_there_and_back),
		cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_calls_that_have_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
