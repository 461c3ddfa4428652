/* SPDX-License-Identifier: BSD-2-Clause */
/* A job that traces its own child, as a debugger would: runs PROGRAM under ptrace, counts its stops, prints how it
 * ended. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status, stops = 0, execs = 0;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(97);
		raise(SIGSTOP);
		execv(argv[1], argv + 1);
		_exit(98);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status);

		stops++;
		execs += signal == SIGTRAP;
		ptrace(PTRACE_CONT, pid, 0, signal == SIGTRAP || signal == SIGSTOP ? 0 : signal);
	}
	printf("stops %d execs %d exit %d\n", stops, execs, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	printf("checksum 0 rounds %d\n", stops);
	return 0;
}
