/* SPDX-License-Identifier: BSD-2-Clause */
/* A C program whose library throws (static_throw.cc). */
#include <mpi.h>
#include <stdio.h>

int try_it(void);

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	printf("caught %d\n", try_it());
	MPI_Finalize();
	return 0;
}
