/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is behind the ranks of a communicator: read from memory that looks like a library's, and from memory that does
 * not; kept as runs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/communicator.h"
#include "recording/communicators.h"
#include "recording/definitions.h"

/* As the layout below has it. */
struct process {
	uint64_t nothing[2];
	uint16_t step, job;
	uint32_t rank;
	uint8_t more[64];
};
struct group {
	int32_t count;
	uint64_t *entries;
};
struct comm {
	uint32_t id;
	int32_t rank;
	struct group *mine, *theirs;
	char name[64];
};

static const char model_text[] =
	"model m\nlibrary lib.so\n"
	"layout lib.so\n"
	"	type COMM = ptr\n"
	"	COMM.id = +0 u32\n	COMM.rank = +4 s32\n	COMM.name = +24 str\n"
	"	COMM.size = +16 ptr +0 s32\n	COMM.members = +16 ptr +8 ptr\n	COMM.own_members = +8 ptr +8 ptr\n"
	"	COMM.member = +20 u32\n	COMM.job = +18 u16\n	COMM.step = +16 u16\n"
	"	COMM.far = bits 32..63 if bits 0..0 == 1\n	COMM.far_job = bits 16..31\n	COMM.far_step = bits "
	"1..15\n"
	"	COMM.world = 0x44000000\n"
	"F function void f(COMM c @comm)\n";

/* Everything that may be read: a few stretches of this test's own memory. */
struct readable {
	const void *start[8];
	size_t size[8];
	unsigned count;
	unsigned reads, changes_at; /* the id changes before this read; 0: never */
	struct comm *changing;
};

static bool read_own(void *context, const struct memory_piece *pieces, size_t count)
{
	struct readable *r = context;

	if (++r->reads == r->changes_at)
		r->changing->id++;
	for (size_t i = 0; i < count; i++) {
		bool found = false;

		for (unsigned k = 0; k < r->count && !found; k++) {
			uint64_t start = (uintptr_t)r->start[k];

			found = pieces[i].address >= start && pieces[i].size <= r->size[k] &&
				pieces[i].address - start <= r->size[k] - pieces[i].size;
		}
		if (!found)
			return false;
		memcpy(pieces[i].bytes, (void *)(uintptr_t)pieces[i].address, pieces[i].size);
	}
	return true;
}

struct fixture {
	struct model_set *set;
	const struct model *model;
	struct process processes[3];
	uint64_t entries[3];
	struct group group;
	struct comm comm;
	struct readable readable;
	struct memory memory;
};

/* A communicator of the world's ranks 4, 2 and 0, of which the caller is rank 1. */
static int prepare(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->set = models_new();
	assert_int_equal(models_add_text(f->set, "test", model_text, strlen(model_text)), 0);
	f->model = models_at(f->set, 0);
	for (unsigned i = 0; i < 3; i++) {
		f->processes[i] = (struct process){ .step = 1, .job = 77, .rank = 4 - 2 * i };
		f->entries[i] = (uintptr_t)&f->processes[i];
	}
	f->group = (struct group){ 3, f->entries };
	f->comm = (struct comm){ .id = 9, .rank = 1, .mine = &f->group, .theirs = &f->group, .name = "three" };
	f->readable = (struct readable){ .start = { f }, .size = { sizeof(*f) }, .count = 1, .changing = &f->comm };
	f->memory = (struct memory){ read_own, &f->readable };
	*state = f;
	return 0;
}

static int clear(void **state)
{
	models_free(((struct fixture *)*state)->set);
	free(*state);
	return 0;
}

static int members_of(struct fixture *f, struct members *members)
{
	return model_members(f->model, "lib.so", (uintptr_t)&f->comm, 2, &f->memory, members);
}

static void unknown(struct fixture *f)
{
	struct members members;

	assert_int_equal(members_of(f, &members), -ENODATA);
	assert_null(members.ranks);
}

static void members_are_read(void **state)
{
	struct fixture *f = *state;
	struct members members;

	assert_true(model_has_members(f->model, "lib.so"));
	assert_false(model_has_members(f->model, "other.so"));
	assert_int_equal(members_of(f, &members), 0);
	assert_true(members.has_id);
	assert_int_equal(members.id, 9);
	assert_string_equal(members.name, "three");
	assert_int_equal(members.count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(members.ranks[i], 4 - 2 * i);
	free(members.ranks);
	assert_int_equal(model_members(f->model, "lib.so", 0x44000000, 2, &f->memory, &members), 0);
	assert_true(members.world);
}

/* Entries that are ranks, of 4 bytes; a handle that says by its address that it is the whole job. */
static void narrow_entries_and_handles_that_tell(void **state)
{
	static const char text[] = "model m\nlibrary lib.so\nlayout lib.so\n	type TEAM = ptr\n"
				   "	TEAM.rank = +0 s32\n	TEAM.size = +4 s32\n	TEAM.members = +8 ptr\n"
				   "	TEAM.own_members = +8 ptr\n	TEAM.entry = 4\n	TEAM.far = bits 0..31\n"
				   "	TEAM.whole = bits 0..6 if bits 0..6 == 0\n"
				   "F function void f(TEAM t @comm)\n";
	struct {
		_Alignas(128) int32_t rank;
		int32_t size;
		uint32_t *entries;
		_Alignas(64) char between[64];
		int32_t own_rank;
		int32_t own_size;
		uint32_t *own_entries;
		uint32_t ranks[600];
	} job = { .rank = 2, .size = 700, .own_rank = 1, .own_size = 600 };
	struct readable readable = { .start = { &job }, .size = { sizeof(job) }, .count = 1 };
	struct memory memory = { read_own, &readable };
	struct model_set *set = models_new();
	struct members members;
	uint64_t part = (uintptr_t)&job.own_rank;

	(void)state;
	assert_int_equal(models_add_text(set, "test", text, strlen(text)), 0);
	for (unsigned i = 0; i < 600; i++)
		job.ranks[i] = 601 - i;
	job.ranks[1] = 2;
	job.own_entries = job.ranks;
	assert_int_equal(model_members(models_at(set, 0), "lib.so", part, 2, &memory, &members), 0);
	assert_false(members.world);
	assert_int_equal(members.count, 600);
	for (unsigned i = 0; i < 600; i++)
		assert_int_equal(members.ranks[i], job.ranks[i]);
	free(members.ranks);
	assert_int_equal(model_members(models_at(set, 0), "lib.so", part, 3, &memory, &members), -ENODATA);
	assert_int_equal(model_members(models_at(set, 0), "lib.so", (uintptr_t)&job, 2, &memory, &members), 0);
	assert_true(members.world);
	/* not the caller's own rank: it is something else */
	assert_int_equal(model_members(models_at(set, 0), "lib.so", (uintptr_t)&job, 1, &memory, &members), -ENODATA);
	models_free(set);
}

static void entries_that_say_it_all_and_members_of_other_jobs(void **state)
{
	struct fixture *f = *state;
	struct members members;

	f->entries[0] = UINT64_C(123456) << 32 | 77 << 16 | 1 << 1 | 1;
	f->processes[2].job = 78;
	assert_int_equal(members_of(f, &members), 0);
	assert_int_equal(members.ranks[0], 123456);
	assert_int_equal(members.ranks[1], 2);
	assert_int_equal(members.ranks[2], -1);
	free(members.ranks);
}

static void what_does_not_fit_together_is_unknown(void **state)
{
	struct fixture *f = *state;
	const struct fixture good = *f;

	f->processes[1].rank = 3; /* the caller is not itself */
	unknown(f);
	*f = good;
	f->comm.rank = 5;
	unknown(f);
	*f = good;
	f->group.count = 1 << 30;
	unknown(f);
	f->group.count = -1;
	unknown(f);
	f->group.count = 0;
	unknown(f);
	*f = good;
	f->comm.theirs = (void *)8;
	unknown(f);
	*f = good;
	f->entries[2] = 4096;
	unknown(f);
	*f = good;
	f->readable.count = 0;
	unknown(f);
	*f = good;
	f->readable.changes_at = 8; /* another one is made there meanwhile */
	unknown(f);
}

/* Whatever stands there, no more is read than what may be, and nothing is lost. */
static void any_memory_does_no_harm(void **state)
{
	struct fixture *f = *state;
	const struct fixture good = *f;
	uint64_t random = 1;

	for (unsigned round = 0; round < 20000; round++) {
		struct members members;
		size_t at = offsetof(struct fixture, processes);

		*f = good;
		for (unsigned i = 0; i < 3; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			((uint8_t *)f)[at + (random >> 33) % (offsetof(struct fixture, readable) - at)] =
				(uint8_t)(random >> 56);
		}
		if (!members_of(f, &members))
			assert_in_range(members.count, 1, 1 << 22);
		free(members.ranks);
	}
}

static void runs(void **state)
{
	const int64_t ranks[] = { 7, 5, 3, -1, -1, 8, 8, 8, 2 };
	struct def_comm comm = { .process = 0 }, again = { .process = 0 };
	struct buffer bytes = { .data = NULL };
	struct cursor cursor;

	assert_int_equal(comm_set_members(&comm, ranks, 9), 0);
	assert_in_range(comm.nruns, 3, 6);
	for (int i = 0; i < 9; i++)
		assert_int_equal(comm_world_rank(&comm, i), ranks[i]);
	assert_int_equal(comm_world_rank(&comm, 9), -1);
	assert_int_equal(comm_world_rank(&comm, -1), -1);

	runs_put(&bytes, 8, &comm);
	cursor = (struct cursor){ bytes.data + 2, bytes.data + bytes.size, false };
	assert_null(runs_take(&cursor, &again));
	assert_int_equal(again.nruns, comm.nruns);
	assert_memory_equal(again.runs, comm.runs, comm.nruns * sizeof(*comm.runs));
	runs_free(&again);
	for (size_t cut = 1; cut < 4; cut++) {
		cursor = (struct cursor){ bytes.data + 2, bytes.data + 2 + cut, false };
		assert_true(cut == 3 || runs_take(&cursor, &again));
		runs_free(&again);
	}
	buffer_free(&bytes);

	assert_int_equal(comm_set_world(&comm), 0);
	assert_int_equal(comm_world_rank(&comm, 100000), 100000);
	runs_free(&comm);
}

static void the_latest_before_a_call_counts(void **state)
{
	struct def_comm comms[] = {
		{ .process = 1, .handle = 5, .since = 200, .size = 3 },
		{ .process = 1, .handle = 5, .since = 0, .size = 1 },
		{ .process = 1, .handle = 5, .since = 100, .size = 2 },
		{ .process = 2, .handle = 5, .since = 50, .size = 4 },
	};
	struct definitions d = { .comms = comms, .ncomms = 4 };
	struct comm_index *index = comm_index_new(&d);

	assert_non_null(index);
	assert_int_equal(comm_find(index, 1, 5, 99)->size, 1);
	assert_int_equal(comm_find(index, 1, 5, 100)->size, 2);
	assert_int_equal(comm_find(index, 1, 5, 5000)->size, 3);
	assert_null(comm_find(index, 2, 5, 49));
	assert_int_equal(comm_find(index, 2, 5, 51)->size, 4);
	assert_null(comm_find(index, 1, 6, 51));
	assert_null(comm_find(index, 0, 5, 51));
	comm_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(members_are_read, prepare, clear),
		cmocka_unit_test(narrow_entries_and_handles_that_tell),
		cmocka_unit_test_setup_teardown(entries_that_say_it_all_and_members_of_other_jobs, prepare, clear),
		cmocka_unit_test_setup_teardown(what_does_not_fit_together_is_unknown, prepare, clear),
		cmocka_unit_test_setup_teardown(any_memory_does_no_harm, prepare, clear),
		cmocka_unit_test(runs),
		cmocka_unit_test(the_latest_before_a_call_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
