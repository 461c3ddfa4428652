/* SPDX-License-Identifier: BSD-2-Clause */
/* start.c - children whose output we read. No shell is between us and them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodes/private.h"
#include "util/files.h"
#include "util/log.h"

#define ANSWER_MOST (16u << 20) /* bytes */

/* A group of its own: ^C is for us, and what it means for them we tell them. They do not outlive us. */
static void become(char *const *argv, int in, int out, int errors, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    dup2(errors, STDERR_FILENO) >= 0)
		execvp(argv[0], argv);
	_exit(127);
}

static void close_one(int end)
{
	if (end >= 0)
		close(end);
}

static void close_both(const int pipe[2])
{
	close_one(pipe[0]);
	close_one(pipe[1]);
}

int start_command(char *const *argv, pid_t *pid, int *in, int *out, int *errors)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }, err = 0;
	pid_t parent = getpid();

	for (int i = in ? 0 : 1; !err && i < 3; i++)
		err = pipe2(pipes[i], O_CLOEXEC) ? -errno : 0;
	if (!err) {
		*pid = fork();
		err = *pid < 0 ? -errno : 0;
	}
	if (!err && !*pid)
		become(argv, in ? pipes[0][0] : open("/dev/null", O_RDONLY), pipes[1][1], pipes[2][1], parent);
	if (err) {
		log_error("%s: cannot be started: %s", log_safe(argv[0]), strerror(-err));
		for (int i = 0; i < 3; i++)
			close_both(pipes[i]);
		return err;
	}
	close_one(pipes[0][0]);
	close_one(pipes[1][1]);
	close_one(pipes[2][1]);
	if (in)
		*in = pipes[0][1];
	*out = pipes[1][0];
	*errors = pipes[2][0];
	return 0;
}

/* The errors of such a command are few: they fit into the pipe. */
char *output_of(char *const *argv)
{
	char *text, *told;
	int out, errors, status;
	pid_t pid;

	if (start_command(argv, &pid, NULL, &out, &errors))
		return NULL;
	text = read_open_file(out, ANSWER_MOST, NULL);
	fcntl(errors, F_SETFL, O_NONBLOCK);
	waitpid(pid, &status, 0);
	told = read_open_file(errors, ANSWER_MOST, NULL);
	if (!text || status) {
		if (told)
			told[strcspn(told, "\n")] = 0;
		log_error("%s: %s", log_safe(argv[0]),
			  told && *told ? log_safe(told) : "has failed, or is not installed here");
		free(text);
		text = NULL;
	}
	free(told);
	close(out);
	close(errors);
	return text;
}
