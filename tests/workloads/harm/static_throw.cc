/* SPDX-License-Identifier: BSD-2-Clause */
// An error handler of MPI that throws. Linked with a C++ library of its own, in a program or (LIBRARY) in a library that a C program calls.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>

extern "C" void handle(MPI_Comm *, int *, ...) { throw std::runtime_error("mpi"); }

extern "C" int try_it(void)
{
	MPI_Errhandler handler;
	int value = 1, caught = 0;

	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	for (int i = 0; i < 5; i++)
		try {
			MPI_Send(&value, 1, MPI_INT, 9999, 0, MPI_COMM_WORLD);
		} catch (const std::exception &) {
			caught++;
		}
	return caught;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	std::printf("caught %d\n", try_it());
	MPI_Finalize();
}
#endif
