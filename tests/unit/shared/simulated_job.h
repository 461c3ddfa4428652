/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulated_job.h - for tests of simulations: a job that the test plays itself, so that it knows what belongs together,
 * and what user/simulate has found in its recording.
 *
 * The job is played on one clock, call by call. Its recording is fed as a simulation feeds it, but no thread is ever
 * run, so that all operations are still there in the end.
 */
#ifndef TESTS_SHARED_SIMULATED_JOB_H
#define TESTS_SHARED_SIMULATED_JOB_H

#include "recorded_job.h"
#include "simulate/parts.h"

struct played_job {
	struct definitions d;
	struct span *spans;
	size_t nspans, room;
	uint64_t clock; /* ns */
};

void play_begin(struct played_job *job);
/* Indices in the definitions. */
uint32_t play_process(struct played_job *job, long rank);
uint32_t play_thread(struct played_job *job, uint32_t process);
/* What the process calls a communicator with these members, by their ranks in the job; id 0: it has none. */
void play_comm(struct played_job *job, uint32_t process, uint64_t handle, uint32_t id, const int64_t *ranks,
	       size_t count);

/* The values of a probe; the i-th has slot i. */
struct played_value {
	enum meaning meaning;
	bool at_return;
	enum side side;
};
#define AT_CALL(what)                            \
	{                                        \
		MEANING_##what, false, SIDE_NONE \
	}
#define AT_RETURN(what)                         \
	{                                       \
		MEANING_##what, true, SIDE_NONE \
	}
uint32_t play_probe(struct played_job *job, const char *model, enum role role, const struct played_value *values,
		    size_t count);
/* The clock goes on a little; no two calls begin or end at the same time. */
uint64_t play_tick(struct played_job *job);

/* A call that has begun, with what is known of its values; words not set by the test are unread. */
struct span play_call(struct played_job *job, uint32_t thread, uint32_t probe);
void play_word(struct span *span, unsigned slot, int64_t word);
/* It ends now, for this reason (GB_END_*). */
void play_end(struct played_job *job, struct span *span, uint8_t reason);
void play_free(struct played_job *job);

/*
 * What user/simulate finds in it: `pieces` is the number of chunks of the recording, after each of which all is settled
 * that can be; what began before `from` was not recorded.
 */
struct found_job {
	struct sim sim;
	struct simulation options;
	struct op **ops; /* by thread, then by start */
	size_t nops, room;
};
void find_out(struct found_job *found, struct played_job *job, unsigned pieces, uint64_t from);
/* The thread's operation that began at this time; NULL: there is none. */
struct op *found_op(struct found_job *found, uint32_t thread, uint64_t start);
void found_free(struct found_job *found);

#endif
