/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings_test.c - who is blamed for what, and when nobody is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shared/profiled_run.h"

/* --- findings ---------------------------------------------------------------------------------- */

static void the_slow_thread_is_named(void **state)
{
	struct run run;

	run_open(&run, 4, 4);
	team_meets(&run, 4, 2, BARRIER);

	char *text = text_of(&run, true, 0);

	assert_non_null(strstr(text, "worker-2 (tid 102): the others wait for it in GASP_TEST_BARRIER: "
				     "it waits 100.0 us a call, the other 3 wait 31.33 ms (mean)"));
	free(text);
	run_close(&run);
}

static void the_slow_rank_is_named(void **state)
{
	struct run run;

	run_open(&run, 4, 1);
	team_meets(&run, 4, 3, BARRIER);

	char *text = text_of(&run, true, 0);

	assert_non_null(strstr(text, "rank 3: the others wait for it in GASP_TEST_BARRIER"));
	assert_non_null(strstr(text, "\"slow_thread\""));
	free(text);
	run_close(&run);
}

/* Twelve meetings at which it is chance who comes last: the means differ, but nobody is named. */
static void chance_is_not_blamed(void **state)
{
	unsigned blamed = 0;

	srandom(5);
	for (int round = 0; round < 200; round++) {
		struct run run;
		char *text;

		run_open(&run, 4, 4);
		for (uint64_t step = 1; step <= 12; step++) {
			uint64_t arrived[4], last = 0;

			for (int i = 0; i < 4; i++) {
				arrived[i] = random() % (10 * MS);
				last = arrived[i] > last ? arrived[i] : last;
			}
			for (int i = 0; i < 4; i++)
				span(&run, i, BARRIER, 0, (1000 + 12 * step) * MS + arrived[i],
				     (1000 + 12 * step) * MS + last, GB_END_RETURN);
		}
		text = text_of(&run, true, 0);
		blamed += strstr(text, "slow_thread") != NULL;
		free(text);
		run_close(&run);
	}
	assert_true(blamed <= 1);
}

static void nobody_is_blamed_without_reason(void **state)
{
	struct run run;
	char *text;

	run_open(&run, 4, 4);
	team_meets(&run, 4, -1, BARRIER);
	text = text_of(&run, true, 0);
	assert_null(strstr(text, "slow_thread"));
	free(text);
	run_close(&run);

	/* The root of a reduction is quick or slow by its task. */
	run_open(&run, 4, 4);
	team_meets(&run, 4, 1, REDUCE);
	text = text_of(&run, true, 0);
	assert_null(strstr(text, "slow_thread"));
	free(text);
	run_close(&run);
}

/* Of a second that four threads were observed, so many ms each in one call; and what is said of it. */
static char *hot_of(struct run *run, unsigned per_process, const unsigned ms[4], bool json)
{
	run_open(run, 4, per_process);
	for (unsigned i = 0; i < 4; i++)
		if (ms[i])
			span(run, i, LOCK, 0, 1000 * MS, (1000 + ms[i]) * MS, GB_END_RETURN);
		else /* it is there, and does something else */
			span(run, i, WORK, 0, 1000 * MS, 1001 * MS, GB_END_RETURN);
	return text_of(run, json, 0);
}

static void a_mean_share_tells_who_has_it(void **state)
{
	struct run run;
	char *text = hot_of(&run, 1, (unsigned[]){ 0, 100, 100, 810 }, true), *most, *least;

	assert_non_null(strstr(text, "GASP_TEST_LOCK takes 25 % of the threads' time, unevenly: it is 81 % of the time "
				     "of rank 3, 0 % of that of rank 0; 1.010 s in 3 calls"));
	most = strstr(text, "\"most\": {");
	assert_non_null(most);
	least = strstr(most, "\"least\": {");
	assert_non_null(least);
	*strchr(most, '}') = '\0';
	assert_non_null(strstr(most, "\"tid\": 103,"));
	assert_non_null(strstr(most, "\"percent\": 81"));
	*strchr(least, '}') = '\0';
	assert_non_null(strstr(least, "\"tid\": 100,"));
	assert_non_null(strstr(least, "\"percent\": 0"));
	free(text);
	run_close(&run);

	text = hot_of(&run, 4, (unsigned[]){ 500, 200, 300, 260 }, true);
	assert_non_null(
		strstr(text, "it is 50 % of the time of worker-0 (tid 100), 20 % of that of worker-1 (tid 101);"));
	free(text);
	run_close(&run);
}

static void a_mean_share_that_tells_enough(void **state)
{
	static const unsigned shares[][4] = {
		{ 400, 400, 410, 390 }, { 340, 100, 200, 200 } /* 24 points */, { 900, 460, 500, 500 } /* not twice */
	};
	struct run run;

	for (unsigned i = 0; i < 3; i++) {
		char *text = hot_of(&run, 1, shares[i], true);

		assert_non_null(strstr(text, "\"hot_event\""));
		assert_null(strstr(text, "unevenly"));
		assert_null(strstr(text, "\"most\""));
		free(text);
		run_close(&run);
	}
}

/* Rank 3 was started when the others were nearly through. */
static void who_came_late_is_not_compared(void **state)
{
	struct run run;
	char *text;

	run_open(&run, 4, 1);
	run.d.processes[3].start = 1900 * MS;
	for (unsigned i = 0; i < 3; i++)
		span(&run, i, LOCK, 0, 1000 * MS, 1400 * MS, GB_END_RETURN);
	span(&run, 3, WORK, 0, 1900 * MS, 1901 * MS, GB_END_RETURN);
	text = text_of(&run, true, 0);
	assert_non_null(strstr(text, "\"hot_event\""));
	assert_null(strstr(text, "unevenly"));
	free(text);
	run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slow_thread_is_named),        cmocka_unit_test(a_mean_share_tells_who_has_it),
		cmocka_unit_test(a_mean_share_that_tells_enough),  cmocka_unit_test(who_came_late_is_not_compared),
		cmocka_unit_test(the_slow_rank_is_named),          cmocka_unit_test(chance_is_not_blamed),
		cmocka_unit_test(nobody_is_blamed_without_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
