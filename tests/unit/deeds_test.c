/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deeds_test.c - numbers for what threads do, and where there are too many for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/deeds.h"

static struct deed call_from(uint32_t thread, uint32_t site)
{
	const struct called none = { NO_INDEX, NO_INDEX };

	return (struct deed){ thread, DOING_CALL, NO_INDEX, { site % 7, site }, none, none };
}

static void test_the_same_deed_has_one_number(void **state)
{
	struct deeds deeds = { 0 };

	for (int again = 0; again < 2; again++)
		for (uint32_t i = 0; i < 10000; i++) {
			const struct deed deed = call_from(i / 100, i % 100);

			assert_int_equal(deeds_number(&deeds, &deed), i);
		}
	assert_int_equal(deeds.count, 10000);
	assert_false(deeds.full);
	deeds_free(&deeds);
}

static void test_too_many(void **state)
{
	const struct deed first = call_from(0, 0), unknown = deed_unknown(1);
	struct deeds deeds = { 0 };
	uint32_t number = 0;

	for (uint32_t i = 0; i < DEEDS_MOST + 1000; i++) {
		const struct deed deed = call_from(1, i);

		number = deeds_number(&deeds, &deed);
		assert_int_equal(number, i < DEEDS_MOST ? i : DEEDS_MOST);
	}
	assert_true(deeds.full);
	assert_true(deed_is_same(&deeds.all[number], &unknown));
	assert_int_equal(deeds_number(&deeds, &first), DEEDS_MOST + 1); /* of another thread: so is that */
	assert_int_equal(deeds.all[DEEDS_MOST + 1].thread, 0);
	assert_int_equal(deeds.count, DEEDS_MOST + 2);
	deeds_free(&deeds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_deed_has_one_number),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
