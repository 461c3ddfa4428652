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

#include "analysis/analysis.h"

#define MS 1000000ull

struct run {
	struct definitions d;
	struct reporter *reporter;
	struct profile *profile; /* the reporter's */
	struct span_sink sink;
	uint32_t sequence[16];
};

enum { BARRIER, LOCK, WORK, REDUCE, SEND, PROBES };

static const struct {
	const char *event;
	enum role role;
} kinds[PROBES] = {
	[BARRIER] = { "GASP_TEST_BARRIER", ROLE_BARRIER }, [LOCK] = { "GASP_TEST_LOCK", ROLE_ACQUIRE },
	[WORK] = { "GASP_TEST_WORK", ROLE_USER },          [REDUCE] = { "GASP_TEST_REDUCE", ROLE_COLLECTIVE },
	[SEND] = { "GASP_TEST_SEND", ROLE_SEND },
};

static struct value root_value[] = { { .meaning = MEANING_ROOT } };
static struct value send_values[] = {
	{ .name = (char *)"n",
	  .meaning = MEANING_BYTES,
	  .side = SIDE_SEND,
	  .form = FORM_UINT,
	  .slot = 0,
	  .width = GB_U64 },
};

/* Threads 0 .. threads-1, each `per_process` of them one process; several processes are ranks. */
static void run_open(struct run *run, unsigned threads, unsigned per_process)
{
	memset(run, 0, sizeof(*run));
	run->d.run = (struct def_run){ .start = 1000 * MS, .end = 2000 * MS, .finished = true };
	for (unsigned i = 0; i < threads; i++) {
		if (i % per_process == 0) {
			uint32_t process = definitions_add_process(&run->d);

			run->d.processes[process] = (struct def_process){
				.pid = 100 + i,
				.command = strdup("./job 1 2"),
				.name = strdup("job"),
				.start = 1000 * MS,
				.rank = threads > per_process ? (long)(i / per_process) : -1,
				.unit = threads > per_process ? strdup("rank") : NULL,
			};
		}
		uint32_t thread = definitions_add_thread(&run->d);
		char name[32];

		snprintf(name, sizeof(name), "worker-%u", i);
		run->d.threads[thread] = (struct def_thread){
			.process = run->d.nprocesses - 1,
			.tid = 100 + i,
			.name = strdup(name),
		};
	}
	for (int i = 0; i < PROBES; i++) {
		uint32_t probe = definitions_add_probe(&run->d);

		run->d.probes[probe] = (struct def_probe){
			.event = strdup(kinds[i].event),
			.model = strdup("test"),
			.role = kinds[i].role,
			.image = NO_INDEX,
		};
	}
	run->d.probes[REDUCE].values = root_value;
	run->d.probes[REDUCE].nvalues = 1;
	run->d.probes[SEND].values = send_values;
	run->d.probes[SEND].nvalues = 1;
	run->reporter = reporter_new();
	run->profile = run->reporter->profile;
	run->sink = reporter_sink(run->reporter);
	assert_int_equal(reporter_ask(run->reporter, "histogram"), 0);
	assert_int_equal(reporter_begin(run->reporter, &run->d), 0);
}

static void run_close(struct run *run)
{
	reporter_free(run->reporter);
	for (size_t i = 0; i < run->d.nprobes; i++) {
		run->d.probes[i].values = NULL;
		run->d.probes[i].nvalues = 0;
	}
	definitions_free(&run->d);
}

static void span(struct run *run, uint32_t thread, uint32_t probe, unsigned depth, uint64_t start, uint64_t end,
		 uint8_t reason)
{
	struct span s = {
		.start = start,
		.end = end,
		.thread = thread,
		.probe = probe,
		.site = NO_INDEX,
		.sequence = ++run->sequence[thread],
		.depth = depth,
		.reason = reason,
	};

	assert_int_equal(run->sink.span(run->sink.context, &run->d, &s), 0);
}

static void lose(struct run *run, uint32_t thread, uint64_t count)
{
	struct gap gap = { .thread = thread, .count = count };

	assert_int_equal(run->sink.gap(run->sink.context, &run->d, &gap), 0);
}

static struct tally tally_of(struct run *run, const char *event)
{
	struct report report;
	struct tally tally = { 0 };

	assert_int_equal(report_make(&report, run->profile, &run->d), 0);
	for (size_t i = 0; i < report.nevents; i++) {
		if (!strcmp(report_event_name(&report, report.events[i].event), event))
			tally = report.events[i].tally;
	}
	report_free(&report);
	return tally;
}

static char *text_of(struct run *run, bool json, unsigned width)
{
	struct report_style style = { .width = width };
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	if (json)
		assert_int_equal(reporter_print_json(run->reporter, out), 0);
	else
		assert_int_equal(reporter_print(run->reporter, out, &style), 0);
	fclose(out);
	return text;
}

/* Calls that became no span: `lost` of them lost, each of `each` ns, and so many only counted. */
static void sum(struct run *run, uint32_t thread, uint32_t probe, uint64_t lost, uint64_t each, uint64_t skipped)
{
	uint32_t index = definitions_add_sum(&run->d);
	struct def_sum *sum = &run->d.sums[index];

	*sum = (struct def_sum){
		.thread = thread,
		.probe = probe,
		.lost = lost,
		.skipped = skipped,
		.timed = lost,
		.total = lost * each,
		.min = each,
		.max = each,
	};
	sum->bucket[bucket_of(each)] = lost;
}

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
			struct tally tally = tally_of(&run, kinds[i].event);

			assert_int_equal(tally.calls, tree.calls[i]);
			assert_int_equal(tally.self, tree.self[i]);
			assert_int_equal(tally.total, tree.total[i]);
		}
		for (size_t i = 0; i < run.profile->nrows; i++)
			assert_true(run.profile->rows[i].inclusive.nruns <= 14);
		run_close(&run);
	}
}

/* --- findings ---------------------------------------------------------------------------------- */

/* Ten rounds; thread `slow` comes last, the others wait 30 ms for it. slow < 0: all come together. */
static void team_meets(struct run *run, unsigned threads, int slow, uint32_t probe)
{
	for (unsigned round = 0; round < 10; round++) {
		uint64_t end = 1000 * MS + (round + 1) * 50 * MS;

		for (unsigned i = 0; i < threads; i++) {
			uint64_t wait = slow < 0 ? 2 * MS : (int)i == slow ? MS / 10 : 30 * MS + i * MS;

			span(run, i, probe, 0, end - wait, end, GB_END_RETURN);
		}
	}
}

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

	run_open(run, 2, 2);
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
		cmocka_unit_test(the_slow_thread_is_named),
		cmocka_unit_test(a_mean_share_tells_who_has_it),
		cmocka_unit_test(a_mean_share_that_tells_enough),
		cmocka_unit_test(who_came_late_is_not_compared),
		cmocka_unit_test(the_slow_rank_is_named),
		cmocka_unit_test(chance_is_not_blamed),
		cmocka_unit_test(nobody_is_blamed_without_reason),
		cmocka_unit_test(unknown_bytes_are_not_zero),
		cmocka_unit_test(tables_fit_eighty_columns),
		cmocka_unit_test(moments_count_once_where_calls_overlap),
		cmocka_unit_test(a_worker_waits_between_its_shares),
		cmocka_unit_test(a_region_that_was_not_seen_is_no_waiting),
		cmocka_unit_test(who_begins_regions_is_no_worker),
		cmocka_unit_test(a_lost_share_is_no_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
