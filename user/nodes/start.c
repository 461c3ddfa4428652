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
static void become(char *const *argv, int out, int errors, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    dup2(errors, STDERR_FILENO) >= 0)
		execvp(argv[0], argv);
	_exit(127);
}

static void close_both(const int pipe[2])
{
	close(pipe[0]);
	close(pipe[1]);
}

int start_command(char *const *argv, pid_t *pid, int *out, int *errors)
{
	pid_t parent = getpid();
	int one[2], two[2];

	if (pipe2(one, O_CLOEXEC))
		goto failed;
	if (pipe2(two, O_CLOEXEC)) {
		close_both(one);
		goto failed;
	}
	*pid = fork();
	if (!*pid)
		become(argv, one[1], two[1], parent);
	if (*pid < 0) {
		close_both(one);
		close_both(two);
		goto failed;
	}
	close(one[1]);
	close(two[1]);
	*out = one[0];
	*errors = two[0];
	return 0;
failed:
	log_error("%s: cannot be started: %s", log_safe(argv[0]), strerror(errno));
	return -errno;
}

/* The errors of such a command are few: they fit into the pipe. */
char *output_of(char *const *argv)
{
	char *text, *told;
	int out, errors, status;
	pid_t pid;

	if (start_command(argv, &pid, &out, &errors))
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
