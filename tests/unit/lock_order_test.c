/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_order_test.c - who had a lock before, and whether whoever takes it waited for that.
 *
 * Threads are played that take locks and give them back. So the test knows who had each when; user/simulate is told
 * only what the calls say.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/simulated_job.h"

#define THREADS_MOST 8
#define LOCKS 3 /* the last one is for readers: several have it at a time */
#define READERS (LOCKS - 1)
#define TAKES_MOST 3000
#define SEEDS 40
#define NOBODY (-1)

enum { ACQUIRE, TRY, RELEASE, CONDITION, INNER, PUT };

static const struct played_value values[][2] = {
	[ACQUIRE] = { AT_CALL(LOCK) }, [TRY] = { AT_CALL(LOCK), AT_RETURN(DONE) },
	[RELEASE] = { AT_CALL(LOCK) }, [CONDITION] = { AT_CALL(LOCK) },
	[PUT] = { AT_CALL(PEER) },
};
static const struct {
	enum role role;
	size_t nvalues;
} probes[] = {
	[ACQUIRE] = { ROLE_ACQUIRE, 1 }, [TRY] = { ROLE_TRY, 2 }, [RELEASE] = { ROLE_RELEASE, 1 },
	[CONDITION] = { ROLE_WAIT, 1 },  [PUT] = { ROLE_PUT, 1 },
};

/* One time that a thread has a lock. */
struct take {
	uint32_t thread, probe;
	uint64_t start, taken;
	uint64_t given_back; /* 0: never */
	int before;          /* the take before it, of whichever thread; NOBODY: none */
};

struct threads {
	struct played_job job;
	unsigned nthreads, nprocesses;
	bool global; /* a lock is the same one in all processes */
	struct take takes[TAKES_MOST];
	int ntakes;
	struct {
		int owner; /* a thread; NOBODY */
		int last;  /* take; NOBODY */
	} locks[2][LOCKS];
	struct actor {
		int lock;    /* that it wants or has; NOBODY */
		int has;     /* take; NOBODY */
		bool inside; /* of a call that waits for the lock */
		struct span call;
	} actors[THREADS_MOST];
};

static void set_up(struct threads *t, unsigned nprocesses, bool global)
{
	memset(t, 0, sizeof(*t));
	play_begin(&t->job);
	t->nprocesses = nprocesses;
	t->global = global;
	t->nthreads = THREADS_MOST;
	for (unsigned i = 0; i < nprocesses; i++)
		play_process(&t->job, i);
	for (unsigned i = 0; i < t->nthreads; i++) {
		play_thread(&t->job, i % nprocesses);
		t->actors[i].lock = t->actors[i].has = NOBODY;
	}
	for (unsigned p = 0; p < 2; p++)
		for (unsigned i = 0; i < LOCKS; i++)
			t->locks[p][i].owner = t->locks[p][i].last = NOBODY;
	/* Of a model that moves data between processes locks are those of all. */
	for (uint32_t i = 0; i < (global ? PUT + 1 : PUT); i++)
		play_probe(&t->job, "x", probes[i].role, values[i], probes[i].nvalues);
}

static unsigned place_of(const struct threads *t, uint32_t thread)
{
	return t->global ? 0 : thread % t->nprocesses;
}

static void begin(struct threads *t, uint32_t thread, uint32_t probe, int lock)
{
	struct actor *actor = &t->actors[thread];

	actor->call = play_call(&t->job, thread, probe);
	actor->lock = lock;
	play_word(&actor->call, 0, 0x9000 + 64 * lock);
}

/* It has the lock at the end of its call. */
static void take_lock(struct threads *t, uint32_t thread)
{
	struct actor *actor = &t->actors[thread];
	struct take *take = &t->takes[t->ntakes];
	int *last = &t->locks[place_of(t, thread)][actor->lock].last;

	assert_true(t->ntakes < TAKES_MOST);
	t->locks[place_of(t, thread)][actor->lock].owner = (int)thread;
	play_end(&t->job, &actor->call, GB_END_RETURN);
	*take = (struct take){ .thread = thread,
			       .probe = actor->call.probe,
			       .start = actor->call.start,
			       .taken = actor->call.end,
			       .before = *last };
	*last = actor->has = t->ntakes++;
	actor->inside = false;
}

static bool is_free(const struct threads *t, uint32_t thread, int lock)
{
	return lock == READERS || t->locks[place_of(t, thread)][lock].owner == NOBODY;
}

static void give_back(struct threads *t, uint32_t thread, uint32_t probe)
{
	struct actor *actor = &t->actors[thread];

	begin(t, thread, probe, actor->lock);
	t->takes[actor->has].given_back = actor->call.start;
	actor->has = NOBODY;
	t->locks[place_of(t, thread)][actor->lock].owner = NOBODY;
}

/* With a call inside that has ended, one that waits is known before its own end. */
static void call_inside(struct threads *t, uint32_t thread)
{
	struct span call = play_call(&t->job, thread, INNER);

	call.depth = 1;
	play_end(&t->job, &call, GB_END_RETURN);
}

static void step(struct threads *t)
{
	uint32_t thread = (uint32_t)below(t->nthreads);
	struct actor *actor = &t->actors[thread];
	int lock = (int)below(LOCKS);

	if (actor->inside) {
		if (is_free(t, thread, actor->lock))
			take_lock(t, thread);
		else if (!below(4))
			call_inside(t, thread);
	} else if (actor->has != NOBODY) {
		/* A wait for a condition gives the lock back meanwhile. */
		bool waits = actor->lock != READERS && !below(4);

		give_back(t, thread, waits ? CONDITION : RELEASE);
		actor->inside = waits;
		if (!waits)
			play_end(&t->job, &actor->call, GB_END_RETURN);
	} else if (below(3)) {
		begin(t, thread, ACQUIRE, lock);
		actor->inside = true;
	} else {
		begin(t, thread, TRY, lock);
		play_word(&actor->call, 1, is_free(t, thread, lock));
		if (is_free(t, thread, lock))
			take_lock(t, thread);
		else
			play_end(&t->job, &actor->call, GB_END_RETURN);
	}
}

/* --- what is found ---------------------------------------------------------- */

static void check_order(const struct threads *t, struct found_job *found, const struct take *take)
{
	const struct op *op = found_op(found, take->thread, take->start);
	const struct take *before = take->before == NOBODY ? NULL : &t->takes[take->before];

	assert_non_null(op);
	if (take->probe == CONDITION)
		return; /* its hold is the one that it gave back */
	assert_non_null(op->hold);
	assert_int_equal(op->hold->taken, take->taken);
	assert_int_equal(op->hold->release, take->given_back);
	if (!before || before->thread == take->thread) {
		assert_null(op->hold->previous);
		return;
	}
	assert_non_null(op->hold->previous);
	assert_int_equal(op->hold->previous->thread, before->thread);
	assert_int_equal(op->hold->previous->taken, before->taken);
	assert_int_equal(op->hold->previous->release, before->given_back);
}

/* It waits for whoever had the lock before, if that one gave it back before it was taken. */
static void check_wait(const struct threads *t, struct found_job *found, const struct take *take)
{
	struct op *op = found_op(found, take->thread, take->start);
	const struct take *before = take->before == NOBODY ? NULL : &t->takes[take->before];

	if (take->probe == CONDITION)
		return;
	if (before && before->thread != take->thread && before->given_back && before->given_back < take->taken) {
		assert_false(lock_is_ready(&found->sim, op));
		assert_ptr_equal(op->hold->previous->next_op, op);
		op->hold->previous->released = true;
	}
	assert_true(lock_is_ready(&found->sim, op));
}

static void check_tries(const struct threads *t, struct found_job *found)
{
	for (size_t i = 0; i < t->job.nspans; i++) {
		const struct span *span = &t->job.spans[i];

		if (span->probe == TRY && !span->words[1])
			assert_null(found_op(found, span->thread, span->start)->hold);
	}
}

static void play(uint64_t seed, unsigned nprocesses, bool global)
{
	struct threads *t = malloc(sizeof(*t));
	struct found_job found;

	assert_non_null(t);
	random_state = 0x9e3779b97f4a7c15u * seed;
	set_up(t, nprocesses, global);
	for (unsigned i = 0; i < 100 * seed; i++)
		step(t);
	for (unsigned i = 0; i < t->nthreads; i++)
		if (t->actors[i].inside)
			play_end(&t->job, &t->actors[i].call, GB_END_DETACH);
	find_out(&found, &t->job, 1 + (unsigned)below(20), 0);
	for (int i = 0; i < t->ntakes; i++)
		check_order(t, &found, &t->takes[i]);
	check_tries(t, &found);
	for (int i = 0; i < t->ntakes; i++)
		check_wait(t, &found, &t->takes[i]);
	found_free(&found);
	play_free(&t->job);
	free(t);
}

static void test_who_had_the_lock_before(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		play(seed, 1, false);
}

static void test_a_lock_is_one_of_its_process(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		play(seed, 2, false);
}

static void test_a_lock_of_a_global_address_space_is_one_in_all_processes(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		play(seed, 2, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_had_the_lock_before),
		cmocka_unit_test(test_a_lock_is_one_of_its_process),
		cmocka_unit_test(test_a_lock_of_a_global_address_space_is_one_in_all_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
