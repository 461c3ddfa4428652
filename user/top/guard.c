/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.c - the terminal is put back, whatever happens to the process that has the screen.
 *
 * A process that crashes, or is killed, leaves the terminal as it is: another screen, no echo, no cursor. So there are
 * two processes. The child measures and draws. The parent holds what the terminal was like, and how it is told to show
 * the normal screen again, and waits. When the child has ended without having done it itself, the parent does it. When
 * the parent is killed, the kernel tells the child to end.
 *
 * The shell looks at the parent. So signals that it gets are passed on; and when the child stops (^Z), having put the
 * terminal back itself, the parent stops, and both go on together.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "top/top.h"
#include "util/log.h"

#include <curses.h>
#include <term.h> /* last: it makes macros of common words */

struct guard {
	pid_t child;
	volatile int *on; /* shared: the screen is on */
	bool is_terminal;
	struct termios before;
	char restore[256];  /* what makes the terminal show the normal screen */
	int errors;         /* file: what is said meanwhile */
	int output;         /* file: what a command prints */
	int standard_error; /* in the child, while the screen is on */
};

const char *screen_refusal(void)
{
	static char why[200];
	const char *term = getenv("TERM");
	int err;

	if (setupterm(NULL, STDOUT_FILENO, &err) != OK) {
		snprintf(why, sizeof(why),
			 "the terminal is not known (TERM=%.40s): set TERM, as in TERM=xterm or TERM=vt100, or use "
			 "--once",
			 term ? log_safe(term) : "");
		return why;
	}
	if (!cursor_address || !clear_screen) {
		snprintf(why, sizeof(why),
			 "this terminal (TERM=%.40s) cannot draw a screen: set TERM to what it is, as in TERM=xterm, "
			 "or use --once",
			 log_safe(term ? term : ""));
		return why;
	}
	return NULL;
}

/* A file without a name. -1: there is no place for it. */
static int open_nameless(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("gaspbpf", MFD_CLOEXEC);
}

static void show_file(int fd, int to)
{
	char buffer[4096];
	off_t at = 0;
	ssize_t got;

	if (fd < 0)
		return;
	while ((got = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		if (write(to, buffer, got) != got)
			return;
		at += got;
	}
}

/* Attributes and colours off, keypad mode off, cursor on, the normal screen. */
static void note_terminal(struct guard *guard)
{
	static const char *const names[] = { "sgr0", "op", "rmkx", "cnorm", "rmcup" };
	int err;

	guard->is_terminal = !tcgetattr(STDIN_FILENO, &guard->before);
	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = tigetstr((char *)names[i]);

		if (text && text != (char *)-1 && strlen(guard->restore) + strlen(text) < sizeof(guard->restore))
			strcat(guard->restore, text);
	}
}

static void restore(const struct guard *guard)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGTTOU, &ignore, NULL); /* the shell may be in front already */
	if (write(STDOUT_FILENO, guard->restore, strlen(guard->restore)) < 0 || !guard->is_terminal)
		return;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &guard->before);
	if (write(STDOUT_FILENO, "\r\n", 2) < 0)
		return;
}

/* True: the child has ended. */
static bool look_at_child(struct guard *guard, int *status)
{
	pid_t pid;

	while ((pid = waitpid(guard->child, status, WNOHANG | WUNTRACED)) == guard->child) {
		if (!WIFSTOPPED(*status))
			return true;
		raise(SIGSTOP);
		kill(guard->child, SIGCONT);
	}
	return pid < 0;
}

static int wait_for_child(struct guard *guard, const sigset_t *set)
{
	siginfo_t info;
	int status = 0;

	while (!look_at_child(guard, &status)) {
		if (sigwaitinfo(set, &info) < 0)
			continue;
		if (info.si_signo == SIGCHLD || (info.si_signo == SIGTSTP && info.si_code == SI_KERNEL))
			continue; /* ^Z: the terminal has told the child, too */
		kill(guard->child, info.si_signo == SIGTSTP ? SIGTSTP : SIGTERM);
	}
	return status;
}

static int stand_guard(struct guard *guard, const sigset_t *set)
{
	int status = wait_for_child(guard, set);
	bool was_on = *guard->on;

	if (was_on)
		restore(guard);
	show_file(guard->output, STDOUT_FILENO);
	show_file(guard->errors, STDERR_FILENO);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	log_error("the part that measures was ended by signal %d (%s): the job runs on, and its probes are out",
		  WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 1;
}

bool guard_start(struct guard **result, int *status)
{
	struct guard *guard = calloc(1, sizeof(*guard));
	pid_t parent = getpid();
	sigset_t set, before;

	*result = guard;
	*status = 1;
	if (!guard)
		return false;
	guard->standard_error = -1;
	guard->on = mmap(NULL, sizeof(*guard->on), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guard->on == MAP_FAILED) {
		log_error("top: no memory to share: %s: free some memory and try again", strerror(errno));
		return false;
	}
	guard->errors = open_nameless();
	guard->output = open_nameless();
	note_terminal(guard);
	sigemptyset(&set);
	for (size_t i = 0; i < 6; i++)
		sigaddset(&set, ((const int[]){ SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP })[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	guard->child = fork();
	if (guard->child < 0) {
		log_error("top: no process of its own: %s: end some processes, or raise the limit (ulimit -u)",
			  strerror(errno));
		return false;
	}
	if (guard->child) {
		*status = stand_guard(guard, &set);
		return false;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	signal(SIGTTOU, SIG_IGN); /* to put the terminal back even when the shell is in front already */
	return true;
}

void guard_screen(struct guard *guard, bool on)
{
	if (on && guard->errors >= 0 && guard->standard_error < 0) {
		guard->standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
		dup2(guard->errors, STDERR_FILENO);
	}
	*guard->on = on;
	if (on || guard->standard_error < 0)
		return;
	dup2(guard->standard_error, STDERR_FILENO);
	close(guard->standard_error);
	guard->standard_error = -1;
}

int guard_output(const struct guard *guard)
{
	return guard->output;
}
