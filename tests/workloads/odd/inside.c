/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends, or multiplies, in the middle of a call: outer() calls inside(), which does what the first argument says, after
 * each was called CALLS times in peace. `exec` and `exec-thread` become this program anew, which then calls in peace
 * once more. With a second argument it waits at first until a file of this name is there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 100

long outer(const char *how);
long inside(const char *how);

static void call_in_peace(void)
{
	for (int i = 0; i < CALLS; i++)
		outer("return");
}

__attribute__((noipa)) long inside(const char *how)
{
	pid_t child;

	if (!strcmp(how, "exit"))
		_exit(0);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "thread"))
		syscall(SYS_exit, 0);
	if (!strncmp(how, "exec", 4))
		execl("/proc/self/exe", "inside", "again", (char *)NULL);
	if (!strcmp(how, "fork")) {
		child = fork();
		if (child)
			waitpid(child, NULL, 0);
		return !child;
	}
	return 0;
}

__attribute__((noipa)) long outer(const char *how)
{
	return inside(how) * 2;
}

static void *run(void *how)
{
	call_in_peace();
	outer(how);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;

	while (argc > 2 && access(argv[2], F_OK))
		usleep(10000);
	call_in_peace();
	if (strstr(how, "thread")) {
		pthread_create(&thread, NULL, run, (void *)how);
		pthread_join(thread, NULL);
		return 0;
	}
	if (outer(how)) /* the child of fork */
		call_in_peace();
	return 0;
}
