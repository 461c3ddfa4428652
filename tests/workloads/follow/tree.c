/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree HOW N PROGRAM [ARGUMENT...]: starts the program N times, one after the other, in one of the ways that there are,
 * and prints how each ended. It maps no runtime itself.
 */
#include <sched.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char **program;

static int become(void *unused)
{
	execv(program[0], program);
	_exit(98);
}

static void *become_in_thread(void *unused)
{
	become(NULL);
	return NULL;
}

static void *idle(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

/* exec by a thread that is not the first, while others are there. */
static void from_thread(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, idle, NULL);
	pthread_create(&thread, NULL, become_in_thread, NULL);
	pause();
}

/* As a daemon does: the grandchild is nobody's child, but comes back to us as subreaper. */
static void as_daemon(void)
{
	if (fork())
		_exit(0);
	setsid();
	become(NULL);
}

static pid_t with_clone(int flags)
{
	static char stack[65536] __attribute__((aligned(16)));

	return clone(become, stack + sizeof(stack), flags, NULL);
}

static pid_t begin(const char *how)
{
	pid_t pid = -1;

	if (!strcmp(how, "spawn")) {
		if (posix_spawn(&pid, program[0], NULL, NULL, program, environ))
			return -1;
	} else if (!strcmp(how, "vfork")) {
		pid = vfork();
		if (!pid) {
			execv(program[0], program);
			_exit(98);
		}
	} else if (!strcmp(how, "clone")) {
		pid = with_clone(CLONE_VM | CLONE_VFORK | SIGCHLD);
	} else if (!strcmp(how, "silent")) { /* no signal at its end */
		pid = with_clone(CLONE_FS | CLONE_FILES);
	} else {
		pid = fork();
		if (pid)
			return pid;
		if (!strcmp(how, "thread"))
			from_thread();
		if (!strcmp(how, "daemon"))
			as_daemon();
		if (!strcmp(how, "stop"))
			raise(SIGSTOP);
		become(NULL);
	}
	return pid;
}

static void say(int status)
{
	if (WIFEXITED(status))
		printf("exit %d\n", WEXITSTATUS(status));
	else
		printf("signal %d\n", WTERMSIG(status));
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0, status;

	if (argc < 4)
		return 2;
	program = argv + 3;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < count; i++) {
		pid_t pid = begin(argv[1]);

		if (pid < 0)
			return 1;
		while (waitpid(-1, &status, __WALL | WUNTRACED) > 0) {
			if (WIFSTOPPED(status)) {
				printf("stopped by %d\n", WSTOPSIG(status));
				kill(pid, SIGCONT);
			} else {
				say(status);
			}
		}
	}
	printf("checksum %d rounds %d\n", count, count);
	return 0;
}
