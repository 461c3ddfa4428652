/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has the locks of ranks: what the lock itself says, and what the probes saw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stuck/private.h"

/* --- a queue of ranks ----------------------------------------------------- */

static struct rank_word has_lock(unsigned next) /* next: the rank that waits behind it; 0 stands for none here */
{
	return (struct rank_word){ .known = true, .word = 1ull << 32 | next };
}

static struct rank_word waits(unsigned next)
{
	return (struct rank_word){ .known = true, .waits = true, .word = 1ull << 32 | next };
}

static long holder(const struct rank_word *words, size_t ranks, bool expected)
{
	bool likely;
	long rank = lock_rank_holder("queue_of_ranks", words, ranks, &likely);

	assert_int_equal(likely && rank != WAITS_NOBODY, expected);
	return rank;
}

static void the_head_of_the_queue_has_the_lock(void **state)
{
	/* 2 has it; 0 waits behind it, then 3, then 1. The word of a rank is the next one plus 1. */
	const struct rank_word words[] = { waits(3 + 1), waits(0), has_lock(0 + 1), waits(1 + 1), { .known = true } };

	assert_int_equal(holder(words, 5, false), 2);
}

static void a_head_that_waits_itself_waits_for_who_cannot_be_read(void **state)
{
	struct rank_word words[] = { { .known = false }, waits(2 + 1), waits(0) };

	assert_int_equal(holder(words, 3, true), 0);
	words[0].known = true;
	assert_int_equal(holder(words, 3, false), WAITS_NOBODY);
}

static void of_two_that_cannot_be_read_none_is_named(void **state)
{
	const struct rank_word words[] = { { .known = false }, waits(0), { .known = false } };

	assert_int_equal(holder(words, 3, false), WAITS_NOBODY);
}

static void words_that_are_no_queue_tell_nothing(void **state)
{
	const struct rank_word two_heads[] = { has_lock(1 + 1), waits(0), has_lock(3 + 1), waits(0) };
	const struct rank_word ring[] = { waits(1 + 1), waits(0 + 1) };
	const struct rank_word wild[] = { has_lock(77), { .known = true, .word = UINT64_MAX }, has_lock(2 + 1) };
	bool likely;

	assert_int_equal(holder(two_heads, 4, false), WAITS_NOBODY);
	assert_int_equal(holder(ring, 2, false), WAITS_NOBODY);
	assert_int_equal(holder(wild, 3, false), WAITS_NOBODY);
	assert_int_equal(lock_rank_holder("another", two_heads, 4, &likely), WAITS_NOBODY);
}

/* --- what the probes saw -------------------------------------------------- */

static struct value values[] = { { .name = "lck", .meaning = MEANING_LOCK, .form = FORM_UINT, .width = GB_U64 } };
static struct value tried[] = {
	{ .name = "lck", .meaning = MEANING_LOCK, .form = FORM_UINT, .width = GB_U64 },
	{ .name = "result", .meaning = MEANING_ERROR, .form = FORM_INT, .width = GB_S32, .slot = 1, .at_return = true }
};
static struct def_probe probes[] = {
	{ .role = ROLE_ACQUIRE, .values = values, .nvalues = 1 },
	{ .role = ROLE_RELEASE, .values = values, .nvalues = 1 },
	{ .role = ROLE_TRY, .values = tried, .nvalues = 2 },
};
static struct def_process processes[] = { { .pid = 10 }, { .pid = 20 } };
static struct def_thread threads[] = { { .process = 0, .tid = 10 }, { .process = 1, .tid = 20 } };
static const struct definitions definitions = {
	.processes = processes, .nprocesses = 2, .threads = threads, .nthreads = 2, .probes = probes, .nprobes = 3
};

enum { ACQUIRE, RELEASE, TRY };

static struct stuck stuck;

static void call(uint32_t thread, uint32_t probe, uint64_t lock, uint64_t start, uint64_t result)
{
	const struct span span = { .start = start,
				   .end = start + 5,
				   .thread = thread,
				   .probe = probe,
				   .reason = GB_END_RETURN,
				   .nwords = 2,
				   .words = { lock, result } };

	assert_int_equal(stuck_take_span(&stuck, &definitions, &span), 0);
}

static int forget(void **state)
{
	free(stuck.holds);
	memset(&stuck, 0, sizeof(stuck));
	return 0;
}

static void who_takes_a_lock_has_it_until_it_gives_it_back(void **state)
{
	call(0, ACQUIRE, 7, 100, 0);
	call(0, ACQUIRE, 8, 110, 0);
	call(1, RELEASE, 8, 120, 0); /* not its own */
	assert_int_equal(stuck.nholds, 2);
	call(0, RELEASE, 7, 130, 0);
	assert_int_equal(stuck.nholds, 1);
	assert_int_equal(stuck.holds[0].lock.raw, 8);
	assert_int_equal(stuck.holds[0].tid, 10);
}

static void the_last_one_to_take_it_has_it(void **state)
{
	call(0, ACQUIRE, 7, 100, 0);
	call(1, ACQUIRE, 7, 200, 0); /* the release between them has been lost */
	assert_int_equal(stuck.nholds, 1);
	assert_int_equal(stuck.holds[0].tid, 20);
	call(1, RELEASE, 7, 150, 0); /* of an earlier time: spans of several threads come in any order */
	assert_int_equal(stuck.nholds, 1);
}

static void who_tries_in_vain_has_nothing(void **state)
{
	call(0, TRY, 7, 100, 1);
	assert_int_equal(stuck.nholds, 0);
	call(1, TRY, 7, 110, 0);
	assert_int_equal(stuck.nholds, 1);
}

static void a_call_that_did_not_return_took_nothing(void **state)
{
	const struct span span = { .start = 1, .end = 2, .reason = GB_END_DETACH, .nwords = 1, .words = { 7 } };

	assert_int_equal(stuck_take_span(&stuck, &definitions, &span), 0);
	assert_int_equal(stuck.nholds, 0);
}

static void who_lost_calls_may_have_given_it_back(void **state)
{
	const struct gap gap = { .thread = 0, .count = 1, .after = 105, .before = 150 };

	call(0, ACQUIRE, 7, 100, 0);
	call(1, ACQUIRE, 8, 100, 0);
	call(0, ACQUIRE, 9, 200, 0);
	assert_int_equal(stuck_take_gap(&stuck, &definitions, &gap), 0);
	assert_int_equal(stuck.nholds, 2);
	for (size_t i = 0; i < stuck.nholds; i++)
		assert_int_not_equal(stuck.holds[i].lock.raw, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_of_the_queue_has_the_lock),
		cmocka_unit_test(a_head_that_waits_itself_waits_for_who_cannot_be_read),
		cmocka_unit_test(of_two_that_cannot_be_read_none_is_named),
		cmocka_unit_test(words_that_are_no_queue_tell_nothing),
		cmocka_unit_test_teardown(who_takes_a_lock_has_it_until_it_gives_it_back, forget),
		cmocka_unit_test_teardown(the_last_one_to_take_it_has_it, forget),
		cmocka_unit_test_teardown(who_tries_in_vain_has_nothing, forget),
		cmocka_unit_test_teardown(a_call_that_did_not_return_took_nothing, forget),
		cmocka_unit_test_teardown(who_lost_calls_may_have_given_it_back, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
