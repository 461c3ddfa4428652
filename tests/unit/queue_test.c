/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue_test.c - events of several threads into one order of time: those of the same time as they were put in, however
 * many threads there are, and whatever waited from before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/queue.h"

#define ROUNDS 200
#define THREADS 7

struct told {
	uint64_t now, count;
	uint32_t last; /* of those at `now`: in which order they were put in */
};

static uint64_t drawn;

static uint64_t draw(uint64_t below)
{
	drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
	return (drawn >> 33) % below;
}

static int take(void *context, const struct definitions *d, const struct event *event)
{
	struct told *told = context;

	(void)d;
	assert_true(event->time >= told->now);
	assert_true(event->time > told->now || event->span->sequence > told->last);
	assert_int_equal(event->span->words[0], event->span->sequence);
	told->now = event->time;
	told->last = event->span->sequence;
	told->count++;
	return 0;
}

static void test_order(void **state)
{
	struct told told = { 0 };
	struct timeline_ops ops = { .event = take, .context = &told };
	struct definitions d = { 0 };
	struct queue q = { 0 };
	uint64_t now[THREADS] = { 0 }, least = 0, count = 0;
	uint32_t sequence = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned t = 0; t < THREADS; t++) {
			for (uint64_t n = draw(50); n > 0; n--) {
				struct span span = { .sequence = ++sequence, .nwords = 1, .words = { sequence } };
				struct event event = { .time = now[t], .span = &span };

				assert_int_equal(queue_put_event(&q, &event), 0);
				count++;
				now[t] += draw(3);
			}
		}
		least = UINT64_MAX;
		for (unsigned t = 0; t < THREADS; t++)
			least = now[t] < least ? now[t] : least;
		assert_int_equal(queue_release(&q, least, &d, &ops), 0);
	}
	assert_int_equal(queue_release(&q, UINT64_MAX, &d, &ops), 0);
	assert_int_equal(told.count, count);
	queue_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
