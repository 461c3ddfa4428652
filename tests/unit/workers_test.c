/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workers_test.c - what the threads of regions do where no call of theirs is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shared/profiled_run.h"

/* --- regions that several threads have a share in --------------------------- */

static void groups_of(struct run *run, uint32_t thread, uint64_t wait, uint64_t outside, uint64_t unseen)
{
	struct report report;

	assert_int_equal(report_make(&report, run->profile, &run->d), 0);
	for (size_t i = 0; i < report.nthreads; i++) {
		if (report.threads[i].thread != thread)
			continue;
		assert_int_equal(report.threads[i].group[GROUP_WAIT], wait * MS);
		assert_int_equal(report.threads[i].outside, outside * MS);
		assert_int_equal(report.threads[i].unseen, unseen * MS);
	}
	report_free(&report);
}

/*
 * Thread 0 begins three regions, and has its share of the last two, of 10 ms. Thread 1 has shares of these. stacked:
 * calls come as if none were inside another.
 */
static void regions(struct run *run, bool stacked)
{
	unsigned marks = stacked ? MARK_STACKED : 0, inside = stacked ? 0 : 1;

	run_open(run, 3, 3);
	run->d.probes[REDUCE].marks = marks | MARK_TEAM;
	run->d.probes[REDUCE].role = ROLE_TASK;
	run->d.probes[WORK].marks = marks | MARK_SHARE;
	run->d.probes[WORK].role = ROLE_TASK;
	run->d.probes[BARRIER].marks = marks;
	span(run, 1, BARRIER, 0, 1105 * MS, 1115 * MS, GB_END_RETURN); /* in a share that is not seen */
	span(run, 0, REDUCE, 0, 1100 * MS, 1120 * MS, GB_END_RETURN);
	span(run, 0, WORK, inside, 1200 * MS, 1210 * MS, GB_END_RETURN);
	span(run, 1, BARRIER, inside, 1207 * MS, 1209 * MS, GB_END_RETURN);
	span(run, 1, WORK, 0, 1202 * MS, 1222 * MS, GB_END_RETURN);
	span(run, 0, REDUCE, 0, 1200 * MS, 1230 * MS, GB_END_RETURN);
	span(run, 0, WORK, inside, 1300 * MS, 1310 * MS, GB_END_RETURN);
	span(run, 1, WORK, 0, 1302 * MS, 1312 * MS, GB_END_RETURN);
	span(run, 0, REDUCE, 0, 1300 * MS, 1320 * MS, GB_END_RETURN);
}

static void a_worker_waits_between_its_shares(void **state)
{
	struct run run;

	for (int stacked = 0; stacked < 2; stacked++) {
		regions(&run, stacked);
		/* The one who begins them waits in them from the end of its own share on. */
		groups_of(&run, 0, 20 + 10, 1000 - 70, 0);
		/* From 1202 to 1312 it is in its shares for 30. Before, it was seen in a barrier for 10. */
		groups_of(&run, 1, 80, 0, 1000 - 110 - 10);
		run_close(&run);
	}
}

/* Another region in between, no share of which is seen. */
static void a_region_that_was_not_seen_is_no_waiting(void **state)
{
	struct run run;

	regions(&run, false);
	span(&run, 0, REDUCE, 0, 1400 * MS, 1450 * MS, GB_END_RETURN);
	span(&run, 1, WORK, 0, 1502 * MS, 1512 * MS, GB_END_RETURN);
	groups_of(&run, 1, 80 + 190 - 50, 0, 1000 - 310 - 10 + 50);
	run_close(&run);
}

/* Where calls come as if none were inside another, a thread that begins regions is no worker, whichever came last. */
static void who_begins_regions_is_no_worker(void **state)
{
	struct run run;

	regions(&run, true);
	span(&run, 1, WORK, 0, 1400 * MS, 1410 * MS, GB_END_RETURN);
	span(&run, 1, REDUCE, 0, 1400 * MS, 1420 * MS, GB_END_RETURN);
	span(&run, 1, WORK, 0, 1430 * MS, 1440 * MS, GB_END_RETURN);
	groups_of(&run, 1, 10, 1000 - 10 - 30 - 20 - 10, 0);
	run_close(&run);
}

/* Two regions that a worker begins within its share, one after the other, with a share of its own in each. */
static void a_worker_may_begin_regions_in_its_share(void **state)
{
	struct run run;

	for (int stacked = 0; stacked < 2; stacked++) {
		unsigned inside = stacked ? 0 : 1, deeper = stacked ? 0 : 2;

		regions(&run, stacked);
		for (int i = 0; i < 2; i++) {
			span(&run, 1, WORK, deeper, (1402 + 10 * i) * MS, (1406 + 10 * i) * MS, GB_END_RETURN);
			span(&run, 1, REDUCE, inside, (1401 + 10 * i) * MS, (1408 + 10 * i) * MS, GB_END_RETURN);
		}
		span(&run, 1, WORK, 0, 1400 * MS, 1430 * MS, GB_END_RETURN);
		span(&run, 1, WORK, 0, 1440 * MS, 1450 * MS, GB_END_RETURN);
		/* Between its shares 80, 88 and 10; in the regions that it has begun 3 and 3. */
		groups_of(&run, 1, 80 + 88 + 10 + 6, 0, 1000 - 248 - 10);
		run_close(&run);
	}
}

/* They lie in its first share, and come before it. */
static void its_first_share_may_have_regions_inside(void **state)
{
	struct run run;

	regions(&run, true);
	span(&run, 2, WORK, 0, 1202 * MS, 1206 * MS, GB_END_RETURN);
	span(&run, 2, REDUCE, 0, 1201 * MS, 1208 * MS, GB_END_RETURN);
	span(&run, 2, WORK, 0, 1200 * MS, 1230 * MS, GB_END_RETURN);
	span(&run, 2, WORK, 0, 1440 * MS, 1450 * MS, GB_END_RETURN);
	groups_of(&run, 2, 210 + 3, 0, 1000 - 250);
	run_close(&run);
}

/* A share that was lost is no waiting. */
static void a_lost_share_is_no_waiting(void **state)
{
	struct run run;
	struct report report;

	regions(&run, false);
	sum(&run, 1, WORK, 1, 30 * MS, 0);
	groups_of(&run, 1, 0, 0, 1000 - 40);
	assert_int_equal(report_make(&report, run.profile, &run.d), 0);
	assert_int_equal(report.threads[1].likely_group[GROUP_WAIT], (80 - 28) * MS); /* 2 of 30 are barriers' */
	assert_int_equal(report.threads[1].likely_unseen, (1000 - 110 - 10) * MS);
	report_free(&report);
	run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_waits_between_its_shares),
		cmocka_unit_test(a_region_that_was_not_seen_is_no_waiting),
		cmocka_unit_test(who_begins_regions_is_no_worker),
		cmocka_unit_test(a_worker_may_begin_regions_in_its_share),
		cmocka_unit_test(its_first_share_may_have_regions_inside),
		cmocka_unit_test(a_lost_share_is_no_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
