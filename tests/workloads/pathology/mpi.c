/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One rank comes late to a call of MPI: --pattern says of what kind. The truth has when each rank came to the call and
 * left it, round by round, by one clock.
 *
 * --also-who, --also-us, --also-pattern: another one comes late to another call, in each round after the first ("also"
 * in the truth). --burst N: and each round begins with N short calls that move nothing.
 */
#include "late.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum pattern { BARRIER, ALLREDUCE, LATE_SENDER, LATE_RECEIVER, BROADCAST, REDUCE, CHAIN, WAITALL, HALO, HALO_AGAIN, PROBE, TEST, TEST_ALL,
	       IPROBE, MPROBE };

static struct job job = { .name = "pathology_mpi", .rounds = 30 };
static long pattern, also_pattern, also_who = -1, also_us = 3000, burst;
static int rank, size, value, sum;
static struct late_member first, second;

#define CALL(call) LATE_CALL(m, call)

static void pass_along_the_chain(struct late_member *m, int who)
{
	int before = (rank + size - 1) % size, next = (rank + 1) % size;

	if (rank != who)
		CALL(MPI_Recv(&value, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	if (next != who)
		CALL(MPI_Send(&value, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
}

static void exchange_with_neighbours(struct late_member *m)
{
	MPI_Request requests[2];
	int in;

	CALL(MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &requests[0]));
	MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* On a line, whose ends have one neighbour only: with the other one, MPI_PROC_NULL, nothing is exchanged. */
static void exchange_halo(struct late_member *m)
{
	int before = rank ? rank - 1 : MPI_PROC_NULL, next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, in[2];
	MPI_Request requests[4];

	CALL(MPI_Irecv(&in[0], 1, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]));
	MPI_Irecv(&in[1], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(&value, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(&value, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* The same by requests that are described once. */
static void exchange_halo_again(struct late_member *m)
{
	int before = rank ? rank - 1 : MPI_PROC_NULL, next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	static MPI_Request requests[4];
	static int in[2];
	static bool described;

	if (!described) {
		MPI_Recv_init(&in[0], 1, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]);
		MPI_Recv_init(&in[1], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
		MPI_Send_init(&value, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[2]);
		MPI_Send_init(&value, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[3]);
		described = true;
	}
	CALL(MPI_Startall(4, requests));
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* The partner asks whether something has come, again and again or in one call, until it has. */
static void ask_for_message(struct late_member *m, enum pattern kind, int who, int partner)
{
	MPI_Status status;
	MPI_Message message;
	MPI_Request requests[2];
	int there = 0, in[2];

	if (rank == who)
		CALL(MPI_Send(&value, 1, MPI_INT, partner, 5, MPI_COMM_WORLD));
	if (rank == who && kind == TEST_ALL)
		MPI_Send(&value, 1, MPI_INT, partner, 6, MPI_COMM_WORLD);
	if (rank != partner)
		return;
	if (kind == TEST || kind == TEST_ALL) {
		MPI_Irecv(&in[0], 1, MPI_INT, who, 5, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(&in[1], 1, MPI_INT, kind == TEST_ALL ? who : MPI_PROC_NULL, 6, MPI_COMM_WORLD, &requests[1]);
	}
	switch (kind) {
	case TEST:
		while (!there)
			CALL(MPI_Test(&requests[0], &there, MPI_STATUS_IGNORE));
		MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
		break;
	case TEST_ALL:
		while (!there)
			CALL(MPI_Testall(2, requests, &there, MPI_STATUSES_IGNORE));
		break;
	case IPROBE:
		while (!there)
			CALL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status));
		break;
	case MPROBE:
		CALL(MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, &status));
		MPI_Mrecv(in, 1, MPI_INT, &message, &status);
		return;
	default:
		CALL(MPI_Probe(who, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
	}
	if (kind == IPROBE || kind == PROBE)
		MPI_Recv(in, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void meet(struct late_member *m, enum pattern kind, int who)
{
	int partner = (who + 1) % size;

	switch (kind) {
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
		pass_along_the_chain(m, who);
		break;
	case WAITALL:
		exchange_with_neighbours(m);
		break;
	case HALO:
		exchange_halo(m);
		break;
	case HALO_AGAIN:
		exchange_halo_again(m);
		break;
	case PROBE:
	case TEST:
	case TEST_ALL:
	case IPROBE:
	case MPROBE:
		ask_for_message(m, kind, who, partner);
		break;
	}
	__asm__ volatile("" : : : "memory"); /* calls, not jumps */
}

static void one_round(long round)
{
	int any;

	for (long i = 0; i < burst; i++)
		MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
	late_come(&first, rank, round);
	meet(&first, pattern, late_plan.who);
	late_left(&first, round);
	if (also_who < 0)
		return;
	late_come_by(&second, rank == also_who, also_us, late_plan.base, round);
	meet(&second, also_pattern, also_who);
	late_left(&second, round);
}

int main(int argc, char **argv)
{
	static const struct job_option options[] = { LATE_OPTIONS,
						     { "--pattern", &pattern },
						     { "--also-who", &also_who },
						     { "--also-us", &also_us },
						     { "--also-pattern", &also_pattern },
						     { "--burst", &burst },
						     { NULL, NULL } };
	static char text[2 * LATE_TEXT];
	struct counts counts = { 0 };
	char *at = text;

	job_options(&job, argc, argv, options);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size < 2 || late_plan.who >= size || job.rounds > LATE_ROUNDS || late_plan.every < 1) {
		fprintf(stderr, "pathology_mpi: needs 2 ranks, --who one of them, at most %d rounds\n", LATE_ROUNDS);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	job.rank = rank;
	job_begin(&job);
	for (long i = 0; i < job.rounds; i++)
		one_round(i);
	job_finish(&job);
	at = late_put(at, &first, job.rounds);
	at += sprintf(at, ",\n \"also\":{\"rank\":%d", rank);
	at = late_put(at, &second, job.rounds);
	sprintf(at, "}");
	job.more_truth = text;
	job_truth(&job, job.rounds, 0, &counts, NULL, 0);
	MPI_Finalize();
	return 0;
}
