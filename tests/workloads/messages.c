/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages as they should not be. On an even number of ranks, with --what 0:
 *
 *   - rank 1 sends --small columns of numbers to rank 0, each in a message of its own (healed: all in one);
 *   - even ranks wait for a message of their neighbour as soon as they have asked for it, and work then (healed: they
 *     work first);
 *
 * and with --what 1:
 *
 *   - all ranks send synchronous messages to rank 0, which is slow to take them (healed: around the ring).
 *
 * --healed 1 does none of it. The job counts whom it sends how much, and takes the time of what is planted.
 */
#include "job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS_MAX 16
#define WORK_US   15000
#define SLOW_US   300
#define HOT_SENDS 8
#define BIG       256 /* doubles */
#define COLUMN    64  /* doubles, each in another row */
#define ROW       4

static struct job job = { .name = "messages", .rounds = 20 };
static struct counts none, *counts = &none;
static long small = 4000, what, healed;
static int rank, ranks;
static double *numbers;
static MPI_Datatype column;
static uint64_t sent[RANKS_MAX], sent_bytes[RANKS_MAX];
static int64_t small_ns, hot_ns, idle_ns;

static void note(int to, uint64_t bytes)
{
	sent[to]++;
	sent_bytes[to] += bytes;
}

/* --- many small messages --------------------------------------------------- */

static void send_numbers(void)
{
	int64_t start = job_now();

	if (healed) {
		MPI_Send(numbers, (int)small, column, 0, 1, MPI_COMM_WORLD);
		note(0, small * COLUMN * sizeof(*numbers));
	}
	for (long i = 0; i < small && !healed; i++) {
		MPI_Send(&numbers[i], 1, column, 0, 1, MPI_COMM_WORLD); /* small */
		note(0, COLUMN * sizeof(*numbers));
	}
	small_ns += job_now() - start;
}

static void take_numbers(void)
{
	if (healed)
		MPI_Recv(numbers, (int)small, column, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (long i = 0; i < small && !healed; i++)
		MPI_Recv(&numbers[i], 1, column, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* --- a target that is named by all ----------------------------------------- */

static void send_hot(int to)
{
	int64_t start = job_now();

	MPI_Ssend(numbers, BIG, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
	hot_ns += job_now() - start;
	note(to, BIG * sizeof(*numbers));
}

static void take_hot(int from)
{
	MPI_Recv(numbers, BIG, MPI_DOUBLE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void hot(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	MPI_Send(numbers, BIG, MPI_DOUBLE, next, 3, MPI_COMM_WORLD);
	note(next, BIG * sizeof(*numbers));
	MPI_Recv(numbers, BIG, MPI_DOUBLE, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < HOT_SENDS && healed; i++) {
		if (rank % 2)
			take_hot(before);
		send_hot(next);
		if (rank % 2 == 0)
			take_hot(before);
	}
	for (int i = 0; i < HOT_SENDS && !healed; i++) {
		if (rank)
			send_hot(0);
		for (int from = 1; from < ranks && !rank; from++) {
			job_sleep_us(SLOW_US);
			take_hot(from);
		}
	}
}

/* --- a wait that overlaps nothing ------------------------------------------- */

static void overlap(void)
{
	MPI_Request request;
	int64_t start;

	if (rank % 2) {
		job_sleep_us(WORK_US);
		MPI_Send(numbers, BIG, MPI_DOUBLE, rank - 1, 4, MPI_COMM_WORLD);
		note(rank - 1, BIG * sizeof(*numbers));
		return;
	}
	MPI_Irecv(numbers, BIG, MPI_DOUBLE, rank + 1, 4, MPI_COMM_WORLD, &request);
	if (healed)
		job_sleep_us(WORK_US);
	start = job_now();
	MPI_Wait(&request, MPI_STATUS_IGNORE); /* idle */
	idle_ns += job_now() - start;
	if (!healed)
		job_sleep_us(WORK_US);
}

static void one_round(void)
{
	if (what) {
		hot();
		return;
	}
	if (rank == 1)
		send_numbers();
	else if (!rank)
		take_numbers();
	overlap();
}

static char *planted(void)
{
	static char text[4096];
	int at = snprintf(text, sizeof(text), ",\n \"small_ns\":%lld,\"hot_ns\":%lld,\"idle_ns\":%lld,\n \"sent\":{",
			  (long long)small_ns, (long long)hot_ns, (long long)idle_ns);

	for (int i = 0, first = 1; i < ranks; i++) {
		if (!sent[i])
			continue;
		at += snprintf(text + at, sizeof(text) - at, "%s\"%d\":[%llu,%llu]", first ? "" : ",", i,
			       (unsigned long long)sent[i], (unsigned long long)sent_bytes[i]);
		first = 0;
	}
	snprintf(text + at, sizeof(text) - at, "}");
	return text;
}

int main(int argc, char **argv)
{
	const struct job_option more[] = { { "--small", &small }, { "--what", &what }, { "--healed", &healed }, { NULL, NULL } };
	long done = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	job.rank = rank;
	job_options(&job, argc, argv, more);
	numbers = calloc(COLUMN * ROW + small + BIG, sizeof(*numbers));
	MPI_Type_vector(COLUMN, 1, ROW, MPI_DOUBLE, &column);
	MPI_Type_create_resized(column, 0, sizeof(*numbers), &column);
	MPI_Type_commit(&column);
	if (!numbers || ranks > RANKS_MAX || ranks % 2 || small < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Barrier(MPI_COMM_WORLD);
	job_begin(&job);
	for (; job_more(&job, done); done++)
		one_round();
	MPI_Barrier(MPI_COMM_WORLD);
	job_finish(&job);
	job.more_truth = planted();
	if (job_truth(&job, done, 0, counts, NULL, 0))
		return 1;
	MPI_Finalize();
	return 0;
}
