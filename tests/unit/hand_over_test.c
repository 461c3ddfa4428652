/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits for whom across nodes: what each of them hands over, joined. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "waitgraph/hand_over.h"

static const struct party nobody = { .peer = WAITS_NOBODY };

/* A rank's thread, of the same number on each node. */
static struct party rank(long number)
{
	struct party p = nobody;

	p.pid = p.tid = 100;
	p.rank = number;
	p.label = number ? "rank 1" : "rank 0";
	p.stands_for_rank = true;
	return p;
}

/* A rank that the node misses. */
static struct party missing(long number)
{
	struct party p = rank(number);

	p.pid = p.tid = 0;
	p.elsewhere = true;
	return p;
}

static struct party receives(long number, long from)
{
	struct party p = rank(number);

	p.waits = true;
	p.event = "RECV";
	p.role = ROLE_RECV;
	p.peer = from;
	return p;
}

static struct party meets(long number)
{
	struct party p = rank(number);

	p.waits = p.gathers = true;
	p.event = "BARRIER";
	p.role = ROLE_BARRIER;
	p.place = "x.c:3 in f";
	return p;
}

static void give(struct joined *joined, const char *node, size_t index, const struct party *parties, size_t count,
		 long ranks)
{
	struct buffer buffer = { 0 };

	waits_hand_over(&buffer, parties, count, "rank", ranks);
	assert_false(buffer.failed);
	assert_int_equal(joined_add(joined, buffer.data, buffer.size, node, index), 0);
	buffer_free(&buffer);
}

static void assert_finding(struct joined *joined, enum finding_kind kind, const char *text)
{
	struct findings findings = { 0 };

	assert_int_equal(waits_find(joined->parties, joined->count, joined->unit, joined->ranks, &findings), 0);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.list[0].kind, kind);
	assert_string_equal(findings.list[0].text, text);
	findings_free(&findings);
}

static void a_rank_on_another_node_is_the_one_that_has_not_come(void **state)
{
	const struct party one[] = { meets(0), missing(1) }, two[] = { rank(1), missing(0) };
	struct joined joined = { 0 };

	give(&joined, "n1", 0, one, 2, 2);
	give(&joined, "n2", 1, two, 2, 2);
	assert_int_equal(joined_close(&joined, true), 0);
	assert_int_equal(joined.count, 2);
	assert_finding(
		&joined, FINDING_ABSENT,
		"rank 0 on n1 waits in BARRIER (x.c:3 in f); 1 of 2 has not come: rank 1 on n2 is in no known call");
	assert_int_equal(waits_pid(joined.parties[1].pid), 100);
	joined_free(&joined);
}

static void a_circle_goes_over_nodes(void **state)
{
	const struct party one[] = { receives(0, 1), missing(1) }, two[] = { receives(1, 0), missing(0) };
	struct joined joined = { 0 };

	give(&joined, "n1", 0, one, 2, 2);
	give(&joined, "n2", 1, two, 2, 2);
	assert_int_equal(joined_close(&joined, true), 0);
	assert_finding(
		&joined, FINDING_DEADLOCK,
		"deadlock of 2: rank 0 on n1 waits in RECV for rank 1 on n2; rank 1 on n2 waits in RECV for rank 0 "
		"on n1");
	joined_free(&joined);
}

/* The holder of a lock has the same number as a thread of another node, which has nothing to do with it. */
static void threads_of_one_number_are_not_one(void **state)
{
	struct party waiting = rank(1), holder = rank(0), stranger = rank(0);
	struct joined joined = { 0 };

	waiting.tid = 101;
	waiting.waits = true;
	waiting.event = "LOCK";
	waiting.role = ROLE_ACQUIRE;
	waiting.lock = 0x40;
	waiting.holder = 100;
	stranger.label = "stranger";
	holder.rank = stranger.rank = waiting.rank = -1;
	holder.stands_for_rank = stranger.stands_for_rank = waiting.stands_for_rank = false;
	give(&joined, "n1", 0, &stranger, 1, 0);
	give(&joined, "n2", 1, (struct party[]){ waiting, holder }, 2, 0);
	assert_int_equal(joined_close(&joined, true), 0);
	assert_finding(&joined, FINDING_HELD,
		       "rank 1 on n2 waits for lock 0x40 that rank 0 on n2 holds, which is in no known call");
	joined_free(&joined);
}

static void a_rank_that_no_node_has(void **state)
{
	const struct party one[] = { meets(0), missing(1) };
	struct joined joined = { 0 };

	give(&joined, "n1", 0, one, 2, 2);
	assert_int_equal(joined_close(&joined, true), 0); /* all nodes of the job were asked */
	assert_finding(&joined, FINDING_LEFT,
		       "rank 0 on n1 waits in BARRIER (x.c:3 in f); 1 of 2 has not come: rank 1 has left the program");
	joined_free(&joined);
	give(&joined, "n1", 0, one, 2, 2);
	assert_int_equal(joined_close(&joined, false), 0); /* one has not answered */
	assert_int_equal(joined.count, 2);
	assert_true(joined.parties[1].elsewhere && !joined.parties[1].left);
	assert_string_equal(joined.parties[1].label, "rank 1");
	joined_free(&joined);
}

static void what_is_cut_or_damaged_is_refused_whole(void **state)
{
	const int64_t members[] = { 0, 1 };
	struct party p[] = { meets(0), meets(1) };
	struct buffer buffer = { 0 };
	struct joined joined = { 0 };

	p[0].members = members;
	p[0].nmembers = 2;
	waits_hand_over(&buffer, p, 2, "rank", 2);
	for (size_t cut = 0; cut < buffer.size; cut++)
		assert_int_equal(joined_add(&joined, buffer.data, cut, "n1", 0), -EINVAL);
	buffer.data[0]++; /* of a gaspbpf that says it otherwise */
	assert_int_equal(joined_add(&joined, buffer.data, buffer.size, "n1", 0), -EINVAL);
	buffer.data[0]--;
	assert_int_equal(joined.count, 0);
	for (size_t at = 0; at < buffer.size; at++) { /* it may still be something, but nothing that harms */
		struct findings findings = { 0 };
		uint8_t was = buffer.data[at];

		buffer.data[at] = 0xff;
		joined_add(&joined, buffer.data, buffer.size, "n1", 0);
		buffer.data[at] = was ^ 1;
		joined_add(&joined, buffer.data, buffer.size, "n1", 0);
		buffer.data[at] = was;
		assert_int_equal(joined_close(&joined, true), 0);
		assert_int_equal(
			waits_find(joined.parties, joined.count, joined.unit ?: "rank", joined.ranks, &findings), 0);
		findings_free(&findings);
		joined_free(&joined);
	}
	buffer_free(&buffer);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_on_another_node_is_the_one_that_has_not_come),
		cmocka_unit_test(a_circle_goes_over_nodes),
		cmocka_unit_test(threads_of_one_number_are_not_one),
		cmocka_unit_test(a_rank_that_no_node_has),
		cmocka_unit_test(what_is_cut_or_damaged_is_refused_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
