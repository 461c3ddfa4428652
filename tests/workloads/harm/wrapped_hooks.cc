/* SPDX-License-Identifier: BSD-2-Clause */
/* Throws out of an error handler that wrapped_hooks.c gives to MPI. */
#include <cstdio>
#include <mpi.h>

extern "C" int set_handler(MPI_Comm_errhandler_function *function);

static void give_up(MPI_Comm *, int *error, ...)
{
	throw *error;
}

int main(int argc, char **argv)
{
	int n = 0, caught = 0;

	MPI_Init(&argc, &argv);
	set_handler(give_up);
	for (int i = 0; i < 5; i++) {
		try {
			MPI_Send(&n, 1, MPI_INT, 77, 0, MPI_COMM_WORLD); /* there is no rank 77 */
		} catch (int) {
			caught++;
		}
	}
	MPI_Finalize();
	printf("caught %d\n", caught);
	return 0;
}
