/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_job.c - one rank that talks to itself (loops.h).
 *
 *   sendrecv   MPI_Sendrecv of one int
 *   mix        MPI_Irecv, MPI_Isend, MPI_Waitall, MPI_Sendrecv, MPI_Allreduce: one of each, of 1 to 1,000 doubles
 *
 * Each call has a function of its own around it, which -DINSTRUMENTED makes the only ones that cyg-profile instruments
 * see.
 */
#include "loops.h"

#include <mpi.h>
#include <stdlib.h>

#define MOST 1000

#ifdef INSTRUMENTED
#define WRAPPER __attribute__((noinline))
#else
#define WRAPPER inline
#endif

static double out[MOST], in[MOST];

__attribute__((no_instrument_function)) static void need(int result)
{
	if (result != MPI_SUCCESS)
		abort();
}

static WRAPPER void send_receive(int count, int tag)
{
	need(MPI_Sendrecv(out, count, MPI_DOUBLE, 0, tag, in, count, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD,
			  MPI_STATUS_IGNORE));
}

static WRAPPER void receive_later(int count, MPI_Request *request)
{
	need(MPI_Irecv(in, count, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, request));
}

static WRAPPER void send_later(int count, MPI_Request *request)
{
	need(MPI_Isend(out, count, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, request));
}

static WRAPPER void wait_all(MPI_Request *requests)
{
	need(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static WRAPPER void add_up(int count)
{
	need(MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

__attribute__((no_instrument_function)) static void one_exchange(long unused)
{
	int a = 1, b;

	need(MPI_Sendrecv(&a, 1, MPI_INT, 0, 1, &b, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

__attribute__((no_instrument_function)) static void mix(long i)
{
	static const int counts[] = { 1, 10, 100, MOST };
	MPI_Request requests[2];
	int count = counts[i / 16 % 4];

	receive_later(count, &requests[0]);
	send_later(count, &requests[1]);
	wait_all(requests);
	send_receive(count, 7);
	add_up(4);
}

static const struct loop loops[] = { { .name = "sendrecv", .call = one_exchange }, { .name = "mix", .call = mix } };

__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	serve_loops(loops, sizeof(loops) / sizeof(loops[0]), NULL);
	MPI_Finalize();
	return 0;
}
