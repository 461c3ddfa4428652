/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MPI calls of the program, and calls that MPI makes to itself: a file is written collectively; a reduction of the
 * program's own and its error handler call MPI from inside MPI, the latter as its last act, which is a jump. Writes to
 * INNER_TRUTH.RANK what the program called, as "FUNCTION CALLS" lines; functions that are no events are left out.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, FUNCTIONS = 32 };

static struct { const char *name; long calls; } called[FUNCTIONS];

static void note(const char *name)
{
	int i = 0;

	while (called[i].name && strcmp(called[i].name, name))
		i++;
	called[i].name = name;
	called[i].calls++;
}

#define CALL(function, ...) (note(#function), function(__VA_ARGS__))

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
	CALL(MPI_Barrier, MPI_COMM_SELF);
	for (int i = 0; i < *count; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void handle(MPI_Comm *comm, int *code, ...)
{
	CALL(MPI_Barrier, MPI_COMM_SELF);
}

static void write_truth(int rank)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s.%d", getenv("INNER_TRUTH"), rank);
	out = fopen(path, "w");
	if (!out)
		exit(3);
	for (int i = 0; i < FUNCTIONS && called[i].name; i++)
		fprintf(out, "%s %ld\n", called[i].name, called[i].calls);
	if (fclose(out))
		exit(3);
}

int main(int argc, char **argv)
{
	int rank, size, mine, sum;
	MPI_Errhandler handler;
	MPI_Op op;

	CALL(MPI_Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Op_create(add, 1, &op);
	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	for (int i = 0; i < ROUNDS; i++) {
		mine = rank + i;
		CALL(MPI_Allreduce, &mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
		if (sum != size * (size - 1) / 2 + size * i)
			return 4;
		CALL(MPI_Send, &mine, 1, MPI_INT, size + 100, 0, MPI_COMM_WORLD);
		CALL(MPI_Barrier, MPI_COMM_WORLD);
	}
	for (int i = 0; i < ROUNDS && argc > 1; i++) {
		MPI_Status status;
		MPI_File file;

		CALL(MPI_File_open, MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
		CALL(MPI_File_write_at_all, file, rank * (MPI_Offset)sizeof(mine), &mine, 1, MPI_INT, &status);
		CALL(MPI_File_close, &file);
	}
	MPI_Op_free(&op);
	MPI_Errhandler_free(&handler);
	note("MPI_Finalize");
	write_truth(rank);
	return MPI_Finalize();
}
