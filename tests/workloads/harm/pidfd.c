/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for each of its children by a pidfd: once that says that the child has ended, waitid() must have it at once. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int missing = 0;

	for (int i = 0; i < 50; i++) {
		siginfo_t info = { 0 };
		pid_t child = fork();
		struct pollfd end = { .events = POLLIN };

		if (!child)
			_exit(0);
		end.fd = syscall(SYS_pidfd_open, child, 0);
		poll(&end, 1, -1);
		waitid(P_PID, child, &info, WEXITED | WNOHANG);
		if (info.si_pid != child) {
			missing++;
			waitpid(child, NULL, 0);
		}
		close(end.fd);
	}
	printf("missing %d\n", missing);
	return 0;
}
