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

		log_error("cannot hold the command: %s: is gaspbpf itself run by a debugger or strace?", strerror(-err));
		return err;
	}
	return write(gate, &go, 1) == 1 ? 0 : -errno;
}

int command_start(pid_t *pid, char *const argv[], const struct caller *caller, unsigned options)
{
	int gate[2], report[2], err;

	if (pipe2(gate, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (!*pid) {
		close(gate[1]); /* so that it ends with us, should we die now */
		run_command(argv, caller, gate[0], report[1]);
	}
	close(gate[0]);
	close(report[1]);
	err = take(*pid, options, gate[1]);
	close(gate[1]);
	if (err) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, __WALL);
	} else if (!wait_for_exec(*pid)) {
		err = ECHILD; /* killed before it came so far */
		if (read(report[0], &err, sizeof(err)) != sizeof(err))
			log_error("%s: ended before it was started", log_safe(argv[0]));
		else
			log_error("%s: %s: check the command and its path", log_safe(argv[0]), strerror(err));
		err = -err;
	}
	close(report[0]);
	return err;
}
