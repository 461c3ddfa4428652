/* SPDX-License-Identifier: BSD-2-Clause */
/* Imports nothing of MPI (Open MPI): finds it when it runs, as programs do that serve several MPI libraries. Its error handler throws. */
#include <cstdio>
#include <dlfcn.h>
#include <mpi.h>

static void *library;

template <class Function> static Function *find(const char *name, Function *)
{
	return reinterpret_cast<Function *>(dlsym(library, name));
}

#define FIND(name) find(#name, &name)

static void give_up(MPI_Comm *, int *error, ...)
{
	throw *error;
}

int main(int argc, char **argv)
{
	int n = 0, caught = 0;
	MPI_Errhandler handler;

	library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return 1;
	MPI_Comm world = reinterpret_cast<MPI_Comm>(dlsym(library, "ompi_mpi_comm_world"));
	MPI_Datatype type = reinterpret_cast<MPI_Datatype>(dlsym(library, "ompi_mpi_int"));
	FIND(MPI_Init)(&argc, &argv);
	FIND(MPI_Comm_create_errhandler)(give_up, &handler);
	FIND(MPI_Comm_set_errhandler)(world, handler);
	for (int i = 0; i < 5; i++) {
		try {
			FIND(MPI_Send)(&n, 1, type, 77, 0, world); /* there is no rank 77 */
		} catch (int) {
			caught++;
		}
	}
	FIND(MPI_Finalize)();
	printf("caught %d\n", caught);
	return 0;
}
