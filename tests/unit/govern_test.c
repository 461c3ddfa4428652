/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The governor against a simulated job: threads that call functions at rates of their own, slowed down by their probes
 * as a real one is. What the probes really took from the job is what the tests look at, not what the governor believes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "govern/govern.h"
#include "recording/recording.h"

#define SITES 4
#define THREADS 3
#define LOOK 20000000ULL /* ns */

/* What a call really costs its thread; the calibration says the same here. */
static const unsigned followed_ns[SITES] = { 800, 800, 5000, 800 };
static const unsigned skipped_ns[SITES] = { 400, 400, 4600, 400 };

struct simulation {
	struct governor *governor;
	struct site_level levels[SITES];
	double rate[THREADS][SITES]; /* calls a second of the job's own time */
	bool whole[SITES];           /* it is followed or out, nothing between */
	int fails[SITES];            /* what changing it gives */
	double taken[THREADS];       /* ns in probes */
	uint64_t now, start;
	unsigned steps, busy;
	struct governed_step last;
	double followed[THREADS][SITES], skipped[THREADS][SITES]; /* calls so far */
	bool ended[THREADS];
	double real[SITES]; /* calls there were */
};

static unsigned cost(void *context, uint32_t site, bool skipped)
{
	return skipped ? skipped_ns[site] : followed_ns[site];
}

static bool possible(void *context, uint32_t site, enum level level)
{
	const struct simulation *s = context;

	return !s->whole[site] || level == LEVEL_ALL || level == LEVEL_OUT;
}

static int set(void *context, const struct governed_step *step)
{
	struct simulation *s = context;

	if (s->busy) {
		s->busy--;
		return -EBUSY;
	}
	if (s->fails[step->site])
		return s->fails[step->site];
	s->levels[step->site] = step->level;
	s->last = *step;
	s->steps++;
	return 0;
}

static void begin(struct simulation *s, double budget)
{
	const struct governor_options options = { budget, 40e6, cost, possible, set, s };

	*s = (struct simulation){ .governor = governor_new(&options), .now = 1000000000, .start = 1000000000 };
	assert_non_null(s->governor);
	for (int i = 0; i < SITES; i++)
		s->levels[i] = (struct site_level){ LEVEL_ALL, 1 };
	governor_look(s->governor, s->now);
}

/* One thread for one look's time: calls and probes share it. */
static void run_thread(struct simulation *s, int t)
{
	double each = 0, own; /* ns in probes for each ns of the job */

	for (int i = 0; i < SITES; i++)
		if (s->levels[i].level != LEVEL_OUT)
			each += s->rate[t][i] / 1e9 *
				(skipped_ns[i] + (double)(followed_ns[i] - skipped_ns[i]) / s->levels[i].every);
	own = LOOK / (1 + each);
	s->taken[t] += LOOK - own;
	for (int i = 0; i < SITES; i++) {
		double calls = s->rate[t][i] / 1e9 * own;

		s->real[i] += calls;
		if (s->levels[i].level != LEVEL_OUT) {
			s->followed[t][i] += calls / s->levels[i].every;
			s->skipped[t][i] += calls - calls / s->levels[i].every;
		}
		if (s->followed[t][i] > 0 && !s->ended[t])
			assert_int_equal(governor_count(s->governor, t, i, false, s->followed[t][i], s->skipped[t][i]),
					 0);
	}
}

static void run(struct simulation *s, double seconds)
{
	for (uint64_t end = s->now + (uint64_t)(seconds * 1e9); s->now < end;) {
		for (int t = 0; t < THREADS; t++)
			run_thread(s, t);
		s->now += LOOK;
		governor_look(s->governor, s->now);
	}
}

/* % of a thread's time that went into probes. */
static double percent(const struct simulation *s, int t)
{
	return 100 * s->taken[t] / (s->now - s->start);
}

static void nothing_is_taken_from_a_quiet_job(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[0][0] = 20000; /* 1.6 % */
	s.rate[1][2] = 3000;  /* 1.5 % */
	run(&s, 30);
	assert_int_equal(s.steps, 0);
	governor_free(s.governor);
}

static void a_busy_function_is_sampled(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[0][0] = 35000; /* 2.8 % followed, 1.4 % counted */
	s.rate[0][1] = 100;
	run(&s, 30);
	assert_int_equal(s.levels[0].level, LEVEL_SAMPLED);
	assert_int_equal(s.levels[1].level, LEVEL_ALL);
	assert_true(percent(&s, 0) <= 2.0);
	assert_true(s.followed[0][0] + s.skipped[0][0] >= 0.99 * s.real[0]);
	governor_free(s.governor);
}

static void two_busy_functions_are_sampled_before_one_is_out(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[0][0] = s.rate[0][1] = 15000; /* 2.4 % followed, 1.2 % counted */
	run(&s, 30);
	assert_true(s.levels[0].level == LEVEL_SAMPLED || s.levels[0].level == LEVEL_SUMMED);
	assert_true(s.levels[1].level != LEVEL_OUT);
	assert_true(percent(&s, 0) <= 2.0);
	governor_free(s.governor);
}

static void a_storm_is_out_at_once(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[1][0] = 30e6;
	s.rate[1][1] = 30e6;
	s.rate[1][3] = 1000;
	run(&s, 0.08);
	assert_int_equal(s.levels[0].level, LEVEL_OUT);
	assert_int_equal(s.levels[1].level, LEVEL_OUT);
	assert_int_equal(s.levels[3].level, LEVEL_ALL);
	assert_int_equal(s.last.thread, 1);
	assert_true(s.last.share > 0.02);
	run(&s, 60);
	assert_true(percent(&s, 1) <= 2.0); /* trials included */
	governor_free(s.governor);
}

static void what_was_taken_comes_back(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[0][0] = 30e6;
	run(&s, 5);
	assert_int_equal(s.levels[0].level, LEVEL_OUT);
	s.rate[0][0] = 5000; /* 0.4 % */
	run(&s, 40);
	assert_int_equal(s.levels[0].level, LEVEL_ALL);
	assert_int_equal(s.last.thread, NO_INDEX);
	governor_free(s.governor);
}

static void sampling_ends_with_the_load(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[0][0] = 40000;
	run(&s, 5);
	assert_int_equal(s.levels[0].level, LEVEL_SAMPLED);
	s.rate[0][0] = 1000;
	run(&s, 15);
	assert_int_equal(s.levels[0].level, LEVEL_ALL);
	governor_free(s.governor);
}

static void the_worst_thread_counts(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[0][0] = s.rate[1][0] = 100;
	s.rate[2][0] = 30e6;
	run(&s, 60);
	assert_int_equal(s.levels[0].level, LEVEL_OUT);
	for (int t = 0; t < THREADS; t++)
		assert_true(percent(&s, t) <= 2.0);
	governor_free(s.governor);
}

static void pairs_are_followed_or_out(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.whole[0] = true;
	s.rate[0][0] = 40000;
	run(&s, 3);
	assert_int_equal(s.levels[0].level, LEVEL_OUT);
	s.rate[0][0] = 10;
	run(&s, 40);
	assert_int_equal(s.levels[0].level, LEVEL_ALL);
	governor_free(s.governor);
}

static void a_function_that_cannot_be_changed_is_left_alone(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.fails[0] = -EIO;
	s.rate[0][0] = 30e6;
	s.rate[0][1] = 30e6;
	run(&s, 3);
	assert_int_equal(s.levels[0].level, LEVEL_ALL);
	assert_int_equal(s.levels[1].level, LEVEL_OUT);
	governor_free(s.governor);
}

static void being_busy_only_delays(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.busy = 5;
	s.rate[0][0] = 30e6;
	run(&s, 1);
	assert_int_equal(s.levels[0].level, LEVEL_OUT);
	governor_free(s.governor);
}

static void a_short_burst_is_no_offence(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	for (int i = 0; i < 20; i++) { /* 20 ms of 40 % each second: 0.8 % */
		s.rate[0][0] = 800000;
		run(&s, 0.02);
		s.rate[0][0] = 0;
		run(&s, 1);
	}
	assert_int_equal(s.steps, 0);
	governor_free(s.governor);
}

static void a_thread_that_ended_counts_no_more(void **state)
{
	struct simulation s;

	begin(&s, 0.02);
	s.rate[0][0] = 38000;
	run(&s, 3);
	assert_int_equal(s.levels[0].level, LEVEL_SAMPLED);
	s.rate[0][0] = 0;
	s.ended[0] = true;
	run(&s, 1.1);
	assert_int_equal(s.levels[0].level, LEVEL_ALL);
	governor_free(s.governor);
}

/* Probes had been in for long before the governor looked for the first time: in how much time those calls were made is
 * not known. */
static void what_was_before_the_first_look_is_no_storm(void **state)
{
	struct simulation s = { 0 };
	const struct governor_options options = { 0.01, 40e6, cost, possible, set, &s };

	for (int i = 0; i < SITES; i++)
		s.levels[i] = (struct site_level){ LEVEL_ALL, 1 };
	s.governor = governor_new(&options);
	assert_non_null(s.governor);
	governor_count(s.governor, 0, 0, false, 1000000, 1000000);
	governor_look(s.governor, 1000000000);
	for (unsigned i = 1; i < 100; i++) {
		governor_count(s.governor, 0, 0, false, 1000000 + 10 * i, 1000000);
		governor_look(s.governor, 1000000000 + i * LOOK);
	}
	assert_int_equal(s.steps, 0);
	/* A storm is one afterwards. */
	for (unsigned i = 100; i < 110; i++) {
		governor_count(s.governor, 0, 0, false, 1000000 + 10000 * i, 1000000);
		governor_look(s.governor, 1000000000 + i * LOOK);
	}
	assert_true(s.steps > 0);
	governor_free(s.governor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_taken_from_a_quiet_job),
		cmocka_unit_test(a_busy_function_is_sampled),
		cmocka_unit_test(two_busy_functions_are_sampled_before_one_is_out),
		cmocka_unit_test(a_storm_is_out_at_once),
		cmocka_unit_test(what_was_taken_comes_back),
		cmocka_unit_test(sampling_ends_with_the_load),
		cmocka_unit_test(the_worst_thread_counts),
		cmocka_unit_test(pairs_are_followed_or_out),
		cmocka_unit_test(a_function_that_cannot_be_changed_is_left_alone),
		cmocka_unit_test(being_busy_only_delays),
		cmocka_unit_test(a_short_burst_is_no_offence),
		cmocka_unit_test(a_thread_that_ended_counts_no_more),
		cmocka_unit_test(what_was_before_the_first_look_is_no_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
