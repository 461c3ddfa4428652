/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One rank comes late: who, by how much, in which rounds and for what kind of call is told by options; --us 0 is the
 * healed twin. The truth has when each rank came to the call and left it, round by round, by one clock.
 */
#include "job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 1000
#define TEXT_SIZE (ROUNDS_MAX * 70)

enum pattern { BARRIER, ALLREDUCE, LATE_SENDER, LATE_RECEIVER, BROADCAST, REDUCE, CHAIN, WAITALL };

static struct job job = { .name = "pathology_mpi", .rounds = 30 };
static long pattern, who = 1, us = 3000, base = 500, from_round, to_round = ROUNDS_MAX, every = 1;
static int rank, size, value, sum;
static int64_t came[ROUNDS_MAX], left_at[ROUNDS_MAX], planted[ROUNDS_MAX];
static int line;

static __attribute__((noinline)) void common_work(void)
{
	job_sleep_us(base);
}

static __attribute__((noinline)) void planted_work(void)
{
	job_sleep_us(us);
}

/* The first call that comes late, and the line where it stands. */
#define CALL(call)               \
	do {                     \
		line = __LINE__; \
		call;            \
	} while (0)

static void pass_along_the_chain(void)
{
	int before = (rank + size - 1) % size, next = (rank + 1) % size;

	if (rank != who)
		CALL(MPI_Recv(&value, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	if (next != who)
		MPI_Send(&value, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
}

static void exchange_with_neighbours(void)
{
	MPI_Request requests[2];
	int in;

	CALL(MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &requests[0]));
	MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void meet(void)
{
	int partner = (who + 1) % size;

	switch ((enum pattern)pattern) {
	case BARRIER:
		CALL(MPI_Barrier(MPI_COMM_WORLD));
		break;
	case ALLREDUCE:
		CALL(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		break;
	case LATE_SENDER:
		if (rank == who)
			CALL(MPI_Send(&value, 1, MPI_INT, partner, 3, MPI_COMM_WORLD));
		else if (rank == partner)
			CALL(MPI_Recv(&value, 1, MPI_INT, who, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		break;
	case LATE_RECEIVER:
		if (rank == who)
			CALL(MPI_Recv(&value, 1, MPI_INT, partner, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		else if (rank == partner)
			CALL(MPI_Ssend(&value, 1, MPI_INT, who, 4, MPI_COMM_WORLD));
		break;
	case BROADCAST:
		CALL(MPI_Bcast(&value, 1, MPI_INT, who, MPI_COMM_WORLD));
		break;
	case REDUCE:
		CALL(MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, partner, MPI_COMM_WORLD));
		break;
	case CHAIN:
		pass_along_the_chain();
		break;
	case WAITALL:
		exchange_with_neighbours();
		break;
	}
}

static void one_round(long round)
{
	int64_t before;

	common_work();
	before = job_now();
	if (rank == who && us && round >= from_round && round < to_round && (round - from_round) % every == 0)
		planted_work();
	came[round] = job_now();
	planted[round] = came[round] - before;
	meet();
	left_at[round] = job_now();
}

static char *put_times(char *at, const char *name, const int64_t *times, long count)
{
	at += sprintf(at, ",\n \"%s\":[", name);
	for (long i = 0; i < count; i++)
		at += sprintf(at, "%s%lld", i ? "," : "", (long long)times[i]);
	return at + sprintf(at, "]");
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = { { "--pattern", &pattern }, { "--who", &who },
						     { "--us", &us },		{ "--base", &base },
						     { "--from", &from_round }, { "--to", &to_round },
						     { "--every", &every },	{ NULL, NULL } };
	static char text[TEXT_SIZE];
	struct counts counts = { 0 };
	char *at = text;

	job_options(&job, argc, argv, options);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size < 2 || who >= size || job.rounds > ROUNDS_MAX || every < 1) {
		fprintf(stderr, "pathology_mpi: needs 2 ranks, --who one of them, at most %d rounds\n", ROUNDS_MAX);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	job.rank = rank;
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++)
		one_round(i);
	job_finish(&job);
	at = put_times(at, "came", came, job.rounds);
	at = put_times(at, "left", left_at, job.rounds);
	at = put_times(at, "planted", planted, job.rounds);
	sprintf(at, ",\n \"line\":%d", line);
	job.more_truth = text;
	job_truth(&job, job.rounds, 0, &counts, NULL, 0);
	MPI_Finalize();
	return 0;
}
