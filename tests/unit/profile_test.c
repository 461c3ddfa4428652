/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_test.c - small runs whose profile can be worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shared/profiled_run.h"

static uint64_t histogram_calls(const struct tally *tally)
{
	uint64_t calls = 0;

	for (int i = 0; i < GB_BUCKETS; i++)
		calls += tally->bucket[i];
	return calls;
}

/* Two locks of 1 ms and 3 ms are on the timeline, three of 5 ms on another thread and two of 0.5 ms on this one were
 * lost. */
static void lost_calls_are_in_the_profile(void **state)
{
	struct run run;
	struct tally lock;
	struct report report;

	run_open(&run, 2, 2);
	span(&run, 0, LOCK, 0, 1001 * MS, 1002 * MS, GB_END_RETURN);
	lose(&run, 0, 2);
	span(&run, 0, LOCK, 0, 1003 * MS, 1006 * MS, GB_END_RETURN);
	sum(&run, 0, LOCK, 2, MS / 2, 0);
	sum(&run, 1, LOCK, 3, 5 * MS, 0);
	lock = tally_of(&run, "GASP_TEST_LOCK");
	assert_int_equal(lock.calls, 7);
	assert_int_equal(lock.lost, 5);
	assert_int_equal(lock.timed, 7);
	assert_int_equal(lock.total, 20 * MS);
	assert_int_equal(lock.time, 20 * MS);
	assert_int_equal(lock.min, MS / 2);
	assert_int_equal(lock.max, 5 * MS);
	assert_int_equal(lock.self, 4 * MS);         /* what is known of it */
	assert_int_equal(lock.likely_self, 20 * MS); /* those on the timeline contain nothing */
	assert_int_equal(lock.likely_total, lock.total);
	assert_int_equal(histogram_calls(&lock), 7);
	assert_int_equal(lock.bucket[bucket_of(5 * MS)], 3);

	assert_int_equal(report_make(&report, run.profile, &run.d), 0);
	assert_int_equal(report.calls, 7);
	assert_int_equal(report.delivered, 2);
	assert_int_equal(report.lost, 5);
	assert_int_equal(report.nthreads, 2);
	assert_int_equal(report.threads[0].lost, 2);
	assert_int_equal(report.threads[1].lost, 3);
	assert_int_equal(report.threads[1].spans, 0);
	assert_int_equal(report.threads[1].group[GROUP_LOCK], 0);
	assert_int_equal(report.threads[1].likely_group[GROUP_LOCK], 15 * MS);
	assert_int_equal(report.threads[1].likely_outside, 985 * MS);
	report_free(&report);
	run_close(&run);
}

/* Work of 10 ms of which 4 ms are locks: another work of 20 ms that was lost will have been the same. */
static void self_of_lost_calls_is_estimated(void **state)
{
	struct run run;
	struct tally work;

	run_open(&run, 2, 2);
	span(&run, 0, LOCK, 1, 1001 * MS, 1005 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1000 * MS, 1010 * MS, GB_END_RETURN);
	sum(&run, 0, WORK, 1, 20 * MS, 0);
	sum(&run, 1, WORK, 1, 100 * MS, 0); /* a thread that has none on the timeline: as the others */
	work = tally_of(&run, "GASP_TEST_WORK");
	assert_int_equal(work.total, 130 * MS);
	assert_int_equal(work.self, 6 * MS);
	assert_int_equal(work.likely_self, 6 * MS + 12 * MS + 60 * MS);
	run_close(&run);
}

/* Of calls that were only counted nobody knows how long they took: as long as the others of the thread, or of all. */
static void skipped_calls_are_estimated(void **state)
{
	struct run run;
	struct tally lock, barrier;
	char *text;

	run_open(&run, 3, 3);
	span(&run, 0, LOCK, 0, 1001 * MS, 1002 * MS, GB_END_RETURN);
	sum(&run, 0, LOCK, 1, 3 * MS, 10); /* mean of 2 ms */
	sum(&run, 1, LOCK, 0, 0, 5);
	sum(&run, 2, BARRIER, 0, 0, 7); /* never timed at all */
	lock = tally_of(&run, "GASP_TEST_LOCK");
	assert_int_equal(lock.calls, 17);
	assert_int_equal(lock.timed, 2);
	assert_int_equal(lock.total, 4 * MS);
	assert_int_equal(lock.likely_total, 34 * MS);
	assert_int_equal(lock.min, MS);
	assert_int_equal(histogram_calls(&lock), 2);
	barrier = tally_of(&run, "GASP_TEST_BARRIER");
	assert_int_equal(barrier.calls, 7);
	assert_int_equal(barrier.timed, 0);
	assert_int_equal(barrier.likely_total, 0);
	text = text_of(&run, false, 0);
	assert_non_null(strstr(text, "~34.00 ms"));
	assert_non_null(strstr(text, "22 calls were only counted"));
	assert_non_null(strstr(
		text,
		"\nlost 1 of 24 calls from the timeline (4.2 %); all are in Calls and Total, timed in the kernel\n"));
	free(text);
	text = text_of(&run, true, 0);
	assert_non_null(strstr(text, "\"estimated_total_ns\": 34000000"));
	free(text);
	run_close(&run);
}

/* Two functions are one event, and no call of either is on the timeline. */
static void sums_of_one_event_are_one_row(void **state)
{
	struct run run;
	struct report report;

	run_open(&run, 1, 1);
	free(run.d.probes[BARRIER].event);
	run.d.probes[BARRIER].event = strdup("GASP_TEST_LOCK");
	sum(&run, 0, WORK, 1, MS, 0);
	sum(&run, 0, BARRIER, 2, MS, 0);
	sum(&run, 0, LOCK, 3, 2 * MS, 0);
	assert_int_equal(report_make(&report, run.profile, &run.d), 0);
	assert_int_equal(report.nevents, 2);
	assert_int_equal(report.nrows, 2);
	assert_int_equal(report.rows[0].tally.calls, 5);
	assert_int_equal(report.rows[0].tally.total, 8 * MS);
	report_free(&report);
	run_close(&run);
}

/* Numbers as nobody counts them, from a file made on purpose: no harm, and no more time than there is. */
static void impossible_sums_do_no_harm(void **state)
{
	struct run run;
	char *text;

	run_open(&run, 1, 1);
	span(&run, 0, LOCK, 0, 1001 * MS, 1002 * MS, GB_END_RETURN);
	definitions_add_sum(&run.d);
	run.d.sums[0] = (struct def_sum){
		.probe = LOCK,
		.lost = 1ull << 55,
		.skipped = 1ull << 55,
		.timed = 1,
		.total = UINT64_MAX,
		.min = UINT64_MAX,
		.bucket = { [39] = 1ull << 55 },
	};
	free(text_of(&run, true, 0));
	text = text_of(&run, false, 80);
	assert_non_null(strstr(text, "GASP_TEST_LOCK"));
	free(text);
	run_close(&run);
}

/* work of 10 ms with two locks of 1 ms and 2 ms in it, then a lock outside of 4 ms. */
static void self_is_without_the_calls_inside(void **state)
{
	struct run run;

	run_open(&run, 1, 1);
	span(&run, 0, LOCK, 1, 1001 * MS, 1002 * MS, GB_END_RETURN);
	span(&run, 0, LOCK, 1, 1003 * MS, 1005 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1000 * MS, 1010 * MS, GB_END_RETURN);
	span(&run, 0, LOCK, 0, 1011 * MS, 1015 * MS, GB_END_RETURN);

	struct tally work = tally_of(&run, "GASP_TEST_WORK"), lock = tally_of(&run, "GASP_TEST_LOCK");

	assert_int_equal(work.calls, 1);
	assert_int_equal(work.total, 10 * MS);
	assert_int_equal(work.self, 7 * MS);
	assert_int_equal(lock.calls, 3);
	assert_int_equal(lock.total, 7 * MS);
	assert_int_equal(lock.self, 7 * MS);
	assert_int_equal(lock.min, 1 * MS);
	assert_int_equal(lock.max, 4 * MS);
	run_close(&run);
}

/* work(work(work)) of 10, 6 and 2 ms, then another work of 1 ms. */
static void recursion_counts_time_once(void **state)
{
	struct run run;

	run_open(&run, 1, 1);
	span(&run, 0, WORK, 2, 1003 * MS, 1005 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 1, 1002 * MS, 1008 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1000 * MS, 1010 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1020 * MS, 1021 * MS, GB_END_RETURN);

	struct tally work = tally_of(&run, "GASP_TEST_WORK");

	assert_int_equal(work.calls, 4);
	assert_int_equal(work.total, 11 * MS);
	assert_int_equal(work.self, 11 * MS);
	assert_int_equal(work.time, 19 * MS);
	run_close(&run);
}

/* A lock inside a work whose span was lost is not taken off the next work. */
static void a_gap_does_not_mix_calls(void **state)
{
	struct run run;

	run_open(&run, 1, 1);
	span(&run, 0, LOCK, 1, 1001 * MS, 1003 * MS, GB_END_RETURN);
	lose(&run, 0, 1);
	span(&run, 0, LOCK, 1, 1011 * MS, 1012 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1010 * MS, 1020 * MS, GB_END_RETURN);
	assert_int_equal(tally_of(&run, "GASP_TEST_WORK").self, 9 * MS);

	char *text = text_of(&run, false, 80);

	assert_non_null(strstr(text, "lost 1 of 4 calls from the timeline (25.0 %); what they were is not known"));
	free(text);
	run_close(&run);
}

static void calls_without_a_duration_are_calls(void **state)
{
	struct run run;

	run_open(&run, 1, 1);
	span(&run, 0, LOCK, 64, 1001 * MS, 1001 * MS, GB_END_DEPTH);
	span(&run, 0, LOCK, 0, 1002 * MS, 1002 * MS, GB_END_ATOMIC);
	span(&run, 0, LOCK, 0, 1003 * MS, 1005 * MS, GB_END_UNWOUND);
	span(&run, 0, LOCK, 0, 1006 * MS, 1009 * MS, GB_END_DETACH);

	struct tally lock = tally_of(&run, "GASP_TEST_LOCK");

	assert_int_equal(lock.calls, 4);
	assert_int_equal(lock.timed, 2);
	assert_int_equal(lock.total, 5 * MS);
	assert_int_equal(lock.min, 2 * MS);
	assert_int_equal(lock.deep, 1);
	assert_int_equal(lock.unwound, 1);
	assert_int_equal(lock.open, 1);
	run_close(&run);
}

/* A lock taken inside a barrier is barrier time of the thread; inside work it is lock time. */
static void time_belongs_to_the_outermost_layer(void **state)
{
	struct run run;
	struct report report;

	run_open(&run, 1, 1);
	span(&run, 0, LOCK, 1, 1001 * MS, 1003 * MS, GB_END_RETURN);
	span(&run, 0, BARRIER, 0, 1000 * MS, 1010 * MS, GB_END_RETURN);
	span(&run, 0, LOCK, 1, 1021 * MS, 1022 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1020 * MS, 1030 * MS, GB_END_RETURN);
	assert_int_equal(report_make(&report, run.profile, &run.d), 0);
	assert_int_equal(report.nthreads, 1);
	assert_int_equal(report.threads[0].group[GROUP_BARRIER], 10 * MS);
	assert_int_equal(report.threads[0].group[GROUP_LOCK], 1 * MS);
	assert_int_equal(report.threads[0].group[GROUP_OTHER], 9 * MS);
	assert_int_equal(report.threads[0].wall, 1000 * MS);
	assert_int_equal(report.threads[0].outside, 980 * MS);
	report_free(&report);
	run_close(&run);
}

/* --- random call trees, compared with sums that are made while the tree is built ------------------ */

struct tree {
	struct run *run;
	uint64_t now;
	unsigned active[PROBES]; /* calls in progress */
	uint64_t total[PROBES], self[PROBES], calls[PROBES];
	unsigned left;
};

static uint64_t grow(struct tree *tree, unsigned depth)
{
	uint32_t probe = random() % 3;
	uint64_t start = tree->now, inside = 0;

	tree->left--;
	tree->active[probe]++;
	tree->now += 1 + random() % 50;
	while (tree->left && depth < 12 && random() % 5 < 3) {
		inside += grow(tree, depth + 1);
		tree->now += random() % 20;
	}
	tree->active[probe]--;
	tree->calls[probe]++;
	tree->self[probe] += tree->now - start - inside;
	if (!tree->active[probe])
		tree->total[probe] += tree->now - start;
	span(tree->run, 0, probe, depth, start, tree->now, GB_END_RETURN);
	return tree->now - start;
}

static void random_trees_add_up(void **state)
{
	srandom(7);
	for (int round = 0; round < 200; round++) {
		struct run run;
		struct tree tree = { .run = &run, .now = 1000 * MS, .left = 300 };

		run_open(&run, 1, 1);
		while (tree.left)
			grow(&tree, 0);
		for (int i = 0; i < 3; i++) {
			struct tally tally = tally_of(&run, run.d.probes[i].event);

			assert_int_equal(tally.calls, tree.calls[i]);
			assert_int_equal(tally.self, tree.self[i]);
			assert_int_equal(tally.total, tree.total[i]);
		}
		for (size_t i = 0; i < run.profile->nrows; i++)
			assert_true(run.profile->rows[i].inclusive.nruns <= 14);
		run_close(&run);
	}
}

static void unknown_bytes_are_not_zero(void **state)
{
	struct span s = { .start = 1000 * MS, .end = 1001 * MS, .probe = SEND, .site = NO_INDEX, .nwords = 1 };
	struct run run;
	char *text;

	run_open(&run, 1, 1);
	s.unread = 1;
	assert_int_equal(run.sink.span(run.sink.context, &run.d, &s), 0);
	text = text_of(&run, false, 0);
	assert_non_null(strstr(text, "unknown"));
	free(text);
	text = text_of(&run, true, 0);
	assert_non_null(strstr(text, "\"bytes\": null"));
	free(text);
	s.unread = 0;
	s.words[0] = 100;
	assert_int_equal(run.sink.span(run.sink.context, &run.d, &s), 0);

	struct tally send = tally_of(&run, "GASP_TEST_SEND");

	assert_int_equal(send.bytes, 100);
	assert_int_equal(send.sent, 100);
	assert_int_equal(send.known_bytes, 1);
	assert_int_equal(send.unknown_bytes, 1);
	assert_int_equal(send.known_received, 0);
	run_close(&run);
}

static void tables_fit_eighty_columns(void **state)
{
	struct run run;
	char *text, *line, *rest;

	run_open(&run, 4, 4);
	free(run.d.probes[BARRIER].event);
	run.d.probes[BARRIER].event = strdup("GASP_TEST_A_NAME_THAT_IS_MUCH_LONGER_THAN_ANY_COLUMN_SHOULD_BE");
	free(run.d.threads[1].name);
	run.d.threads[1].name = strdup("\033[31mred\n\xff");
	team_meets(&run, 4, 1, BARRIER);
	text = text_of(&run, false, 80);
	assert_null(strchr(text, '\033'));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		assert_true(strlen(line) <= 80);
	free(text);
	run_close(&run);
}

/* Two fibers that take turns, and a recursion on the second: all at depth 0, since what contains what is not known. */
static void moments_count_once_where_calls_overlap(void **state)
{
	(void)state;
	struct run run;

	run_open(&run, 1, 1);
	run.d.probes[WORK].marks = run.d.probes[LOCK].marks = MARK_STACKED;
	span(&run, 0, WORK, 0, 1020 * MS, 1030 * MS, GB_END_RETURN); /* the recursion's innermost */
	span(&run, 0, LOCK, 0, 1035 * MS, 1050 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1010 * MS, 1040 * MS, GB_END_RETURN); /* around it, and beyond the lock's first part */
	span(&run, 0, WORK, 0, 1000 * MS, 1060 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1045 * MS, 1070 * MS, GB_END_RETURN);
	struct tally work = tally_of(&run, "GASP_TEST_WORK"), lock = tally_of(&run, "GASP_TEST_LOCK");

	assert_int_equal(work.calls, 4);
	assert_int_equal(work.total, 70 * MS);
	assert_int_equal(work.self, 55 * MS); /* all but the lock */
	assert_int_equal(work.time, 125 * MS);
	assert_int_equal(lock.total, 15 * MS);
	assert_int_equal(lock.self, 15 * MS);
	run_close(&run);
}

/* A function that stays on its stack ends inside of one that does not: before anything tells that it was inside. */
static void moments_count_once_before_the_first_call_that_overlaps(void **state)
{
	(void)state;
	struct run run;

	run_open(&run, 1, 1);
	run.d.probes[WORK].marks = MARK_STACKED;
	span(&run, 0, LOCK, 0, 1010 * MS, 1030 * MS, GB_END_RETURN);
	span(&run, 0, LOCK, 0, 1040 * MS, 1045 * MS, GB_END_RETURN);
	span(&run, 0, WORK, 0, 1000 * MS, 1060 * MS, GB_END_RETURN);
	assert_int_equal(tally_of(&run, "GASP_TEST_LOCK").self, 25 * MS);
	assert_int_equal(tally_of(&run, "GASP_TEST_WORK").self, 35 * MS);
	assert_int_equal(tally_of(&run, "GASP_TEST_WORK").total, 60 * MS);
	run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_calls_are_in_the_profile),
		cmocka_unit_test(self_of_lost_calls_is_estimated),
		cmocka_unit_test(skipped_calls_are_estimated),
		cmocka_unit_test(sums_of_one_event_are_one_row),
		cmocka_unit_test(impossible_sums_do_no_harm),
		cmocka_unit_test(self_is_without_the_calls_inside),
		cmocka_unit_test(recursion_counts_time_once),
		cmocka_unit_test(a_gap_does_not_mix_calls),
		cmocka_unit_test(calls_without_a_duration_are_calls),
		cmocka_unit_test(time_belongs_to_the_outermost_layer),
		cmocka_unit_test(random_trees_add_up),
		cmocka_unit_test(unknown_bytes_are_not_zero),
		cmocka_unit_test(tables_fit_eighty_columns),
		cmocka_unit_test(moments_count_once_where_calls_overlap),
		cmocka_unit_test(moments_count_once_before_the_first_call_that_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
