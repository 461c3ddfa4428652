/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launches_test.c - which ranks are of one job, by who started whom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/monitor.h"

#define MOST 16

static struct monitor_process processes[MOST];
static const struct monitor_process *list[MOST];
static struct process_identity launches[MOST];
static size_t count;

/* Who started it: pids, ended by a 0. */
static void add(pid_t pid, long rank, long size, const pid_t *above)
{
	struct monitor_process *p = &processes[count];

	*p = (struct monitor_process){ .pid = pid, .rank = rank, .size = size };
	p->lineage[p->nlineage++] = (struct process_identity){ pid, 1 };
	for (; *above; above++)
		p->lineage[p->nlineage++] = (struct process_identity){ *above, 1 };
	list[count++] = p;
}

#define ADD(pid, rank, size, ...) add(pid, rank, size, (const pid_t[]){ __VA_ARGS__, 0 })

static int begin(void **state)
{
	count = 0;
	memset(launches, 0xff, sizeof(launches));
	return 0;
}

static void judge(void)
{
	assert_int_equal(monitor_launches(list, count, launches), 0);
}

/* Under one shell, one of them with a shell of its own around each rank. */
static void test_two_jobs(void **state)
{
	ADD(10, 0, 2, 5, 2);
	ADD(20, 0, 2, 21, 6, 2);
	ADD(11, 1, 2, 5, 2);
	ADD(22, 1, 2, 23, 6, 2);
	ADD(30, -1, -1, 2);
	judge();
	assert_int_equal(launches[0].pid, 5);
	assert_int_equal(launches[2].pid, 5);
	assert_int_equal(launches[1].pid, 6);
	assert_int_equal(launches[3].pid, 6);
	assert_int_equal(launches[4].pid, 0);
}

/* Rank 0 starts the others itself. */
static void test_without_a_launcher(void **state)
{
	ADD(10, 0, 3, 2);
	ADD(11, 1, 3, 10, 2);
	ADD(12, 2, 3, 10, 2);
	judge();
	for (size_t i = 0; i < count; i++)
		assert_int_equal(launches[i].pid, 10);
}

/* A helper that a rank has started has its number, and is no rank. */
static void test_a_helper(void **state)
{
	ADD(10, 0, 2, 5, 2);
	ADD(11, 1, 2, 5, 2);
	ADD(12, 1, 2, 13, 11, 5, 2);
	judge();
	assert_int_equal(launches[0].pid, 5);
	assert_int_equal(launches[1].pid, 5);
	assert_int_equal(launches[2].pid, 0);
}

/* A launcher that stays for several jobs; jobs of one rank each; ranks whose jobs are of other sizes. */
static void test_what_cannot_be_told(void **state)
{
	ADD(10, 0, 2, 5, 2);
	ADD(11, 1, 2, 5, 2);
	ADD(12, 0, 2, 5, 2);
	ADD(20, 0, 1, 6, 2);
	ADD(30, 2, 4, 7, 3);
	ADD(31, 5, 8, 8, 3);
	judge();
	for (size_t i = 0; i < count; i++)
		assert_int_equal(launches[i].pid, 0);
}

/* The launcher's number has been used before, by another launcher. */
static void test_a_number_that_is_used_again(void **state)
{
	ADD(10, 0, 2, 5, 2);
	ADD(11, 1, 2, 5, 2);
	ADD(20, 0, 2, 5, 2);
	ADD(21, 1, 2, 5, 2);
	processes[2].lineage[1].start_time = processes[3].lineage[1].start_time = 9;
	judge();
	assert_int_equal(launches[0].start_time, 1);
	assert_int_equal(launches[1].start_time, 1);
	assert_int_equal(launches[2].start_time, 9);
	assert_int_equal(launches[3].start_time, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_two_jobs, begin),
		cmocka_unit_test_setup(test_without_a_launcher, begin),
		cmocka_unit_test_setup(test_a_helper, begin),
		cmocka_unit_test_setup(test_what_cannot_be_told, begin),
		cmocka_unit_test_setup(test_a_number_that_is_used_again, begin),
	};

	return cmocka_run_group_tests_name("launches", tests, NULL, NULL);
}
