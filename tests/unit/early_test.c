/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * early_test.c - records of a thread that came before their time: in which order they come out, and that a ringful of
 * them is no trouble.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/early.h"

#define MANY 400000u /* to move each one behind all others takes an hour */

static struct early_spans spans;

static void put(uint64_t sequence)
{
	struct gb_span raw = { .end = sequence * 10,
			       .values = 1,
			       .value = { sequence + 7, 99 } }; /* the second is not a part of it */

	assert_int_equal(early_put(&spans, sequence, &raw, GB_SPAN_HEADER + sizeof(raw.value[0])), 0);
}

static void take(uint64_t sequence)
{
	struct early first = early_take(&spans);

	assert_int_equal(first.sequence, sequence);
	assert_int_equal(first.span->end, sequence * 10);
	assert_int_equal(first.span->value[0], sequence + 7);
	assert_int_equal(first.span->value[1], 0);
	free(first.span);
}

static void the_lowest_comes_first(void **state)
{
	uint64_t order[1000];

	srand(7);
	for (size_t i = 0; i < 1000; i++)
		order[i] = i + 1;
	for (size_t i = 1000; i-- > 1;) {
		size_t other = rand() % (i + 1);
		uint64_t moved = order[i];

		order[i] = order[other];
		order[other] = moved;
	}
	for (size_t i = 0; i < 1000; i++)
		put(order[i]);
	for (uint64_t i = 1; i <= 1000; i++)
		take(i);
	assert_int_equal(spans.count, 0);
	early_free(&spans);
}

/* The same number twice is for who takes them to notice. */
static void twice_the_same_is_twice_there(void **state)
{
	put(5);
	put(4);
	put(5);
	take(4);
	put(3);
	take(3);
	take(5);
	take(5);
	early_free(&spans);
}

/* The thread was on one CPU, on another, and the first record of all was lost: the second ring's records all belong
 * before the first ring's. */
static void a_ringful_is_no_trouble(void **state)
{
	for (uint64_t i = MANY / 2; i < MANY; i++)
		put(i);
	for (uint64_t i = MANY / 2; i-- > 0;)
		put(i);
	for (uint64_t i = 0; i < MANY; i++)
		take(i);
	assert_int_equal(spans.count, 0);
	assert_null(spans.heap); /* the room of a ringful is given back */
}

static void what_is_left_is_freed(void **state)
{
	put(2);
	put(1);
	early_free(&spans);
	assert_int_equal(spans.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lowest_comes_first),
		cmocka_unit_test(twice_the_same_is_twice_there),
		cmocka_unit_test(a_ringful_is_no_trouble),
		cmocka_unit_test(what_is_left_is_freed),
	};

	return cmocka_run_group_tests_name("early", tests, NULL, NULL);
}
