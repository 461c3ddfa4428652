/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends its workers by a signal to its process group, which it ignores itself, and ends with 6. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status, ended = 0;

	for (int i = 0; i < 3; i++) {
		if (!fork()) {
			pause();
			_exit(1);
		}
	}
	signal(SIGTERM, SIG_IGN);
	usleep(300000);
	kill(0, SIGTERM);
	while (wait(&status) > 0)
		ended += WIFSIGNALED(status);
	usleep(300000);
	printf("ended %d\n", ended);
	return 6;
}
