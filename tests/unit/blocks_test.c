/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocks_test.c - the table of blocks against a plain array: put in and taken out in any order, at addresses that
 * collide.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/blocks.h"

#define PLACES 3000
#define STEPS 200000

static uint64_t drawn;

static uint64_t draw(uint64_t below)
{
	drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
	return (drawn >> 33) % below;
}

static void play(uint64_t seed)
{
	static uint32_t alive[PLACES]; /* 0: it is not, else its site + 1 */
	struct blocks blocks = { 0 };
	size_t count = 0;

	memset(alive, 0, sizeof(alive));
	drawn = seed;
	for (uint32_t step = 0; step < STEPS; step++) {
		/* First it fills, then it empties. */
		uint64_t place = draw(PLACES), address = 16 * (place + 1);
		struct block *put, taken;

		if (draw(STEPS) > step) {
			put = blocks_put(&blocks, address);
			assert_true(put && put->address == address);
			assert_true(put->site == (alive[place] ? alive[place] - 1 : UINT32_MAX));
			count += !alive[place];
			put->site = step;
			alive[place] = step + 1;
		} else {
			assert_true(blocks_take(&blocks, address, &taken) == (alive[place] > 0));
			if (alive[place])
				assert_true(taken.site == alive[place] - 1 && taken.address == address);
			count -= alive[place] > 0;
			alive[place] = 0;
		}
		assert_true(blocks.count == count);
	}
	blocks_clear(&blocks);
}

static void test_any_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		play(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_any_order) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
