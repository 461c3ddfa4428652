/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collectives_test.c - which calls are one collective operation.
 *
 * Threads are played that go through one program: each of its steps is an operation of some of them, and nobody leaves
 * before all have come. So the test knows which calls belong together; user/simulate is told only what the calls say.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/simulated_job.h"

#define THREADS_MOST 12
#define STEPS_MOST 400
#define SEEDS 40

enum { BARRIER, ALL_REDUCE, BROADCAST, BEGUN, WAIT };
enum { GROUP, ROOT, REQUEST };

/* One operation: who takes part in it. */
struct step {
	uint32_t probe;
	unsigned team;
	int root; /* index in the team; -1: none */
	unsigned entered;
};

/* What calls say of the operation's group, and who is in it. */
struct team {
	uint32_t threads[THREADS_MOST];
	unsigned count;
	uint64_t handle[THREADS_MOST];
};

struct stage {
	struct played_job job;
	unsigned nthreads;
	struct team teams[4];
	unsigned nteams;
	struct step steps[STEPS_MOST];
	unsigned nsteps;
	struct actor {
		unsigned at; /* step */
		bool inside, waits;
		struct span call;
	} actors[THREADS_MOST];
	struct {
		uint64_t start; /* 0: no call of it */
		bool alone;     /* its end was not seen */
	} calls[STEPS_MOST][THREADS_MOST];
	unsigned alone_of_100;
	bool waits_have_calls; /* what is begun is waited for by a call */
};

static int seat_of(const struct team *team, uint32_t thread)
{
	for (unsigned i = 0; i < team->count; i++)
		if (team->threads[i] == thread)
			return (int)i;
	return -1;
}

static void write_program(struct stage *s, unsigned nsteps, unsigned probes)
{
	s->nsteps = nsteps;
	for (unsigned i = 0; i < nsteps; i++) {
		struct step *step = &s->steps[i];

		*step = (struct step){ .probe = (uint32_t)below(probes), .team = (unsigned)below(s->nteams) };
		step->root = step->probe == BROADCAST ? (int)below(s->teams[step->team].count) : -1;
	}
}

static bool is_over(const struct stage *s, unsigned step)
{
	return s->steps[step].entered == s->teams[s->steps[step].team].count;
}

/* Goes on to the next step that this thread takes part in; false: it is through. */
static bool next_step(struct stage *s, uint32_t thread)
{
	unsigned *at = &s->actors[thread].at;

	while (*at < s->nsteps && seat_of(&s->teams[s->steps[*at].team], thread) < 0)
		++*at;
	return *at < s->nsteps;
}

static void enter(struct stage *s, uint32_t thread)
{
	struct actor *actor = &s->actors[thread];
	struct step *step = &s->steps[actor->at];
	const struct team *team = &s->teams[step->team];

	actor->call = play_call(&s->job, thread, step->probe);
	actor->inside = true;
	s->calls[actor->at][thread].start = actor->call.start;
	if (actor->call.nwords)
		play_word(&actor->call, GROUP, (int64_t)team->handle[seat_of(team, thread)]);
	if (step->root >= 0)
		play_word(&actor->call, ROOT, step->root);
	step->entered++;
	if (step->probe == BEGUN && s->waits_have_calls) {
		play_word(&actor->call, REQUEST, 77);
		play_end(&s->job, &actor->call, GB_END_RETURN);
		actor->call = play_call(&s->job, thread, WAIT);
		play_word(&actor->call, 0, 77);
		actor->waits = true;
	}
}

static void leave(struct stage *s, uint32_t thread)
{
	struct actor *actor = &s->actors[thread];
	bool alone = !actor->waits && below(100) < s->alone_of_100;

	s->calls[actor->at][thread].alone = alone;
	play_end(&s->job, &actor->call, alone ? GB_END_ALONE : GB_END_RETURN);
	actor->at++;
	actor->inside = actor->waits = false;
}

static void play(struct stage *s)
{
	bool going = true;

	while (going) {
		going = false;
		for (unsigned i = 0; i < s->nthreads; i++)
			going |= s->actors[i].inside || next_step(s, i);

		uint32_t thread = (uint32_t)below(s->nthreads);
		struct actor *actor = &s->actors[thread];

		if (!actor->inside && next_step(s, thread))
			enter(s, thread);
		else if (actor->inside && is_over(s, actor->at))
			leave(s, thread);
	}
}

/* --- what is found ---------------------------------------------------------- */

/* Are all calls of it in the recording? */
static bool is_whole(const struct stage *s, unsigned step, uint64_t from)
{
	const struct team *team = &s->teams[s->steps[step].team];

	for (unsigned i = 0; i < team->count; i++)
		if (s->calls[step][team->threads[i]].start < from)
			return false;
	return true;
}

static void check_step(struct stage *s, struct found_job *found, unsigned at, uint64_t from)
{
	const struct team *team = &s->teams[s->steps[at].team];
	struct instance *instance = NULL;
	unsigned seen = 0;

	for (unsigned i = 0; i < team->count; i++) {
		uint32_t thread = team->threads[i];
		uint64_t start = s->calls[at][thread].start;
		struct op *op = found_op(found, thread, start);

		if (start < from || s->calls[at][thread].alone)
			continue;
		assert_non_null(op);
		if (!is_whole(s, at, from)) {
			assert_null(op->instance);
			continue;
		}
		assert_non_null(op->instance);
		assert_true(!instance || instance == op->instance);
		instance = op->instance;
		assert_int_equal(instance->members[op->member].thread, thread);
		assert_int_equal(instance->members[op->member].start, start);
		if (s->steps[at].root == (int)i && instance->root >= 0)
			assert_int_equal(instance->root, op->member);
		seen++;
	}
	if (!instance)
		return;
	assert_int_equal(instance->fed, seen);
	assert_int_equal(instance->expected, seen);
	assert_true(s->steps[at].root < 0 || instance->root >= 0);
}

/* Each wait is for what its thread has begun. */
static void check_waits(struct stage *s, struct found_job *found)
{
	for (size_t i = 0; i < s->job.nspans; i++) {
		const struct span *span = &s->job.spans[i], *begun = span;
		const struct op *op = found_op(found, span->thread, span->start), *of;

		if (span->probe != WAIT || !op)
			continue;
		while (begun->thread != span->thread || begun->probe != BEGUN)
			begun--;
		of = found_op(found, begun->thread, begun->start);
		if (!of || !of->instance)
			continue;
		assert_int_equal(op->ninstances, 1);
		assert_ptr_equal(op->instances[0], of->instance);
	}
}

static void compare(struct stage *s, unsigned pieces, uint64_t from)
{
	struct found_job found;

	find_out(&found, &s->job, pieces, from);
	for (unsigned i = 0; i < s->nsteps; i++)
		check_step(s, &found, i, from);
	if (s->waits_have_calls)
		check_waits(s, &found);
	found_free(&found);
}

/* --- communicators ------------------------------------------------------------ */

static void add_comm(struct stage *s, unsigned ranks, uint32_t id, int first, int stride, bool told)
{
	struct team *team = &s->teams[s->nteams++];
	int64_t members[THREADS_MOST];

	team->count = 0;
	for (int rank = first; rank >= 0 && rank < (int)ranks; rank += stride) {
		members[team->count] = rank;
		team->threads[team->count++] = (uint32_t)rank; /* each rank is one thread */
	}
	for (unsigned i = 0; i < team->count; i++) {
		team->handle[i] = 0x7000 + 0x100 * team->threads[i] + s->nteams;
		if (told)
			play_comm(&s->job, team->threads[i], team->handle[i], id, members, team->count);
		else
			team->handle[i] = id; /* the handle itself is the number */
	}
}

/* All, all backwards, and the two halves of a split, which have one number. */
static struct stage *open_ranks(unsigned ranks)
{
	static const struct played_value values[][3] = { { AT_CALL(COMM) },
							 { AT_CALL(COMM), AT_CALL(ROOT) },
							 { AT_CALL(COMM), AT_CALL(PLAIN), AT_RETURN(REQUEST) },
							 { AT_CALL(REQUEST) } };
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	play_begin(&s->job);
	s->nthreads = ranks;
	s->waits_have_calls = true;
	for (unsigned rank = 0; rank < ranks; rank++)
		play_thread(&s->job, play_process(&s->job, rank));
	add_comm(s, ranks, 3, 0, 1, true);
	add_comm(s, ranks, 4, (int)ranks - 1, -1, true);
	add_comm(s, ranks, 5, 0, 2, true);
	add_comm(s, ranks, 5, 1, 2, true);
	play_probe(&s->job, "mpi", ROLE_BARRIER, values[0], 1);
	play_probe(&s->job, "mpi", ROLE_COLLECTIVE, values[0], 1);
	play_probe(&s->job, "mpi", ROLE_COLLECTIVE, values[1], 2);
	play_probe(&s->job, "mpi", ROLE_COLLECTIVE, values[2], 3);
	play_probe(&s->job, "mpi", ROLE_WAIT, values[3], 1);
	return s;
}

static void stage_free(struct stage *s)
{
	play_free(&s->job);
	free(s);
}

static void seed_with(uint64_t seed)
{
	random_state = 0x9e3779b97f4a7c15u * seed;
}

static void test_the_calls_of_a_communicator_in_their_order(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		seed_with(seed);
		struct stage *s = open_ranks(3 + (unsigned)below(6));

		write_program(s, 10 * (unsigned)seed, WAIT);
		play(s);
		compare(s, 1, 0);
		compare(s, 2 + (unsigned)below(20), 0);
		stage_free(s);
	}
}

static void test_one_whose_end_was_not_seen_is_missed_in_that_operation_alone(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		seed_with(seed);
		struct stage *s = open_ranks(3 + (unsigned)below(6));

		s->alone_of_100 = 5;
		write_program(s, 10 * (unsigned)seed, BEGUN);
		play(s);
		compare(s, 1, 0);
		compare(s, 2 + (unsigned)below(20), 0);
		stage_free(s);
	}
}

/* Some had already left the operation in which others still were. */
static void test_who_is_joined_begins_with_the_first_that_all_have(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		seed_with(seed);
		struct stage *s = open_ranks(3 + (unsigned)below(6));

		/* Where all are of one function only their times can tell. */
		write_program(s, STEPS_MOST, seed % 2 ? 1 : BROADCAST);
		play(s);
		compare(s, 1 + (unsigned)below(10), s->job.d.run.start + below(s->job.clock - s->job.d.run.start) / 2);
		stage_free(s);
	}
}

/* --- threads ------------------------------------------------------------------- */

/* Processes whose threads meet at barriers that have an address each, the same in all processes; or none. */
static struct stage *open_threads(unsigned processes, unsigned threads, bool named)
{
	static const struct played_value barrier = AT_CALL(BARRIER);
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	play_begin(&s->job);
	for (unsigned p = 0; p < processes; p++) {
		struct team *all = &s->teams[s->nteams++], *some = named ? &s->teams[s->nteams++] : NULL;

		play_process(&s->job, -1);
		for (unsigned t = 0; t < threads; t++) {
			uint32_t thread = play_thread(&s->job, p);

			all->handle[all->count] = 0x5000;
			all->threads[all->count++] = thread;
			if (!some || t % 2)
				continue;
			some->handle[some->count] = 0x6000;
			some->threads[some->count++] = thread;
		}
	}
	s->nthreads = processes * threads;
	play_probe(&s->job, named ? "pthread" : "openmp", ROLE_BARRIER, &barrier, named);
	return s;
}

static void test_a_barrier_is_of_the_threads_of_its_process(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		seed_with(seed);
		struct stage *s = open_threads(2, 3 + (unsigned)below(4), seed % 2);

		write_program(s, 10 + 8 * (unsigned)seed, 1);
		play(s);
		compare(s, 1 + (unsigned)below(10), 0);
		stage_free(s);
	}
}

/* A barrier that names nothing is of all processes, where each has one thread in it. */
static void test_a_barrier_without_a_name_is_of_all_ranks(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		seed_with(seed);
		struct stage *s = calloc(1, sizeof(*s));

		assert_non_null(s);
		play_begin(&s->job);
		s->nthreads = s->teams[0].count = 2 + (unsigned)below(6);
		s->nteams = 1;
		for (unsigned i = 0; i < s->nthreads; i++)
			s->teams[0].threads[i] = play_thread(&s->job, play_process(&s->job, i));
		play_probe(&s->job, "shmem", ROLE_BARRIER, NULL, 0);
		write_program(s, 10 + 8 * (unsigned)seed, 1);
		play(s);
		compare(s, 1 + (unsigned)below(10), 0);
		stage_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_calls_of_a_communicator_in_their_order),
		cmocka_unit_test(test_one_whose_end_was_not_seen_is_missed_in_that_operation_alone),
		cmocka_unit_test(test_who_is_joined_begins_with_the_first_that_all_have),
		cmocka_unit_test(test_a_barrier_is_of_the_threads_of_its_process),
		cmocka_unit_test(test_a_barrier_without_a_name_is_of_all_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
