/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MPI calls that C++ code leaves by an exception: an error handler that throws out of MPI_Send, and reduction operators that throw
 * out of MPI_Reduce_local and MPI_Allreduce. The exception passes through the MPI library's own frames. To be run on two ranks;
 * each rank tells in a file of its own, "FILE.RANK", when `--tell FILE` is given as the first option.
 */
#include "tell.h"

#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <stdexcept>
#include <string>

struct mpi_error {
	int code;
};

static struct tale send_tale = { "MPI_Send", 0, 0 }, local_tale = { "MPI_Reduce_local", 0, 0 },
		   all_tale = { "MPI_Allreduce", 0, 0 }, handle_tale = { "handle", 0, 0 }, combine_tale = { "combine", 0, 0 };
static long caught, sum;
static bool operator_throws;

extern "C" {
void handle(MPI_Comm *comm, int *code, ...);
void combine(void *in, void *inout, int *count, MPI_Datatype *type);
}

OBSERVED void handle(MPI_Comm *comm, int *code, ...)
{
	called(&handle_tale);
	throw mpi_error { *code };
}

OBSERVED void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
	called(&combine_tale);
	if (operator_throws)
		throw std::runtime_error("combine");
	for (int i = 0; i < *count; i++)
		static_cast<long *>(inout)[i] += static_cast<long *>(in)[i];
	returning(&combine_tale, 0);
}

static void send(int to)
{
	int value = 1, rank = 0, code = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	called(&send_tale);
	try {
		/* To nobody: the library calls the error handler, from deep inside MPI_Send. */
		code = MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
		returning(&send_tale, code);
	} catch (const mpi_error &e) {
		caught++;
		sum += e.code != MPI_SUCCESS;
	}
}

static void reduce(MPI_Op op, bool all)
{
	long mine[4] = { 1, 2, 3, 4 }, total[4] = { 10, 20, 30, 40 };

	called(all ? &all_tale : &local_tale);
	try {
		if (all)
			MPI_Allreduce(mine, total, 4, MPI_LONG, op, MPI_COMM_WORLD);
		else
			MPI_Reduce_local(mine, total, 4, MPI_LONG, op);
		returning(all ? &all_tale : &local_tale, 0);
	} catch (const std::runtime_error &) {
		caught++;
	}
	sum += total[3];
}

int main(int argc, char **argv)
{
	std::string file = argc > 2 && !strcmp(argv[1], "--tell") ? argv[2] : "";
	MPI_Errhandler handler;
	MPI_Op op;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Op_create(combine, 1, &op);
	for (int i = 0; i < 20; i++) {
		operator_throws = i % 2;
		send(i % 4 ? MPI_PROC_NULL : 1000);
		reduce(op, false);
		reduce(op, true);
	}
	operator_throws = false;
	reduce(op, true);
	send(MPI_PROC_NULL);
	MPI_Op_free(&op);
	MPI_Errhandler_free(&handler);
	MPI_Finalize();
	if (!file.empty() && !freopen((file + "." + std::to_string(rank)).c_str(), "w", stdout))
		return 3;
	for (auto tale : { &send_tale, &local_tale, &all_tale, &handle_tale, &combine_tale })
		tell_function(tale);
	tell("caught", caught);
	tell("sum", sum);
	return 0;
}
