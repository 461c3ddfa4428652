/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paths_test.c - the paths of threads that wait for each other, against such as are kept whole.
 *
 * Threads are played by chance. Each keeps a copy of all that is on its path, and one for each call that it has begun.
 * There are so many calls that the nodes are collected again and again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/paths.h"

#define THREADS 5
#define DEEDS 7 /* of a thread */
#define NUMBERS (PATH_OTHERS + THREADS * DEEDS)
#define STEPS 60000
#define CALLS_KEPT 64 /* how far back one waits for, in calls */
#define SEEDS 10

struct copy {
	uint64_t sums[NUMBERS];
	uint64_t time;
};

struct player {
	struct copy now;
	struct copy calls[CALLS_KEPT]; /* as it was when its calls began: a ring */
	unsigned ncalls;
};

static uint32_t number(uint32_t thread, uint32_t deed)
{
	return PATH_OTHERS + thread * DEEDS + deed;
}

static void works(struct paths *paths, struct player *player, uint32_t thread, uint64_t until, uint32_t what)
{
	assert_int_equal(paths_add(paths, thread, player->now.time, until, what), 0);
	player->now.sums[what] += until - player->now.time;
	player->now.time = until;
}

/* A call that began after this thread's present: the first such. NULL: none. */
static const struct copy *later_call(const struct player *player, uint64_t than)
{
	unsigned first = player->ncalls > CALLS_KEPT ? player->ncalls - CALLS_KEPT : 0;

	for (unsigned i = first; i < player->ncalls; i++)
		if (player->calls[i % CALLS_KEPT].time > than)
			return i == first && first ? NULL : &player->calls[i % CALLS_KEPT];
	return NULL;
}

static void check(const struct paths *paths, const struct player *player, uint32_t thread)
{
	uint64_t sums[NUMBERS] = { 0 }, end;

	assert_true(paths_end(paths, thread, &end));
	assert_int_equal(end, player->now.time);
	paths_sum(paths, thread, sums);
	for (unsigned i = 0; i < NUMBERS; i++)
		assert_int_equal(sums[i], player->now.sums[i]);
}

static void play(unsigned seed, unsigned still)
{
	struct player *players = calloc(THREADS, sizeof(*players));
	struct paths *paths = paths_new(THREADS);

	srandom(seed);
	for (unsigned step = 0; step < STEPS; step++) {
		uint32_t thread = random() % THREADS, whom = random() % THREADS;
		struct player *player = &players[thread];
		const struct copy *call;

		if (thread == still && step > STEPS / 8)
			continue;
		if (!player->now.time) {
			player->now.time = 1;
			assert_int_equal(paths_add(paths, thread, 1, 1, PATH_OTHERS), 0);
		}
		works(paths, player, thread, player->now.time + 1 + random() % 50, number(thread, random() % 3));
		assert_int_equal(paths_begin_call(paths, thread, player->now.time), 0);
		player->calls[player->ncalls++ % CALLS_KEPT] = player->now;
		call = whom == thread || random() % 3 ? NULL : later_call(&players[whom], player->now.time);
		if (call) {
			assert_int_equal(paths_wait(paths, thread, whom, call->time), 0);
			player->now = *call;
			player->now.sums[PATH_CHANGES]++;
		}
		works(paths, player, thread, player->now.time + random() % 20, number(thread, 3 + random() % 4));
		paths_end_call(paths, thread);
		if (step % 997 == 0)
			check(paths, player, thread);
	}
	for (uint32_t thread = 0; thread < THREADS; thread++)
		check(paths, &players[thread], thread);
	assert_int_equal(paths_forgotten(paths), 0);
	paths_free(paths);
	free(players);
}

static void test_by_chance(void **state)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++)
		play(seed, THREADS);
}

/* One thread stops early: the marks of the others are kept for it, as far as there is room. */
static void test_one_stands_still(void **state)
{
	play(SEEDS + 1, 2);
}

/* Between two things that are told, and of a thread of which nothing is. */
static void test_what_is_not_told(void **state)
{
	struct paths *paths = paths_new(2);
	uint64_t sums[NUMBERS] = { 0 };

	assert_int_equal(paths_add(paths, 0, 100, 150, PATH_OTHERS), 0);
	assert_int_equal(paths_add(paths, 0, 170, 200, PATH_OTHERS), 0);
	assert_int_equal(paths_wait(paths, 0, 1, 230), 0); /* of whom nothing is known */
	paths_end_call(paths, 0);
	paths_sum(paths, 0, sums);
	assert_int_equal(sums[PATH_OTHERS], 80);
	assert_int_equal(sums[PATH_UNKNOWN], 20 + 30);
	assert_int_equal(paths_forgotten(paths), 1);
	paths_free(paths);
}

/* A thread that stands still and then waits for what the other began long ago: only of late that is still known. */
static void test_too_far_back(void **state)
{
	const unsigned calls = 100000;
	struct paths *paths = paths_new(2);
	uint64_t sums[NUMBERS] = { 0 };

	assert_int_equal(paths_add(paths, 1, 1, 2, number(1, 0)), 0);
	for (unsigned i = 1; i <= calls; i++) {
		assert_int_equal(paths_add(paths, 0, 10 * (i - 1) + 5, 10 * i, number(0, 0)), 0);
		assert_int_equal(paths_begin_call(paths, 0, 10 * i), 0);
		assert_int_equal(paths_add(paths, 0, 10 * i, 10 * i + 5, number(0, 1)), 0);
		paths_end_call(paths, 0);
	}
	assert_int_equal(paths_wait(paths, 1, 0, 50), 0);
	assert_int_equal(paths_forgotten(paths), 1);
	paths_end_call(paths, 1);
	paths_sum(paths, 1, sums);
	assert_int_equal(sums[number(1, 0)], 1);
	assert_int_equal(sums[PATH_UNKNOWN], 48);
	assert_int_equal(paths_wait(paths, 1, 0, 10 * (calls - 1000)), 0);
	assert_int_equal(paths_forgotten(paths), 1);
	paths_end_call(paths, 1);
	memset(sums, 0, sizeof(sums));
	paths_sum(paths, 1, sums);
	assert_int_equal(sums[number(0, 0)], 5 * (calls - 1000));
	assert_int_equal(sums[number(0, 1)], 5 * (calls - 1001));
	paths_free(paths);
}

#define CROWD 3000
#define TURNS 1600

/* Each thread has done something else in each turn, and none has to do with another: the longest remains. */
static void test_too_much_to_keep(void **state)
{
	struct paths *paths = paths_new(CROWD);
	size_t numbers = PATH_OTHERS + (size_t)CROWD * TURNS;
	uint64_t *sums = calloc(numbers, sizeof(*sums)), all = 0;

	for (uint32_t turn = 0; turn < TURNS; turn++)
		for (uint32_t thread = 0; thread < CROWD; thread++) {
			uint32_t what = PATH_OTHERS + thread * TURNS + turn;
			uint64_t time = 1000 * turn;

			assert_int_equal(paths_add(paths, thread, time + 1, time + 1001, what), 0);
			if (turn % 100 == 0)
				paths_end_call(paths, thread);
		}
	paths_end_call(paths, 0);
	paths_sum(paths, 0, sums);
	for (size_t i = 1; i < numbers; i++)
		all += sums[i];
	assert_int_equal(all, 1000 * TURNS);
	assert_true(sums[PATH_FOLDED] > 0);
	paths_free(paths);
	free(sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_chance),        cmocka_unit_test(test_one_stands_still),
		cmocka_unit_test(test_what_is_not_told), cmocka_unit_test(test_too_far_back),
		cmocka_unit_test(test_too_much_to_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
