/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forks CHILDREN, one after the other; each loads libeager.so, with it the runtime, has it make 5 calls (6 with that of
 * its constructor), and ends. Where HOW is "thread" another thread of it loads the library; where it is "blocked" all
 * signals are blocked meanwhile. Each sends itself SIGWINCH before and after that, to the process and to the thread;
 * how often it came is printed, and comes out the same whoever watches.
 */
#include "follow.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static volatile sig_atomic_t came;

static void on_signal(int number)
{
	(void)number;
	came++;
}

static void *load(void *unused)
{
	void *library = dlopen("libeager.so", RTLD_NOW);
	void (*work)(int) = library ? dlsym(library, "plugin_work") : NULL;

	if (!work)
		_exit(98);
	work(5);
	tell(6);
	return unused;
}

static void send_both(void)
{
	kill(getpid(), SIGWINCH);
	raise(SIGWINCH);
}

static int child(const char *how)
{
	pthread_t thread;
	sigset_t all, before;

	signal(SIGWINCH, on_signal);
	send_both();
	sigfillset(&all);
	if (!strcmp(how, "blocked"))
		sigprocmask(SIG_BLOCK, &all, &before);
	if (strcmp(how, "thread"))
		load(NULL);
	else if (pthread_create(&thread, NULL, load, NULL) || pthread_join(thread, NULL))
		return 97;
	if (!strcmp(how, "blocked"))
		sigprocmask(SIG_SETMASK, &before, NULL);
	send_both();
	return came;
}

int main(int argc, char **argv)
{
	long children = argc > 2 ? atol(argv[2]) : 1;
	int status, all_came = 0;

	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(child(argv[1]));
		waitpid(pid, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) > 4)
			return 1;
		all_came += WEXITSTATUS(status);
	}
	printf("%d signals\n", all_came);
	return 0;
}
