/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits for whom: deadlocks, missing ranks, held locks; and what must not be called one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "waitgraph/waitgraph.h"

static struct party rank(long number, const char *label)
{
	return (struct party){ .pid = 100 + number,
			       .tid = 100 + number,
			       .rank = number,
			       .label = label,
			       .stands_for_rank = true,
			       .peer = WAITS_NOBODY };
}

static struct party receives(long number, const char *label, long from)
{
	struct party p = rank(number, label);

	p.waits = true;
	p.event = "RECV";
	p.role = ROLE_RECV;
	p.peer = from;
	return p;
}

static struct party meets(long number, const char *label, uint64_t group)
{
	struct party p = rank(number, label);

	p.waits = p.gathers = p.has_group = true;
	p.event = "BARRIER";
	p.role = ROLE_BARRIER;
	p.group = group;
	return p;
}

/* To or from somebody, nobody can say whom. */
static struct party in_message(long number, const char *label, enum role role)
{
	struct party p = receives(number, label, WAITS_NOBODY);

	p.role = role;
	p.event = role == ROLE_SEND ? "SEND" : role == ROLE_RECV ? "RECV" : "WAIT";
	p.by_another = true;
	return p;
}

static struct party locks(pid_t tid, const char *label, uint64_t lock, pid_t holder)
{
	return (struct party){ .pid = 1,
			       .tid = tid,
			       .rank = -1,
			       .label = label,
			       .waits = true,
			       .event = "LOCK",
			       .role = ROLE_ACQUIRE,
			       .lock = lock,
			       .holder = holder,
			       .peer = WAITS_NOBODY };
}

static struct findings found;

static int forget(void **state)
{
	findings_free(&found);
	return 0;
}

static void find(const struct party *parties, size_t count)
{
	assert_int_equal(waits_find(parties, count, "rank", 0, &found), 0);
}

static void a_circle_of_locks_is_told_once(void **state)
{
	const struct party parties[] = { locks(1, "a", 16, 2), locks(2, "b", 32, 3), locks(3, "c", 48, 1),
					 locks(4, "d", 16, 2) };

	find(parties, 4);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_DEADLOCK);
	assert_int_equal(found.list[0].nparties, 3);
	assert_string_equal(found.list[0].text,
			    "deadlock of 3: a waits for lock 0x10 that b holds; b waits for lock 0x20 that c holds; "
			    "c waits for lock 0x30 that a holds");
}

static void find_of(const struct party *parties, size_t count, long ranks)
{
	assert_int_equal(waits_find(parties, count, "rank", ranks, &found), 0);
}

static void where_all_send_nobody_receives(void **state)
{
	const struct party parties[] = { in_message(0, "rank 0", ROLE_SEND), in_message(1, "rank 1", ROLE_SEND) };

	find_of(parties, 2, 2);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_DEADLOCK);
	assert_true(found.list[0].likely);
	assert_string_equal(found.list[0].text,
			    "deadlock (likely) of 2: rank 0 and rank 1 wait in SEND, and no rank receives");
}

static void who_might_receive_makes_it_none(void **state)
{
	struct party parties[] = { in_message(0, "rank 0", ROLE_SEND), in_message(1, "rank 1", ROLE_SEND),
				   rank(2, "rank 2") };
	struct party other = { .pid = 101, .tid = 201, .rank = 1, .label = "rank 1, other", .peer = WAITS_NOBODY };

	find_of(parties, 2, 3); /* one is not in sight */
	assert_int_equal(found.count, 0);
	find_of(parties, 2, 0); /* how many there are is not known */
	assert_int_equal(found.count, 0);
	parties[2] = in_message(2, "rank 2", ROLE_RECV);
	find_of(parties, 3, 3);
	assert_int_equal(found.count, 0);
	parties[2] = in_message(2, "rank 2", ROLE_SEND);
	parties[2].uncaught = true;
	find_of(parties, 3, 3);
	assert_int_equal(found.count, 0);
	parties[2] = other; /* a second thread of rank 1 */
	find_of(parties, 3, 2);
	assert_int_equal(found.count, 0);
	parties[2].helper = true;
	find_of(parties, 3, 2);
	assert_int_equal(found.count, 1);
}

static void the_few_that_do_not_wait_are_named(void **state)
{
	struct party parties[] = { in_message(0, "rank 0", ROLE_WAIT), in_message(1, "rank 1", ROLE_WAIT),
				   rank(2, "rank 2") };

	find_of(parties, 3, 3);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_ABSENT);
	assert_string_equal(
		found.list[0].text,
		"rank 0 and rank 1 wait in WAIT, for whom is not known; 1 of 3 does not wait: rank 2 is in no known "
		"call");
	findings_free(&found);
	parties[1] = rank(1, "rank 1");
	find_of(parties, 3, 3);
	assert_int_equal(found.count, 0);
	parties[1] = in_message(1, "rank 1", ROLE_WAIT);
	parties[2] = in_message(2, "rank 2", ROLE_WAIT);
	find_of(parties, 3, 3); /* slow transfers look so, too */
	assert_int_equal(found.count, 0);
}

static void a_chain_is_no_circle(void **state)
{
	struct party parties[] = { locks(1, "a", 16, 2), locks(2, "b", 32, 3), locks(3, "c", 0, 0) };

	parties[2].waits = false;
	parties[2].event = NULL;
	find(parties, 3);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_HELD);
	assert_string_equal(found.list[0].text, "b waits for lock 0x20 that c holds, which is in no known call");
}

static void who_holds_what_it_waits_for_itself_is_stuck_alone(void **state)
{
	/* A lock that its own holder takes again: it waits for itself. */
	const struct party parties[] = { locks(1, "a", 16, 1) };

	find(parties, 1);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_DEADLOCK);
	assert_int_equal(found.list[0].nparties, 1);
}

static void a_message_and_a_barrier_make_a_circle(void **state)
{
	const struct party parties[] = { meets(0, "rank 0", 0), receives(1, "rank 1", 0) };

	find(parties, 2);
	assert_int_equal(found.list[0].kind, FINDING_DEADLOCK);
	assert_string_equal(
		found.list[0].text,
		"deadlock of 2: rank 0 waits in BARRIER, to which rank 1 has not come; rank 1 waits in RECV for rank "
		"0");
}

static void other_groups_do_not_count(void **state)
{
	static const int64_t members[] = { 0, 1 };
	struct party parties[] = { meets(0, "rank 0", 7), meets(1, "rank 1", 7), rank(2, "rank 2") };

	parties[0].members = parties[1].members = members;
	parties[0].nmembers = parties[1].nmembers = 2;
	find(parties, 3);
	assert_int_equal(found.count, 0);
}

static void who_has_left_is_told(void **state)
{
	struct party parties[] = { meets(0, "rank 0", 0), meets(1, "rank 1", 0), rank(2, "rank 2") };

	parties[2].left = true;
	find(parties, 3);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_LEFT);
	assert_int_equal(found.list[0].nwaiting, 2);
	assert_string_equal(found.list[0].text,
			    "rank 0 and rank 1 wait in BARRIER; 1 of 3 has not come: rank 2 has left the program");
}

/* Whose stack is not known may be at the barrier, too. */
static void who_could_not_be_caught_is_not_said_to_be_absent(void **state)
{
	struct party parties[] = { meets(0, "rank 0", 0), rank(1, "rank 1"), rank(2, "rank 2") };

	parties[1].uncaught = parties[2].left = true;
	find(parties, 3);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_LEFT);
	assert_false(found.list[0].likely);
	assert_int_equal(found.list[0].nparties, 2);
	assert_string_equal(found.list[0].text,
			    "rank 0 waits in BARRIER; 1 of 3 has not come: rank 2 has left the program; "
			    "who could not be caught, and may have come: rank 1");
	findings_free(&found);
	parties[2].left = false;
	parties[2].uncaught = true;
	find(parties, 3);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.list[0].kind, FINDING_ABSENT);
	assert_true(found.list[0].likely);
	assert_string_equal(found.list[0].text,
			    "rank 0 waits in BARRIER; who could not be caught, and may have come: rank 1 and rank 2");
}

static void what_is_likely_stays_so(void **state)
{
	struct party parties[] = { receives(0, "rank 0", 1), receives(1, "rank 1", 0) };

	parties[1].likely = true;
	find(parties, 2);
	assert_true(found.list[0].likely);
	assert_non_null(strstr(found.list[0].text, "deadlock (likely) of 2"));
}

static void who_moves_waits_for_nobody(void **state)
{
	struct party parties[] = { receives(0, "rank 0", 1), receives(1, "rank 1", 0) };

	parties[1].waits = false;
	find(parties, 2);
	assert_int_equal(found.count, 0);
}

/* --- locks -------------------------------------------------------------- */

static bool read_array(void *context, uint64_t address, void *bytes, size_t size)
{
	if (address < 0x1000 || address - 0x1000 + size > 64)
		return false;
	memcpy(bytes, (const char *)context + (address - 0x1000), size);
	return true;
}

static void a_mutex_has_its_owner(void **state)
{
	uint32_t memory[16] = { 2, 0, 77 };
	struct lock_state s = lock_read("int pthread_mutex_lock(pthread_mutex_t *mutex)", 0x1000, 0, false, false,
					read_array, memory);

	assert_int_equal(s.address, 0x1000);
	assert_true(s.certain);
	assert_int_equal(s.holder, 77);
}

static void a_barrier_has_its_count(void **state)
{
	uint32_t memory[16] = { 7, 4, 5 };
	struct lock_state s = lock_read("int pthread_barrier_wait(pthread_barrier_t *barrier)", 0x1004, 0x1000, true,
					false, read_array, memory);

	assert_true(s.certain && s.is_barrier);
	assert_int_equal(s.come, 3);
	assert_int_equal(s.of, 5);
	memory[0] = 100; /* makes no sense */
	s = lock_read("int pthread_barrier_wait(pthread_barrier_t *barrier)", 0x1004, 0x1000, true, false, read_array,
		      memory);
	assert_int_equal(s.of, 0);
}

static void other_functions_have_none(void **state)
{
	uint32_t memory[16] = { 0 };
	struct lock_state s = lock_read("int sem_wait(sem_t *sem)", 0x1000, 0x1000, true, true, read_array, memory);

	assert_int_equal(s.address, 0);
	s = lock_read("int pthread_mutex_lock(pthread_mutex_t *mutex)", 0, 0xffffffffffffff00, true, true, read_array,
		      memory);
	assert_int_equal(s.holder, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_circle_of_locks_is_told_once, forget),
		cmocka_unit_test_teardown(where_all_send_nobody_receives, forget),
		cmocka_unit_test_teardown(who_might_receive_makes_it_none, forget),
		cmocka_unit_test_teardown(the_few_that_do_not_wait_are_named, forget),
		cmocka_unit_test_teardown(a_chain_is_no_circle, forget),
		cmocka_unit_test_teardown(who_holds_what_it_waits_for_itself_is_stuck_alone, forget),
		cmocka_unit_test_teardown(a_message_and_a_barrier_make_a_circle, forget),
		cmocka_unit_test_teardown(other_groups_do_not_count, forget),
		cmocka_unit_test_teardown(who_has_left_is_told, forget),
		cmocka_unit_test_teardown(who_could_not_be_caught_is_not_said_to_be_absent, forget),
		cmocka_unit_test_teardown(what_is_likely_stays_so, forget),
		cmocka_unit_test_teardown(who_moves_waits_for_nobody, forget),
		cmocka_unit_test(a_mutex_has_its_owner),
		cmocka_unit_test(a_barrier_has_its_count),
		cmocka_unit_test(other_functions_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
