/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks that wait for each other, or for one that does not come. The first argument says how:
 *
 *   cycle    each receives from the next one: nobody sends
 *   swap     the same in MPI_Sendrecv, whose last arguments are on the stack: what was sent has another tag
 *   barrier  all but the last one are at a barrier; that one waits at the gate, and comes when it opens
 *   part     the same within the communicator of the odd ranks; the even ones wait for the whole job
 *   leave    all but the last one are at a barrier; that one is in MPI_Finalize
 *   gone     all but the last one are at a barrier; that one has ended without a word
 *   crash    the same, but it has crashed
 *   receive  the first one receives from the last one, which has ended; the others are at a barrier
 *
 *   ring     each sends more than anybody keeps to the next one, and would receive then: nobody does
 *   shifted  the same, but the first one receives first, and begins to when the gate opens
 *   begun    the same as ring, but each has begun to receive before, and the last one sends when the gate opens
 *   split    all but the last one wait for a barrier that they have begun; that one begins when the gate opens
 *   alone    the same, but only the first one waits
 *   sent     each waits for a message that it has begun to send, of more than anybody keeps: nobody receives
 *   awaited  each waits for a message that it has begun to receive, every other one for two: nobody sends
 *   late     the same, but the last one sends to all when the gate opens
 *   moving   each goes round for long with messages that it has begun to send and to receive
 *
 * Who is about to wait, or to end, creates DIR/enters.RANK; who ends does so when the gate opens. With ENTER_LATE=1 in
 * the environment all ranks wait at the gate first.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "job.h"

static struct job job = { .name = "mpi_stuck" };
static int size;

static void enter(void)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/enters.%d", job.gate, job.rank);
	file = open(path, O_CREAT | O_WRONLY, 0666);
	if (file < 0)
		exit(4);
	close(file);
}

__attribute__((noinline)) static void exchange(MPI_Comm comm, int from, int tag)
{
	int value = 0;

	enter();
	MPI_Recv(&value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
	__asm__ volatile("" : : : "memory"); /* a call, not a jump */
}

__attribute__((noinline)) static void swap(int with)
{
	int own = 0, value;

	enter();
	MPI_Sendrecv(&own, 1, MPI_INT, with, 5, &value, 3, MPI_INT, with, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	__asm__ volatile("" : : : "memory"); /* a call, not a jump */
}

__attribute__((noinline)) static void meet(MPI_Comm comm)
{
	enter();
	MPI_Barrier(comm);
	__asm__ volatile("" : : : "memory");
}

#define MUCH (8 << 20)

/* To whom is worked out from what is in memory by now: none of it is in a register any more. */
__attribute__((noinline)) static void send_on(char *bytes, int tag)
{
	enter();
	MPI_Send(bytes, MUCH, MPI_CHAR, (job.rank + 1) % size, tag, MPI_COMM_WORLD);
	__asm__ volatile("" : : : "memory");
}

static void take_from_last(char *bytes, int tag)
{
	MPI_Recv(bytes, MUCH, MPI_CHAR, (job.rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void go_round(const char *how)
{
	char *out = calloc(1, MUCH), *in = calloc(1, MUCH);
	bool shifted = !strcmp(how, "shifted"), begun = !strcmp(how, "begun");
	MPI_Request request;

	if (begun)
		MPI_Irecv(in, MUCH, MPI_CHAR, (job.rank + size - 1) % size, 7, MPI_COMM_WORLD, &request);
	if ((shifted && !job.rank) || (begun && job.rank == size - 1))
		job_begin(&job);
	if (shifted && !job.rank)
		take_from_last(in, 7);
	send_on(out, 7);
	if (begun)
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	else if (!shifted || job.rank)
		take_from_last(in, 7);
	free(out);
	free(in);
}

__attribute__((noinline)) static void meet_in_two(int first)
{
	MPI_Request request;

	if (job.rank >= first)
		job_begin(&job);
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	enter();
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	__asm__ volatile("" : : : "memory");
}

/* Waits for what it has begun: in one call or another. */
__attribute__((noinline)) static void complete(MPI_Request *requests, int count)
{
	MPI_Status statuses[2];

	enter();
	if (count == 1)
		MPI_Wait(requests, statuses);
	else
		MPI_Waitall(count, requests, statuses);
	__asm__ volatile("" : : : "memory");
}

static void begin_and_wait(const char *how)
{
	char *out = calloc(1, MUCH);
	bool late = !strcmp(how, "late");
	MPI_Request requests[2];
	int value[2];

	if (!strcmp(how, "sent")) {
		MPI_Isend(out, MUCH, MPI_CHAR, (job.rank + 1) % size, 7, MPI_COMM_WORLD, requests);
		complete(requests, 1);
	} else if (late && job.rank == size - 1) {
		job_begin(&job);
		for (int to = 0; to < size - 1; to++)
			for (int i = 0; i < 1 + to % 2; i++)
				MPI_Send(value, 1, MPI_INT, to, 7 + i, MPI_COMM_WORLD);
	} else {
		for (int i = 0; i < 1 + job.rank % 2; i++)
			MPI_Irecv(&value[i], 1, MPI_INT, late ? size - 1 : (job.rank + 1) % size, 7 + i, MPI_COMM_WORLD,
				  &requests[i]);
		complete(requests, 1 + job.rank % 2);
	}
	free(out);
}

#define SOME (256 << 10)

/* Until the gate opens: the first one has a look and tells the others. */
static void keep_moving(void)
{
	char *out = calloc(1, SOME), *in = calloc(1, SOME);
	char path[4096];
	int done = 0;

	enter();
	snprintf(path, sizeof(path), "%s/go", job.gate);
	while (!done) {
		MPI_Request requests[2];
		MPI_Status statuses[2];

		MPI_Irecv(in, SOME, MPI_CHAR, (job.rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[0]);
		MPI_Isend(out, SOME, MPI_CHAR, (job.rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, statuses);
		done = !job.rank && !access(path, F_OK);
		MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	free(out);
	free(in);
}

/* Ends as no rank should. */
static void go_away(bool crash)
{
	static const struct rlimit none;

	job_begin(&job);
	setrlimit(RLIMIT_CORE, &none);
	if (!crash)
		_exit(0);
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "", *late = getenv("ENTER_LATE");
	MPI_Comm part;
	long sum = 0, own;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	job_options(&job, argc - 1, argv + 1, NULL);
	MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, 0, &part);
	if (late && *late == '1')
		job_begin(&job);
	if (!strcmp(how, "cycle")) {
		exchange(MPI_COMM_WORLD, (job.rank + 1) % size, 5);
	} else if (!strcmp(how, "swap")) {
		swap((job.rank + 1) % size);
	} else if (!strcmp(how, "barrier")) {
		if (job.rank == size - 1 && !late)
			job_begin(&job);
		meet(MPI_COMM_WORLD);
	} else if (!strcmp(how, "part")) {
		if (job.rank == size - 1)
			job_begin(&job);
		meet(job.rank % 2 ? part : MPI_COMM_WORLD);
	} else if (!strcmp(how, "leave")) {
		if (job.rank < size - 1)
			meet(MPI_COMM_WORLD);
		enter();
		return MPI_Finalize();
	} else if (!strcmp(how, "ring") || !strcmp(how, "shifted") || !strcmp(how, "begun")) {
		go_round(how);
	} else if (!strcmp(how, "sent") || !strcmp(how, "awaited") || !strcmp(how, "late")) {
		begin_and_wait(how);
	} else if (!strcmp(how, "moving")) {
		keep_moving();
	} else if (!strcmp(how, "split") || !strcmp(how, "alone")) {
		meet_in_two(*how == 's' ? size - 1 : 1);
	} else if (!strcmp(how, "gone") || !strcmp(how, "crash") || !strcmp(how, "receive")) {
		if (job.rank == size - 1)
			go_away(!strcmp(how, "crash"));
		if (!strcmp(how, "receive") && !job.rank)
			exchange(MPI_COMM_WORLD, size - 1, 5);
		meet(MPI_COMM_WORLD);
	}
	own = job.rank + 1;
	MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!job.rank)
		printf("sum %ld\n", sum);
	MPI_Finalize();
	return 0;
}
