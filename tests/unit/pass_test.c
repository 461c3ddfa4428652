/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pass_test.c - what threads did before they ended stands behind a record that is still being written: it is theirs
 * nevertheless, and none of it is lost. What the next owner of a number does is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shared/kernel.h"

#define TID 3 /* no process asks for it */
#define CALLS 3

static unsigned spans, gaps;

static int count_span(void *context, const struct definitions *d, const struct span *span)
{
	(void)context;
	(void)d;
	(void)span;
	spans++;
	return 0;
}

static int count_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	(void)context;
	(void)d;
	gaps += gap->count;
	return 0;
}

/* The n-th call of the thread, from 1. */
static void put_call(unsigned n)
{
	struct gb_span span = {
		.pid_tid = (uint64_t)getpid() << 32 | TID, .sequence = n, .start = 100 * n, .end = 100 * n + 50
	};

	assert_true(fuzz_ring_put(0, &span, GB_SPAN_HEADER));
}

static void put_life(enum gb_life_kind kind, uint32_t tid)
{
	struct gb_life life = {
		.kind = kind, .pid = getpid(), .tid = tid, .time = 1000, .sequence = tid == TID ? CALLS : 0
	};

	assert_true(fuzz_ring_put(FUZZ_CONTROL, &life, sizeof(life)));
}

static void put_calls_and_end(bool held)
{
	for (unsigned n = 1; n <= CALLS; n++)
		put_call(n);
	if (held)
		fuzz_ring_hold(0, true); /* the writer was interrupted */
	put_life(GB_LIFE_THREAD, TID);
	put_life(GB_LIFE_EXIT, getpid());
}

static struct capture_session *begin(struct definitions *d)
{
	static const struct span_sink sink = { .span = count_span, .gap = count_gap };
	struct capture_session *session;
	struct plan *plan;
	bool known;

	spans = gaps = 0;
	fuzz_kernel();
	fuzz_rings_empty();
	assert_int_equal(plan_new(&plan, fuzz_models(), "c"), 0);
	assert_int_equal(plan_add_file(plan, "/lib/x86_64-linux-gnu/libc.so.6", &known), 0);
	assert_int_equal(capture_new(&session, fuzz_kernel(), plan, d, NULL), 0);
	capture_add_sink(session, &sink);
	return session;
}

static void a_thread_ends_behind_a_record_that_is_being_written(void **state)
{
	struct definitions d = { 0 };
	struct capture_session *session = begin(&d);

	(void)state;
	put_calls_and_end(true);
	capture_drain(session);
	assert_int_equal(spans, 2);
	assert_int_equal(gaps, 0);
	assert_int_equal(d.nthreads, 1);
	assert_false(d.threads[0].counted);
	assert_int_equal(d.processes[0].end, 0);

	fuzz_ring_hold(0, false);
	capture_drain(session);
	assert_int_equal(spans, CALLS);
	assert_int_equal(gaps, 0);
	assert_int_equal(d.nthreads, 1);
	assert_true(d.threads[0].counted);
	assert_int_equal(d.threads[0].calls, CALLS);
	assert_int_equal(d.processes[0].end, 1000);
	capture_close(session);
	definitions_free(&d);
}

/* Nothing is in the way: it ends at once. */
static void a_thread_ends(void **state)
{
	struct definitions d = { 0 };
	struct capture_session *session = begin(&d);

	(void)state;
	put_call(1);
	put_call(3); /* the second was lost */
	put_life(GB_LIFE_THREAD, TID);
	capture_drain(session);
	assert_int_equal(spans, 2);
	assert_int_equal(gaps, 1);
	assert_true(d.threads[0].counted);
	capture_close(session);
	definitions_free(&d);
}

/* What is said by the next process of a number is that one's, though nothing else is known of it yet. */
static void a_number_is_given_anew(void **state)
{
	const struct gb_life off = { .kind = GB_LIFE_CONTROL, .pid = getpid(), .tid = TID + 1, .time = 2000 };
	struct definitions d = { 0 };
	struct capture_session *session = begin(&d);

	(void)state;
	put_calls_and_end(false);
	capture_drain(session);
	assert_int_equal(d.processes[0].end, 1000);
	assert_true(fuzz_ring_put(FUZZ_CONTROL, &off, sizeof(off)));
	capture_drain(session);
	assert_int_equal(d.ncontrols, 1);
	assert_int_equal(d.controls[0].process, 1);
	assert_int_equal(d.controls[0].thread, 1);
	assert_int_equal(d.threads[1].process, 1);
	capture_close(session);
	definitions_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_ends_behind_a_record_that_is_being_written),
		cmocka_unit_test(a_thread_ends),
		cmocka_unit_test(a_number_is_given_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
