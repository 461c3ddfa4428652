/* SPDX-License-Identifier: BSD-2-Clause */
// A signal handler throws out of a call of MPI: SIGALRM's as a limit of its time, SIGSEGV's (with an argument) for a bad buffer.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

static void on_signal(int number)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, number);
	sigprocmask(SIG_UNBLOCK, &mask, nullptr);
	throw number;
}

int main(int argc, char **argv)
{
	static char room[100000];
	bool bad_buffer = argc > 1;
	struct sigaction action = {};
	int value, caught = 0;

	MPI_Init(&argc, &argv);
	action.sa_handler = on_signal;
	action.sa_flags = SA_NODEFER;
	sigaction(bad_buffer ? SIGSEGV : SIGALRM, &action, nullptr);
	for (int i = 0; i < 3; i++)
		try {
			if (bad_buffer) {
				MPI_Sendrecv(reinterpret_cast<void *>(64), 1000, MPI_CHAR, 0, 0, room, sizeof(room), MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
			} else if (!i) {
				alarm(1);
				MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
			}
		} catch (int) {
			caught++;
		}
	std::printf("caught %d\n", caught);
	std::fflush(stdout);
	_exit(0); // MPI was left in the middle of a call
}
