/* SPDX-License-Identifier: BSD-2-Clause */
/* reliefs_test.c - what threads are relieved of: each by itself, or all together, where nothing is gone twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulate/reliefs.h"

#define CALLED              \
	(struct called)     \
	{                   \
		3, NO_INDEX \
	}

static const struct relief_time times[] = { { 100, 200, 0.5 }, { 300, 400, 1 } };

static const struct related_work work = {
	.thread = 1, .inside = NO_INDEX, .known = true, .after = CALLED, .before = CALLED, .start = 150, .end = 350
};

static struct relief of_work(uint64_t most, double less)
{
	return (struct relief){ .thread = 1,
				.what = RELIEVE_WORK,
				.inside = NO_INDEX,
				.after = CALLED,
				.before = CALLED,
				.most = most,
				.less = less };
}

static struct relief of_times(void)
{
	return (struct relief){ .thread = NO_INDEX, .what = RELIEVE_TIME, .times = times, .ntimes = 2 };
}

static void each_by_itself(void **state)
{
	const struct relief all[] = { of_work(50, 0), of_times(), of_work(UINT64_MAX, 0.1) };
	struct saved saved = reliefs_of_work(&(struct reliefs){ all, 3, false }, &work);

	assert_int_equal(saved.ns[0], 150);
	assert_int_equal(saved.ns[1], 25 + 50);
	assert_int_equal(saved.ns[2], 20);
}

static void together_the_most_counts(void **state)
{
	const struct relief all[] = { of_work(50, 0), of_times(), of_work(UINT64_MAX, 0.1) };
	const struct reliefs together = { all, 3, true };
	struct saved saved = reliefs_of_work(&together, &work);

	assert_int_equal(reliefs_scenarios(&together), 1);
	assert_int_equal(saved.ns[0], 150);
	assert_int_equal(saved.ns[1] + saved.ns[2], 0);
}

static void of_other_threads_and_of_what_is_not_known_nothing_is_gone(void **state)
{
	const struct relief all[] = { of_work(0, 0) };
	const struct reliefs reliefs = { all, 1, true };
	struct related_work other = work, unknown = work;

	other.thread = 2;
	unknown.known = false;
	assert_int_equal(reliefs_of_work(&reliefs, &other).ns[0], 0);
	assert_int_equal(reliefs_of_work(&reliefs, &unknown).ns[0], 0);
	assert_int_equal(reliefs_of_work(&reliefs, &work).ns[0], 200);
}

static void locks_of_each_scenario(void **state)
{
	static const bool sites[] = { false, true };
	const struct relief all[] = { of_times(),
				      { .thread = NO_INDEX, .what = RELIEVE_LOCK, .sites = sites, .nsites = 2 } };

	assert_false(reliefs_of_lock(&(struct reliefs){ all, 2, false }, 1, 0));
	assert_true(reliefs_of_lock(&(struct reliefs){ all, 2, false }, 1, 1));
	assert_true(reliefs_of_lock(&(struct reliefs){ all, 2, true }, 1, 0));
	assert_false(reliefs_of_lock(&(struct reliefs){ all, 2, true }, 0, 0));
	assert_false(reliefs_of_lock(&(struct reliefs){ all, 2, true }, NO_INDEX, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_by_itself),
		cmocka_unit_test(together_the_most_counts),
		cmocka_unit_test(of_other_threads_and_of_what_is_not_known_nothing_is_gone),
		cmocka_unit_test(locks_of_each_scenario),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
