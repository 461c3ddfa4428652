/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handing_on_test.c - what relations tell comes to each analysis that wants it, all of it and in its order.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/handing_on.h"

#define MANY 100000
#define CROWD 20000 /* in one meeting: more than a page has room for */

/* What one analysis was told: how often, and a sum in which the order counts. */
struct heard {
	uint64_t work, calls, waits, messages, meetings, sum;
	uint64_t refuses; /* from so many calls on; 0: never */
};

static void add(struct heard *heard, uint64_t what)
{
	heard->sum = heard->sum * 31 + what;
}

static int hear_work(void *context, const struct related_work *work)
{
	struct heard *heard = context;

	heard->work++;
	add(heard, work->start ^ work->after.site);
	return 0;
}

static int hear_call(void *context, const struct related_call *call, const struct waited *waited)
{
	struct heard *heard = context;

	heard->calls++;
	heard->waits += waited != NULL;
	add(heard, call->end ^ (waited ? waited->until + waited->of.thread : 1));
	return heard->refuses && heard->calls >= heard->refuses ? -EIO : 0;
}

static int hear_message(void *context, const struct related_call *sends, const struct related_call *receives,
			uint64_t bytes)
{
	struct heard *heard = context;

	heard->messages++;
	add(heard, sends->start ^ receives->end ^ bytes);
	return 0;
}

static int hear_meeting(void *context, const struct meeting *meeting)
{
	struct heard *heard = context;

	heard->meetings++;
	for (unsigned i = 0; i < meeting->ncalls; i++)
		add(heard, meeting->calls[i].start + meeting->last);
	return 0;
}

static const struct relations_ops everything = {
	.work = hear_work, .call = hear_call, .message = hear_message, .meeting = hear_meeting
};
static const struct relations_ops calls_alone = { .call = hear_call };
static const struct analysis hears_all = { .name = "all", .relations = &everything };
static const struct analysis hears_calls = { .name = "calls", .relations = &calls_alone };
static const struct analysis hears_nothing = { .name = "nothing" };

static struct related_call call_at(uint64_t i)
{
	return (struct related_call){
		.thread = i % 7, .probe = 1, .site = i % 11, .start = 10 * i, .end = 10 * i + i % 9
	};
}

/* A piece of work, a call, now and then a wait, a message, a meeting; the first error. */
static int tell(const struct relations_ops *ops, struct related_call *crowd, size_t ncrowd)
{
	int error = 0;

	for (uint64_t i = 0; i < MANY && !error; i++) {
		const struct related_work work = {
			.thread = i % 7, .start = 3 * i, .end = 4 * i, .after = { 1, i % 5 }
		};
		const struct related_call call = call_at(i), other = call_at(i + 1);
		const struct waited waited = { .until = call.start + 1, .of = other };
		const struct meeting meeting = { .calls = crowd, .ncalls = i % 1000 ? 3 : ncrowd, .last = i % 3 };

		error = ops->work ? ops->work(ops->context, &work) : 0;
		if (!error)
			error = ops->call(ops->context, &call, i % 4 ? NULL : &waited);
		if (!error && ops->message && i % 3 == 0)
			error = ops->message(ops->context, &call, &other, 1000 + i);
		if (!error && ops->meeting && i % 10 == 0)
			error = ops->meeting(ops->context, &meeting);
	}
	return error;
}

static void each_hears_what_it_wants_in_its_order(void **state)
{
	struct related_call *crowd = calloc(CROWD, sizeof(*crowd));
	struct heard all = { 0 }, calls = { 0 }, expected = { 0 };
	const struct made_analysis made[] = { { .is = &hears_all, .state = &all, .made = true },
					      { .is = &hears_nothing, .made = true },
					      { .is = &hears_calls, .state = &calls, .made = true },
					      { .is = &hears_all, .state = NULL, .made = false } };
	struct relations_ops direct = everything;
	struct handing_on *h = handing_on_begin(made, 4);

	assert_non_null(h);
	for (size_t i = 0; i < CROWD; i++)
		crowd[i] = call_at(i);
	assert_int_equal(tell(handing_on_ops(h), crowd, CROWD), 0);
	assert_int_equal(handing_on_end(h), 0);
	direct.context = &expected;
	assert_int_equal(tell(&direct, crowd, CROWD), 0);
	assert_memory_equal(&all, &expected, sizeof(all));
	assert_int_equal(calls.calls, MANY);
	assert_int_equal(calls.waits, MANY / 4);
	assert_int_equal(calls.work + calls.messages + calls.meetings, 0);
	free(crowd);
}

/* Whoever finds relations need not put down what nobody reads. */
static void what_nobody_wants_is_not_asked_for(void **state)
{
	struct heard calls = { 0 };
	const struct made_analysis made[] = { { .is = &hears_calls, .state = &calls, .made = true } };
	struct handing_on *h = handing_on_begin(made, 1);

	assert_non_null(h);
	assert_non_null(handing_on_ops(h)->call);
	assert_null(handing_on_ops(h)->work);
	assert_null(handing_on_ops(h)->message);
	assert_null(handing_on_ops(h)->meeting);
	assert_int_equal(handing_on_end(h), 0);
}

static void what_one_refuses_ends_it(void **state)
{
	struct related_call crowd[3] = { { 0 } };
	struct heard calls = { .refuses = 10 };
	const struct made_analysis made[] = { { .is = &hears_calls, .state = &calls, .made = true } };
	struct handing_on *h = handing_on_begin(made, 1);

	assert_non_null(h);
	assert_int_equal(tell(handing_on_ops(h), crowd, 3), -EIO); /* long before its end */
	assert_int_equal(handing_on_end(h), -EIO);
	assert_int_equal(calls.calls, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hears_what_it_wants_in_its_order),
		cmocka_unit_test(what_nobody_wants_is_not_asked_for),
		cmocka_unit_test(what_one_refuses_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
