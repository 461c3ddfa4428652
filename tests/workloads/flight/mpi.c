/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranks send around a ring; then all but rank 0 wait at a barrier, which it reaches only when GATE/late is there. */
#include <mpi.h>

#include "log.h"

int main(int argc, char **argv)
{
	int rank, size, token = 0;

	flight_options(argc, argv);
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	log_open(rank);
	gate_mark("ready", rank);
	gate_wait("go");
	for (long i = 0; i < rounds; i++) {
		if (rank)
			DO("GASP_MPI_RECV",
			   MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		DO("GASP_MPI_SEND", MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD));
		if (!rank)
			DO("GASP_MPI_RECV",
			   MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	}
	if (!rank)
		gate_wait("late");
	DO("GASP_MPI_BARRIER", MPI_Barrier(MPI_COMM_WORLD));
	gate_mark("done", rank);
	gate_wait("end");
	MPI_Finalize();
	return 0;
}
