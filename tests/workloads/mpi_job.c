/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of ranks that uses MPI in all its ways: point to point, waiting and testing, collectives, one-sided,
 * communicators.
 *
 * Built twice, against Open MPI and against MPICH. Every call goes through DO(), which makes and counts it, so the code
 * reads as the list of what a round consists of. Numbers that depend on timing (how often a test had to be repeated)
 * are counted as they happen. What an ANY_SOURCE receive really got is taken from its status.
 */
#include "job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSTED   1000           /* ints that the receives of small messages make room for */
#define NUMBERS  64
#define RANKS_MAX 16

static struct job job = { .name = "mpi_job", .rounds = 20 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static int rank, size, left, right;
static uint64_t checksum;

/* Buffers of the whole job; a round writes what it reads. */
static int out_ints[POSTED * RANKS_MAX], in_ints[POSTED * RANKS_MAX];
static double out_doubles[NUMBERS * RANKS_MAX], in_doubles[NUMBERS * RANKS_MAX];
static MPI_Datatype every_second;       /* 10 pairs of ints, each 4 apart: 80 bytes of payload */

/* Calls FUNCTION and counts it: what its arguments say, what it really sent, what it really received. */
#define DO(FUNCTION, ARGUMENTS, bytes, sent, received)                          \
	do {                                                                    \
		if (FUNCTION ARGUMENTS != MPI_SUCCESS)                          \
			abort();                                                \
		count_moved(counts, #FUNCTION, bytes, sent, received);          \
	} while (0)

/*
 * A receive that ignores its status: how much came is then known to nobody but the sender. The truth also has these
 * apart, as "receives without a status", and the sends and receives of a derived type as "sends of a derived type" and
 * so on.
 */
static void receive_without_status(int room, int source, int tag, MPI_Comm comm, uint64_t received)
{
	DO(MPI_Recv, (in_ints, room, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE), room * 4, 0, received);
	count_moved(counts, "receives without a status", room * 4, 0, received);
}

static void learn(const void *data, size_t length)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < length; i++)
		checksum = checksum * 31 + byte[i];
	checksum = job_mix(checksum);
}

static void fill(long round)
{
	for (int i = 0; i < POSTED; i++)
		out_ints[i] = (int)(round * 7 + rank * 1000 + i);
	for (int i = 0; i < NUMBERS * RANKS_MAX; i++)
		out_doubles[i] = (double)(round + rank + i % 8);
}

static uint64_t payload(MPI_Status *status, MPI_Datatype type, int element)
{
	int count;

	MPI_Get_count(status, type, &count);
	return (uint64_t)count * element;
}

/* Between two tests: there may be more ranks than cores, and a million calls would tell no more than ten. */
static void let_others_run(int done)
{
	if (!done)
		job_sleep_us(50);
}

/* Even ranks send first. */
static void send_and_receive(MPI_Comm comm)
{
	MPI_Status status;

	if (rank % 2 == 0)
		DO(MPI_Send, (out_ints, 100, MPI_INT, right, 1, comm), 400, 400, 0);
	if (rank % 2 == 0 && size % 2 == 0)
		DO(MPI_Ssend, (out_doubles, 10, MPI_DOUBLE, right, 2, comm), 80, 80, 0);
	if (left % 2 == 0) {
		receive_without_status(POSTED, left, 1, comm, 400);
		learn(in_ints, 400);
	}
	if (left % 2 == 0 && size % 2 == 0) {
		DO(MPI_Recv, (in_doubles, NUMBERS, MPI_DOUBLE, left, 2, comm, &status), NUMBERS * 8, 0, 80);
		learn(in_doubles, 80);
	}
	DO(MPI_Sendrecv, (out_ints, 50, MPI_INT, right, 3, in_ints, POSTED, MPI_INT, left, 3, comm, &status), 200, 200,
	   200);
	learn(in_ints, 200);
	DO(MPI_Sendrecv_replace, (in_ints, 25, MPI_INT, right, 4, left, 4, comm, MPI_STATUS_IGNORE), 100, 100, 100);
	learn(in_ints, 100);
}

static void send_derived(MPI_Comm comm)
{
	MPI_Request request;

	memset(in_ints, 0, 40 * sizeof(int));
	DO(MPI_Irecv, (in_ints, 3, every_second, left, 5, comm, &request), 240, 0, 0);
	DO(MPI_Send, (out_ints, 3, every_second, right, 5, comm), 240, 240, 0);
	count_moved(counts, "sends of a derived type", 240, 240, 0);
	count_moved(counts, "receives of a derived type", 240, 0, 0);
	DO(MPI_Wait, (&request, MPI_STATUS_IGNORE), 0, 0, 0);
	learn(in_ints, 40 * sizeof(int));
}

static void send_at_once(MPI_Comm comm)
{
	MPI_Request requests[4];
	MPI_Status statuses[4];
	int done = 0, index, indices[4], some;

	DO(MPI_Irecv, (in_ints, POSTED, MPI_INT, left, 6, comm, &requests[0]), POSTED * 4, 0, 0);
	DO(MPI_Irecv, (in_doubles, 8, MPI_DOUBLE, right, 7, comm, &requests[1]), 64, 0, 0);
	DO(MPI_Isend, (out_ints, 30, MPI_INT, right, 6, comm, &requests[2]), 120, 120, 0);
	DO(MPI_Isend, (out_doubles, 8, MPI_DOUBLE, left, 7, comm, &requests[3]), 64, 64, 0);
	DO(MPI_Waitall, (4, requests, statuses), 0, 0, 0);
	learn(in_ints, 120);
	learn(in_doubles, 64);

	DO(MPI_Irecv, (in_ints, 10, MPI_INT, left, 8, comm, &requests[0]), 40, 0, 0);
	DO(MPI_Isend, (out_ints, 10, MPI_INT, right, 8, comm, &requests[1]), 40, 40, 0);
	for (; !done; let_others_run(done))
		DO(MPI_Test, (&requests[0], &done, &statuses[0]), 0, 0, 0);
	learn(in_ints, 40);
	DO(MPI_Wait, (&requests[1], &statuses[1]), 0, 0, 0);

	DO(MPI_Irecv, (in_ints, 5, MPI_INT, left, 9, comm, &requests[0]), 20, 0, 0);
	DO(MPI_Isend, (out_ints, 5, MPI_INT, right, 9, comm, &requests[1]), 20, 20, 0);
	DO(MPI_Waitany, (2, requests, &index, MPI_STATUS_IGNORE), 0, 0, 0);
	DO(MPI_Waitsome, (2, requests, &some, indices, MPI_STATUSES_IGNORE), 0, 0, 0);
	learn(in_ints, 20);

	DO(MPI_Irecv, (in_ints, 6, MPI_INT, left, 10, comm, &requests[0]), 24, 0, 0);
	DO(MPI_Isend, (out_ints, 6, MPI_INT, right, 10, comm, &requests[1]), 24, 24, 0);
	for (done = 0; !done; let_others_run(done))
		DO(MPI_Testall, (2, requests, &done, MPI_STATUSES_IGNORE), 0, 0, 0);
	learn(in_ints, 24);
}

/* Rank 0 receives from whoever comes first, with far more room than any message needs. */
static void send_to_any(MPI_Comm comm)
{
	uint64_t sum = 0;

	if (rank != 0) {
		int length = 10 * rank + 1;

		DO(MPI_Send, (out_ints, length, MPI_INT, 0, 11, comm), length * 4, length * 4, 0);
		return;
	}
	for (int i = 1; i < size; i++) {
		MPI_Status status;

		DO(MPI_Recv, (in_ints, POSTED, MPI_INT, MPI_ANY_SOURCE, 11, comm, &status), POSTED * 4, 0,
		   payload(&status, MPI_INT, 4));
		sum += job_mix(status.MPI_SOURCE * 1000 + in_ints[0]);
	}
	checksum += sum;
}

static void probe_first(MPI_Comm comm)
{
	MPI_Status status;
	MPI_Request request;
	int there = 0;

	DO(MPI_Isend, (out_ints, 12, MPI_INT, right, 12, comm, &request), 48, 48, 0);
	DO(MPI_Probe, (left, 12, comm, &status), 0, 0, 0);
	DO(MPI_Recv, (in_ints, POSTED, MPI_INT, left, 12, comm, &status), POSTED * 4, 0, 48);
	DO(MPI_Wait, (&request, MPI_STATUS_IGNORE), 0, 0, 0);
	DO(MPI_Isend, (out_ints, 13, MPI_INT, right, 13, comm, &request), 52, 52, 0);
	for (; !there; let_others_run(there))
		DO(MPI_Iprobe, (left, 13, comm, &there, MPI_STATUS_IGNORE), 0, 0, 0);
	receive_without_status(POSTED, left, 13, comm, 52);
	DO(MPI_Wait, (&request, MPI_STATUS_IGNORE), 0, 0, 0);
	learn(in_ints, 52);
}

/* bytes: what one rank's arguments say for one peer; sent and received: over all peers, this rank itself included. */
static void collect(MPI_Comm comm, int root)
{
	uint64_t at_root = rank == root;

	DO(MPI_Barrier, (comm), 0, 0, 0);
	memcpy(in_ints, out_ints, 400);
	DO(MPI_Bcast, (in_ints, 100, MPI_INT, root, comm), 400, at_root * 400, !at_root * 400);
	learn(in_ints, 400);
	memset(in_doubles, 0, sizeof(in_doubles));
	DO(MPI_Reduce, (out_doubles, in_doubles, 8, MPI_DOUBLE, MPI_SUM, root, comm), 64, 64, at_root * 64);
	learn(in_doubles, 64);
	DO(MPI_Allreduce, (out_doubles, in_doubles, 16, MPI_DOUBLE, MPI_MAX, comm), 128, 128, 128);
	learn(in_doubles, 128);
	memset(in_ints, 0, sizeof(in_ints));
	DO(MPI_Gather, (out_ints, 7, MPI_INT, in_ints, 7, MPI_INT, root, comm), 28, 28, at_root * 28 * size);
	learn(in_ints, 28 * size);
	DO(MPI_Scatter, (out_ints, 5, MPI_INT, in_ints, 5, MPI_INT, root, comm), 20, at_root * 20 * size, 20);
	learn(in_ints, 20);
	DO(MPI_Allgather, (out_ints, 3, MPI_INT, in_ints, 3, MPI_INT, comm), 12, 12, 12 * size);
	learn(in_ints, 12 * size);
	DO(MPI_Alltoall, (out_ints, 4, MPI_INT, in_ints, 4, MPI_INT, comm), 16, 16 * size, 16 * size);
	learn(in_ints, 16 * size);
	DO(MPI_Scan, (out_ints, in_ints, 9, MPI_INT, MPI_SUM, comm), 36, 36, 36);
	learn(in_ints, 36);
	memset(in_ints, 0, 36);
	DO(MPI_Exscan, (out_ints, in_ints, 9, MPI_INT, MPI_SUM, comm), 36, 36, rank ? 36 : 0);
	learn(in_ints, 36);
	DO(MPI_Reduce_scatter_block, (out_ints, in_ints, 2, MPI_INT, MPI_SUM, comm), 8, 8 * size, 8);
	learn(in_ints, 8);
}

/* Rank r contributes r + 1 elements. */
static void collect_unevenly(MPI_Comm comm, int root)
{
	int sizes[RANKS_MAX], starts[RANKS_MAX], mine = rank + 1, all = size * (size + 1) / 2;
	int same[RANKS_MAX], same_starts[RANKS_MAX], byte_starts[RANKS_MAX];
	MPI_Datatype types[RANKS_MAX];
	uint64_t at_root = rank == root;

	for (int r = 0, at = 0; r < size; at += ++r) {
		sizes[r] = r + 1;
		starts[r] = at;
		same[r] = 2;
		same_starts[r] = 2 * r;
		byte_starts[r] = 8 * r;
		types[r] = MPI_INT;
	}
	memset(in_ints, 0, 4 * all);
	DO(MPI_Gatherv, (out_ints, mine, MPI_INT, in_ints, sizes, starts, MPI_INT, root, comm), mine * 4, mine * 4,
	   at_root * all * 4);
	learn(in_ints, 4 * all);
	DO(MPI_Scatterv, (out_ints, sizes, starts, MPI_INT, in_ints, mine, MPI_INT, root, comm), mine * 4,
	   at_root * all * 4, mine * 4);
	learn(in_ints, 4 * mine);
	DO(MPI_Allgatherv, (out_ints, mine, MPI_INT, in_ints, sizes, starts, MPI_INT, comm), mine * 4, mine * 4,
	   all * 4);
	learn(in_ints, 4 * all);
	DO(MPI_Alltoallv, (out_ints, same, same_starts, MPI_INT, in_ints, same, same_starts, MPI_INT, comm), 0,
	   8 * size, 8 * size);
	learn(in_ints, 8 * size);
	DO(MPI_Alltoallw, (out_ints, same, byte_starts, types, in_ints, same, byte_starts, types, comm), 0, 8 * size,
	   8 * size);
	learn(in_ints, 8 * size);
	DO(MPI_Reduce_scatter, (out_ints, in_ints, sizes, MPI_INT, MPI_SUM, comm), 0, all * 4, mine * 4);
	learn(in_ints, 4 * mine);
}

static void collect_at_once(MPI_Comm comm, int root)
{
	MPI_Request requests[3];
	uint64_t at_root = rank == root;

	DO(MPI_Ibarrier, (comm, &requests[0]), 0, 0, 0);
	DO(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), 0, 0, 0);
	memcpy(in_ints, out_ints, 80);
	DO(MPI_Ibcast, (in_ints, 20, MPI_INT, root, comm, &requests[0]), 80, at_root * 80, !at_root * 80);
	DO(MPI_Iallreduce, (out_doubles, in_doubles, 4, MPI_DOUBLE, MPI_MIN, comm, &requests[1]), 32, 32, 32);
	DO(MPI_Iallgather, (out_ints, 2, MPI_INT, in_ints + 100, 2, MPI_INT, comm, &requests[2]), 8, 8, 8 * size);
	DO(MPI_Waitall, (3, requests, MPI_STATUSES_IGNORE), 0, 0, 0);
	learn(in_ints, 80);
	learn(in_ints + 100, 8 * size);
	learn(in_doubles, 32);
}

static void fetch_and_swap(MPI_Win window)
{
	int one = 1, result, fetched[4], compare = 5, swap = 6;

	DO(MPI_Win_lock, (MPI_LOCK_EXCLUSIVE, right, 0, window), 0, 0, 0);
	DO(MPI_Fetch_and_op, (&one, &result, MPI_INT, right, 80, MPI_SUM, window), 4, 4, 4);
	DO(MPI_Win_flush, (right, window), 0, 0, 0);
	DO(MPI_Compare_and_swap, (&swap, &compare, &result, MPI_INT, right, 81, window), 4, 4, 4);
	DO(MPI_Get_accumulate, (out_ints, 4, MPI_INT, fetched, 4, MPI_INT, right, 84, 4, MPI_INT, MPI_SUM, window), 16,
	   16, 16);
	DO(MPI_Win_unlock, (right, window), 0, 0, 0);
}

static void reach_into_others(MPI_Comm comm, MPI_Group neighbours)
{
	static int shared[128];
	MPI_Win window;

	memset(shared, 0, sizeof(shared));
	DO(MPI_Win_create, (shared, sizeof(shared), sizeof(int), MPI_INFO_NULL, comm, &window), 0, 0, 0);
	DO(MPI_Win_fence, (0, window), 0, 0, 0);
	DO(MPI_Put, (out_ints, 10, MPI_INT, right, 0, 10, MPI_INT, window), 40, 40, 0);
	DO(MPI_Accumulate, (out_ints, 6, MPI_INT, right, 20, 6, MPI_INT, MPI_SUM, window), 24, 24, 0);
	DO(MPI_Win_fence, (0, window), 0, 0, 0);
	DO(MPI_Get, (in_ints, 12, MPI_INT, right, 0, 12, MPI_INT, window), 48, 0, 48);
	DO(MPI_Win_fence, (0, window), 0, 0, 0);
	learn(in_ints, 48);
	fetch_and_swap(window);
	DO(MPI_Win_lock_all, (0, window), 0, 0, 0);
	DO(MPI_Put, (out_ints, 2, MPI_INT, right, 40, 2, MPI_INT, window), 8, 8, 0);
	DO(MPI_Win_flush_all, (window), 0, 0, 0);
	DO(MPI_Win_unlock_all, (window), 0, 0, 0);
	DO(MPI_Win_post, (neighbours, 0, window), 0, 0, 0);
	DO(MPI_Win_start, (neighbours, 0, window), 0, 0, 0);
	DO(MPI_Put, (out_ints, 3, MPI_INT, right, 50, 3, MPI_INT, window), 12, 12, 0);
	DO(MPI_Win_complete, (window), 0, 0, 0);
	DO(MPI_Win_wait, (window), 0, 0, 0);
	DO(MPI_Barrier, (comm), 0, 0, 0);
	learn(shared, sizeof(shared));
	DO(MPI_Win_free, (&window), 0, 0, 0);
}

static void make_communicators(MPI_Comm comm)
{
	MPI_Comm copy, half;
	int value = rank, sum = 0;

	DO(MPI_Comm_dup, (comm, &copy), 0, 0, 0);
	DO(MPI_Comm_split, (copy, rank % 2, -rank, &half), 0, 0, 0);
	DO(MPI_Allreduce, (&value, &sum, 1, MPI_INT, MPI_SUM, half), 4, 4, 4);
	learn(&sum, sizeof(sum));
	DO(MPI_Comm_free, (&half), 0, 0, 0);
	DO(MPI_Comm_free, (&copy), 0, 0, 0);
}

static void one_round(long round, MPI_Group neighbours)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	int root = (int)(round % size);

	fill(round);
	send_and_receive(comm);
	send_derived(comm);
	send_at_once(comm);
	send_to_any(comm);
	probe_first(comm);
	collect(comm, root);
	collect_unevenly(comm, root);
	collect_at_once(comm, root);
	reach_into_others(comm, neighbours);
	make_communicators(comm);
}

/* Rank 0 looks at the clock for all; telling the others is a counted broadcast. */
static bool another_round(long done)
{
	int more = job_more(&job, done);

	if (job.seconds > 0)
		DO(MPI_Bcast, (&more, 1, MPI_INT, 0, MPI_COMM_WORLD), 4, (rank == 0) * 4, (rank != 0) * 4);
	return more;
}

static MPI_Group find_neighbours(void)
{
	MPI_Group world, neighbours;
	int ranks[2] = { left, right };

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, left == right ? 1 : 2, ranks, &neighbours);
	MPI_Group_free(&world);
	return neighbours;
}

int main(int argc, char **argv)
{
	MPI_Group neighbours;
	uint64_t all = 0;
	long rounds = 0;

	job_options(&job, argc, argv, NULL);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size < 2 || size > RANKS_MAX) {
		fprintf(stderr, "mpi_job: needs 2 to %d ranks\n", RANKS_MAX);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	job.rank = rank;
	right = (rank + 1) % size;
	left = (rank + size - 1) % size;
	neighbours = find_neighbours();
	MPI_Type_vector(10, 2, 4, MPI_INT, &every_second);
	MPI_Type_commit(&every_second);

	for (long i = 0; i < job.warmup; i++)
		one_round(i, neighbours);
	checksum = 0;
	job_begin(&job);
	counts = &counted;
	while (another_round(rounds))
		one_round(rounds++, neighbours);
	counts = &thrown_away;
	job_finish(&job);
	uint64_t result = checksum;
	for (long i = 0; i < job.after; i++)
		one_round(i, neighbours);

	MPI_Reduce(&result, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("checksum %016lx rounds %ld\n", all, rounds);
	MPI_Group_free(&neighbours);
	MPI_Type_free(&every_second);
	MPI_Finalize();
	return job_truth(&job, rounds, result, &counted, NULL, 0);
}
