/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One rank is late where transfers are one-sided: --who posts late (1), completes late (2), has the lock of rank 0's
 * memory for long (3), comes late to a fence (4), by --us in each round; 0 is the healed twin. --pattern: which of
 * them; without it the first three. Its partner, the next rank, is the one that waits. The truth has when each of them
 * came to the calls, by one clock.
 */
#include "job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MAX 200
#define TEXT_SIZE (ROUNDS_MAX * 250)

enum moment { BEGAN, POSTED, WAITED, TRANSFERRED, COMPLETED, LOCKS, UNLOCKS, HAD, LEFT, MOMENTS };

static const char *const names[MOMENTS] = { "began", "posted",  "waited", "transferred", "completed",
					    "locks", "unlocks", "had",    "left" };
static struct job job = { .name = "pathology_one_sided", .rounds = 20 };
static long who = 1, us = 4000, base = 500;
static int rank, size, partner, memory[8], value = 1, line_post, line_complete, line_unlock, line_fence;
static long pattern;
static int64_t at[MOMENTS][ROUNDS_MAX];
static MPI_Win window;
static MPI_Group alone;

static void access_it(int target)
{
	MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, window);
}

static void late_post(long round)
{
	if (rank == who) {
		job_sleep_us(base + us);
		at[POSTED][round] = job_now();
		line_post = __LINE__ + 1;
		MPI_Win_post(alone, 0, window);
		MPI_Win_wait(window);
	} else if (rank == partner) {
		job_sleep_us(base);
		MPI_Win_start(alone, 0, window);
		access_it(who);
		at[BEGAN][round] = job_now(); /* the calls before do not wait here */
		MPI_Win_complete(window);
	} else {
		job_sleep_us(base);
	}
}

static void late_complete(long round)
{
	if (rank == who) {
		MPI_Win_start(alone, 0, window);
		access_it(partner);
		at[TRANSFERRED][round] = job_now();
		job_sleep_us(base + us);
		at[COMPLETED][round] = job_now();
		line_complete = __LINE__ + 1;
		MPI_Win_complete(window);
	} else if (rank == partner) {
		MPI_Win_post(alone, 0, window);
		job_sleep_us(base);
		at[WAITED][round] = job_now();
		MPI_Win_wait(window);
	} else {
		job_sleep_us(base);
	}
}

static void held_lock(long round)
{
	if (rank == who) {
		if (!us)
			job_sleep_us(base);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
		access_it(0);
		MPI_Win_flush(0, window);
		if (us)
			job_sleep_us(base + us);
		at[UNLOCKS][round] = job_now();
		line_unlock = __LINE__ + 1;
		MPI_Win_unlock(0, window);
	} else if (rank == partner) {
		job_sleep_us(base);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
		access_it(0);
		at[LOCKS][round] = job_now();
		MPI_Win_unlock(0, window);
		at[HAD][round] = job_now();
	} else {
		job_sleep_us(base);
	}
}

static void late_to_fence(void)
{
	access_it(partner);
	job_sleep_us(rank == who ? base + us : base);
	line_fence = __LINE__ + 1;
	MPI_Win_fence(0, window);
}

static void one_round(long round)
{
	if (!pattern || pattern == 1) {
		late_post(round);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (!pattern || pattern == 2) {
		late_complete(round);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (!pattern || pattern == 3) {
		held_lock(round);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (pattern == 4)
		late_to_fence();
	at[LEFT][round] = job_now();
}

static char *put_times(char *text, const char *name, const int64_t *times, long count)
{
	text += sprintf(text, ",\n \"%s\":[", name);
	for (long i = 0; i < count; i++)
		text += sprintf(text, "%s%lld", i ? "," : "", (long long)times[i]);
	return text + sprintf(text, "]");
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = {
		{ "--who", &who }, { "--us", &us }, { "--base", &base }, { "--pattern", &pattern }, { NULL, NULL }
	};
	static char text[TEXT_SIZE];
	struct counts counts = { 0 };
	MPI_Group all;
	char *end = text;
	int other;

	job_options(&job, argc, argv, options);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	partner = (who + 1) % size;
	if (size < 3 || who < 1 || who >= size - 1 || job.rounds > ROUNDS_MAX) {
		fprintf(stderr, "pathology_one_sided: needs 3 ranks, --who neither the first nor the last\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	other = rank == who ? partner : who;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &other, &alone);
	MPI_Win_create(memory, sizeof(memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	job.rank = rank;
	if (pattern == 4)
		MPI_Win_fence(0, window);
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++)
		one_round(i);
	job_finish(&job);
	for (int i = 0; i < MOMENTS; i++)
		end = put_times(end, names[i], at[i], job.rounds);
	sprintf(end, ",\n \"lines\":[%d,%d,%d,%d]", line_post, line_complete, line_unlock, line_fence);
	job.more_truth = text;
	job_truth(&job, job.rounds, 0, &counts, NULL, 0);
	MPI_Win_free(&window);
	MPI_Finalize();
	return 0;
}
