/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first and the last call of an MPI program: "finalize" or "abort", with MPI_Init or, for "abort", MPI_Init_thread.
 * Each call is told beforehand to the file in ENDS_TRUTH, as "PID FUNCTION"; "init" and "thread" return, the other two
 * need not.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(const char *function)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%d %s\n", (int)getpid(), function);
	int file = open(getenv("ENDS_TRUTH"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

	if (file < 0 || write(file, line, length) != length)
		abort();
	close(file);
}

int main(int argc, char **argv)
{
	int provided;

	if (argc == 2 && !strcmp(argv[1], "abort")) {
		tell("MPI_INIT_THREAD");
		MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
		tell("MPI_ABORT");
		MPI_Abort(MPI_COMM_WORLD, 7);
	}
	tell("MPI_INIT");
	MPI_Init(&argc, &argv);
	tell("MPI_FINALIZE");
	return MPI_Finalize();
}
