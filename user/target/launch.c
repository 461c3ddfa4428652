/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch.c - starts a command as the person who called, held before its first instruction.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/hold_private.h"
#include "util/log.h"
#include "util/privileges.h"

static void become(const struct caller *caller)
{
	if (geteuid() || !caller->uid)
		return;
	if ((caller->name ? initgroups(caller->name, caller->gid) : setgroups(0, NULL)) || setgid(caller->gid) ||
	    setuid(caller->uid))
		_exit(126);
}

/* The child: waits to be seized, becomes the caller, and turns into the command. */
static void run_command(char *const argv[], const struct caller *caller, int gate, int report)
{
	sigset_t none;
	char go;
	int err;

	if (read(gate, &go, 1) != 1)
		_exit(126);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, &caller->files);
	setrlimit(RLIMIT_MEMLOCK, &caller->locked);
	setrlimit(RLIMIT_STACK, &caller->stack);
	become(caller);
	if (!keep_privileges_back())
		_exit(126);
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* Up to the exec, signals passed on. False: it has ended without one, and is collected. */
static bool wait_for_exec(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) == pid) {
		if (!WIFSTOPPED(status))
			return false;
		if (status >> 16 == PTRACE_EVENT_EXEC)
			return true;
		ptrace(PTRACE_CONT, pid, 0, status >> 16 ? 0 : WSTOPSIG(status));
	}
	return false;
}

static int take(pid_t pid, unsigned options, int gate)
{
	char go = 1;

	if (ptrace(PTRACE_SEIZE, pid, 0, options)) {
		int err = -errno;

		log_error("cannot hold the command: %s: is gaspbpf itself run by a debugger or strace?",
			  strerror(-err));
		return err;
	}
	return write(gate, &go, 1) == 1 ? 0 : -errno;
}

int command_fork(struct start *start, char *const argv[], const struct caller *caller)
{
	int gate[2], report[2];

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	if (pipe2(report, O_CLOEXEC)) {
		close(gate[0]);
		close(gate[1]);
		return -errno;
	}
	start->pid = fork();
	if (!start->pid) {
		close(gate[1]); /* so that it ends with us, should we die now */
		run_command(argv, caller, gate[0], report[1]);
	}
	close(gate[0]);
	close(report[1]);
	start->gate = gate[1];
	start->report = report[0];
	if (start->pid > 0)
		return 0;
	command_cancel(start);
	return -EAGAIN;
}

/* Without the word that it may go on, it ends by itself. */
void command_cancel(struct start *start)
{
	close(start->gate);
	close(start->report);
	if (start->pid > 0)
		waitpid(start->pid, NULL, __WALL);
}

int command_take(struct start *start, const char *name, unsigned options)
{
	int err = take(start->pid, options, start->gate);

	if (err) {
		command_cancel(start);
		return err;
	}
	close(start->gate);
	if (!wait_for_exec(start->pid)) {
		err = ECHILD; /* killed before it came so far */
		if (read(start->report, &err, sizeof(err)) != sizeof(err))
			log_error("%s: ended before it was started", log_safe(name));
		else
			log_error("%s: %s: check the command and its path", log_safe(name), strerror(err));
	}
	close(start->report);
	return -err;
}
