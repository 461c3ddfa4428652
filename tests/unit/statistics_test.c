/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * statistics_test.c - differences between repeats: against Student's table, and against a sum that is worked out by
 * hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/statistics.h"

#define NEAR 1e-6

static struct sample sample_of(const double *values, size_t count)
{
	struct sample s = { 0 };

	for (size_t i = 0; i < count; i++)
		sample_add(&s, values[i]);
	return s;
}

static void test_sample(void **state)
{
	const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct sample s = sample_of(values, 8), one = sample_of(values, 1), none = { 0 };

	assert_int_equal(s.count, 8);
	assert_float_equal(s.mean, 5, NEAR);
	assert_float_equal(sample_deviation(&s), sqrt(32.0 / 7), NEAR);
	assert_float_equal(sample_deviation(&one), 0, NEAR);
	assert_float_equal(sample_deviation(&none), 0, NEAR);
}

/* Of two samples that scatter alike, count of each, whose means are t standard errors apart. */
static double likely(size_t count, double t)
{
	struct sample a = { count, 10, count - 1 }, b = { count, 10, count - 1 };

	b.mean += t * sqrt(2.0 / count);
	return welch_test(&a, &b);
}

/* Quantiles of Student's t as every table has them; 2 count - 2 degrees of freedom. */
static void test_table(void **state)
{
	static const struct {
		size_t count;
		double t, likely;
	} rows[] = {
		{ 2, 4.302652730, 0.05 }, { 2, 9.924843201, 0.01 },  { 2, 31.59905458, 0.001 },
		{ 3, 2.776445105, 0.05 }, { 6, 2.228138852, 0.05 },  { 6, 3.169272673, 0.01 },
		{ 6, 0.699812061, 0.5 },  { 51, 1.983971519, 0.05 }, { 51, 0.125, 0.900774 },
		{ 501, 1.962339, 0.05 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_float_equal(likely(rows[i].count, rows[i].t), rows[i].likely, NEAR);
		assert_float_equal(likely(rows[i].count, -rows[i].t), rows[i].likely, NEAR);
	}
	assert_float_equal(likely(3, 0), 1, NEAR);
}

/* Only one scatters: its degrees of freedom count, not both's. */
static void test_unequal(void **state)
{
	struct sample a = { 3, 10, 6 }, b = { 9, 10, 0 };

	b.mean += 4.302652730 * sqrt(6.0 / 2 / 3);
	assert_float_equal(welch_test(&a, &b), 0.05, NEAR);
}

static void test_no_scatter(void **state)
{
	const double values[] = { 0.1, 0.1, 0.1 }, others[] = { 0.3, 0.3 };
	struct sample a = sample_of(values, 3), b = sample_of(others, 2), one = sample_of(others, 1);

	assert_true(welch_test(&a, &a) == 1);
	assert_true(welch_test(&a, &b) == 0);
	assert_true(welch_test(&a, &one) < 0);
	assert_true(welch_test(&one, &a) < 0);
}

static void test_false_discoveries(void **state)
{
	double some[] = { 0.9, 0.012, 0.001, 0.3, 0.026 }, none[] = { 0.02, 0.9, 0.6, 0.4 }, all[] = { 0.04, 0.05 };

	/* 0.026 is above 0.05 x 2/5, and below 0.05 x 3/5, so all up to it are taken. */
	assert_float_equal(false_discovery_limit(some, 5, 0.05), 0.026, NEAR);
	assert_true(false_discovery_limit(none, 4, 0.05) < 0);
	assert_float_equal(false_discovery_limit(all, 2, 0.05), 0.05, NEAR);
	assert_true(false_discovery_limit(all, 0, 0.05) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_unequal),
		cmocka_unit_test(test_no_scatter),
		cmocka_unit_test(test_false_discoveries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
