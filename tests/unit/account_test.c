/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * account_test.c - whose time it was: compared with marking each moment of made-up calls, some of which are lost; and
 * which calls are one event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "account/account.h"
#include "shared/recorded_job.h"

#define ENDS 6000u
#define CALLS_MOST 4000
#define NOBODY -1

enum { DATA, LOCK, TASK, USER, INNER, KINDS };

static const struct {
	enum role role;
	enum group group;
	bool opaque;
} kinds[KINDS] = {
	[DATA] = { ROLE_GET, GROUP_DATA, true },   [LOCK] = { ROLE_ACQUIRE, GROUP_LOCK, true },
	[TASK] = { ROLE_TASK, GROUP_TASK, false }, [USER] = { ROLE_USER, GROUP_OTHER, false },
	[INNER] = { ROLE_GET, GROUP_DATA, true },
};

static struct {
	struct call {
		uint64_t start, end;
		uint32_t depth;
		int kind;
		bool lost;
	} calls[CALLS_MOST];
	size_t ncalls;
} job;

/* --- the calls ------------------------------------------------------------ */

/* Calls one after the other in this time, with others inside them. */
static void nest(uint32_t depth, int around, uint64_t at, uint64_t end)
{
	for (;;) {
		uint64_t start = at + below(depth ? 20 : 100), length;
		int kind = (int)below(around == DATA || around == INNER ? KINDS
									: INNER); /* only a runtime makes inner calls */

		if (start + 2 >= end || job.ncalls == CALLS_MOST)
			return;
		length = 1 + below(end - start - 1 < 500 ? end - start - 1 : 500);
		if (depth < 6 && below(3))
			nest(depth + 1, kind, start, start + length);
		assert_true(job.ncalls < CALLS_MOST);
		job.calls[job.ncalls++] = (struct call){ start, start + length, depth, kind, false };
		at = start + length;
	}
}

static void make_calls(uint64_t seed, unsigned lost_of_100)
{
	memset(&job, 0, sizeof(job));
	random_state = 0x9e3779b97f4a7c15u * seed;
	nest(0, NOBODY, 0, ENDS);
	for (size_t i = 0; i < job.ncalls; i++)
		job.calls[i].lost = below(100) < lost_of_100;
}

/* --- what is to come out -------------------------------------------------- */

struct expected {
	uint64_t group[GROUPS], self[KINDS], total[KINDS];
};

/* The calls that are known and have this moment, the outermost first. */
static size_t calls_at(uint64_t moment, const struct call *found[8])
{
	size_t count = 0;

	for (size_t i = job.ncalls; i-- > 0;)
		if (!job.calls[i].lost && job.calls[i].start <= moment && moment < job.calls[i].end)
			found[count++] = &job.calls[i];
	return count;
}

static void work_out(struct expected *e)
{
	memset(e, 0, sizeof(*e));
	for (uint64_t t = 0; t < ENDS; t++) {
		const struct call *at[8];
		size_t count = calls_at(t, at);
		bool there[KINDS] = { false };
		enum group group = count ? kinds[at[count - 1]->kind].group : GROUP_COMPUTE;

		for (size_t i = count; i-- > 0;) {
			if (kinds[at[i]->kind].opaque)
				group = kinds[at[i]->kind].group;
			there[at[i]->kind] = true;
		}
		for (int kind = 0; kind < KINDS; kind++)
			e->total[kind] += there[kind];
		e->group[group]++;
		if (count)
			e->self[at[count - 1]->kind]++;
		/* The calls of the runtime around an inner one have it, too. */
		for (size_t i = count;
		     i-- > 1 && at[i]->kind == INNER && (at[i - 1]->kind == INNER || at[i - 1]->kind == DATA);)
			e->self[at[i - 1]->kind]++;
	}
	e->group[GROUP_COMPUTE] = 0;
}

struct accounted {
	struct accounted_probe probes[KINDS];
	struct nesting nesting;
	struct inclusive inclusive[KINDS];
	struct expected is;
	uint64_t outermost[GROUPS]; /* what calls of depth 0 have added, with all inside */
	size_t most;
};

static void account(struct accounted *a)
{
	memset(a, 0, sizeof(*a));
	for (int i = 0; i < KINDS; i++)
		a->probes[i] = (struct accounted_probe){ .group = kinds[i].group,
							 .opaque = kinds[i].opaque,
							 .inner = i == INNER,
							 .runtime = i == INNER ? DATA : i };
	for (size_t i = 0; i < job.ncalls; i++) {
		const struct call *call = &job.calls[i];
		struct nested_call nested = { call->start, call->start, call->end, call->end - call->start,
					      call->depth };
		uint64_t self, own;

		if (call->lost) {
			nesting_gap(&a->nesting);
			continue;
		}
		assert_int_equal(nesting_add(&a->nesting, &a->probes[call->kind], &nested, &self), 0);
		assert_int_equal(inclusive_add(&a->inclusive[call->kind], &a->nesting, &nested, &own), 0);
		a->is.self[call->kind] += self;
		a->is.total[call->kind] += own;
		if (!call->depth) {
			uint64_t latest[GROUPS];

			nesting_latest(&a->nesting, latest);
			add_groups(a->outermost, latest);
		}
		if (a->nesting.nfinished > a->most)
			a->most = a->nesting.nfinished;
	}
	nesting_groups(&a->nesting, a->is.group);
}

static void account_free(struct accounted *a)
{
	nesting_free(&a->nesting);
	for (int i = 0; i < KINDS; i++)
		inclusive_free(&a->inclusive[i]);
}

/* --- the tests ------------------------------------------------------------ */

static void each_moment_of_nested_calls(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct accounted a;
		struct expected expected;

		make_calls(seed, 0);
		work_out(&expected);
		account(&a);
		assert_memory_equal(a.is.group, expected.group, sizeof(expected.group));
		assert_memory_equal(a.outermost, a.is.group, sizeof(a.outermost));
		assert_memory_equal(a.is.self, expected.self, sizeof(expected.self));
		assert_memory_equal(a.is.total, expected.total, sizeof(expected.total));
		assert_in_range(a.most, 2, 7);
		account_free(&a);
	}
}

/* What remains is accounted for as if those that were lost had never been; only what they had of the time is nobody's,
 * or their caller's. */
static void each_moment_where_calls_were_lost(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct accounted a;
		struct expected expected;

		make_calls(seed, 5 + seed);
		work_out(&expected);
		account(&a);
		assert_memory_equal(a.is.group, expected.group, sizeof(expected.group));
		assert_memory_equal(a.is.self, expected.self, sizeof(expected.self));
		assert_memory_equal(a.is.total, expected.total, sizeof(expected.total));
		account_free(&a);
	}
}

/* However much is lost, a thread takes no more memory. */
static void a_flood_of_gaps(void **state)
{
	struct accounted_probe probe = { .group = GROUP_DATA, .opaque = true };
	struct nesting n = { 0 };
	uint64_t self, group[GROUPS] = { 0 };

	for (uint64_t i = 0; i < 10000; i++) {
		struct nested_call call = { 10 * i, 10 * i, 10 * i + 7, 7, 3 };

		assert_int_equal(nesting_add(&n, &probe, &call, &self), 0);
		assert_int_equal(self, 7);
		nesting_gap(&n);
		assert_in_range(n.room, 0, 4 * GB_DEPTH);
	}
	nesting_groups(&n, group);
	assert_int_equal(group[GROUP_DATA], 70000);
	nesting_restart(&n);
	memset(group, 0, sizeof(group));
	nesting_groups(&n, group);
	assert_int_equal(group[GROUP_DATA], 0);
	nesting_free(&n);
}

static void overlapping_calls_have_each_moment_once(void **state)
{
	struct accounted_probe probe = { .group = GROUP_DATA, .opaque = true, .stacked = true };
	struct nested_call calls[] = { { 0, 0, 100, 100, 0 }, { 50, 50, 150, 100, 0 }, { 20, 20, 170, 150, 0 } };
	uint64_t expected[] = { 100, 50, 20 };
	struct inclusive inclusive = { 0 };
	struct nesting n = { 0 };
	uint64_t self, own;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(nesting_add(&n, &probe, &calls[i], &self), 0);
		assert_int_equal(inclusive_add(&inclusive, &n, &calls[i], &own), 0);
		assert_int_equal(self, expected[i]);
		assert_int_equal(own, expected[i]);
	}
	nesting_free(&n);
	inclusive_free(&inclusive);
}

static void which_calls_are_one_event(void **state)
{
	struct event_names names = { 0 };
	const struct event_key keys[] = {
		{ "GET", "mpi", NULL, false }, { "GET", "shmem", NULL, false }, { "GET", "mpi", "MPI_Get", false },
		{ "GET", "mpi", NULL, true },  { "GE", "Tmpi", NULL, false },   { "GET", NULL, NULL, false },
		{ "GET", NULL, "mpi", false }, { "", NULL, NULL, false },
	};
	uint32_t count = sizeof(keys) / sizeof(*keys);

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(event_names_number(&names, &keys[i]), i);
	assert_int_equal(names.count, count);
	event_names_free(&names);
	assert_int_equal(names.count, 0);
	assert_int_equal(event_names_number(&names, &keys[3]), 0);
	event_names_free(&names);
}

/* Each role is of one group; and one of which nothing is said is of those that have no name. */
static void every_role_has_a_group(void **state)
{
	uint64_t all = 0;

	assert_int_equal(group_roles(GROUP_COMPUTE), 0);
	for (int group = 1; group < GROUPS; group++) {
		assert_int_equal(all & group_roles(group), 0);
		all |= group_roles(group);
	}
	assert_int_equal(all, (1ull << ROLES) - 1);
	assert_int_equal(group_of_role(ROLE_NOTIFY), GROUP_BARRIER);
	assert_int_equal(group_of_role(ROLE_TEST), GROUP_WAIT);
	assert_int_equal(group_of_role(ROLE_ATOMIC), GROUP_DATA);
	assert_int_equal(group_of_role(ROLE_INIT), GROUP_OTHER);
	assert_int_equal(roles_that_wait(), 1ull << ROLE_BARRIER | 1ull << ROLE_NOTIFY | 1ull << ROLE_WAIT |
						    1ull << ROLE_ACQUIRE | 1ull << ROLE_COLLECTIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_moment_of_nested_calls),
		cmocka_unit_test(each_moment_where_calls_were_lost),
		cmocka_unit_test(a_flood_of_gaps),
		cmocka_unit_test(overlapping_calls_have_each_moment_once),
		cmocka_unit_test(which_calls_are_one_event),
		cmocka_unit_test(every_role_has_a_group),
	};

	return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
