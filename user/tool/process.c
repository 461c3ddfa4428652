/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c - the process that a tool library runs in: started without privileges, cut off, listened to.
 *
 * A tool is somebody's code, and gaspbpf runs as root. So the code runs in a process that has become the user who
 * called (sudo), or, where root itself called, in one without any capability: every one is dropped, from the bounding
 * set too, and no exec can bring one back (no_new_privs). It is a new program (gaspbpf-toolhost), so nothing of
 * gaspbpf's memory or descriptors is in it, the maps and rings of the kernel side least of all. It has a session of its
 * own: ^C is for gaspbpf, which then ends it in good order. What it prints comes through pipes.
 */
#include "tool/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/keeper.h"
#include "util/log.h"
#include "util/privileges.h"

#define HOST_NAME "gaspbpf-toolhost"
#define PIPE_SIZE (1 << 20)
#define RELAY_SIZE PIPE_BUF /* so much can be written without waiting where poll() says so */
#define HIGH 64             /* descriptors are parked from here on while 0 to 4 are filled */

/* --- the child ------------------------------------------------------------------ */

/* Its descriptors: 0 to 4, and the program itself, which exec closes. */
static bool arrange_descriptors(const int wanted[5], int *program)
{
	int parked[5];

	for (int i = 0; i < 5; i++) {
		parked[i] = fcntl(wanted[i], F_DUPFD, HIGH);
		if (parked[i] < 0)
			return false;
	}
	*program = fcntl(*program, F_DUPFD, HIGH);
	for (int i = 0; i < 5; i++)
		if (dup2(parked[i], i) < 0)
			return false;
	if (*program < 0 || dup2(*program, 5) < 0)
		return false;
	*program = 5;
	fcntl(5, F_SETFD, FD_CLOEXEC);
	return !syscall(SYS_close_range, 6, ~0U, 0) || errno == ENOSYS;
}

static void default_signals(void)
{
	sigset_t none;

	for (int signal = 1; signal < NSIG; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs between fork and exec, in a process with one thread. */
static void become_host(const struct tool_options *o, const struct caller *caller, const int descriptors[5],
			int program, volatile struct host_status *page)
{
	char *argv[] = { HOST_NAME,
			 (char *)o->library,
			 (char *)(o->ids ?: "default"),
			 (char *)(o->threads ?: "one"),
			 o->true_clock ? "true" : "job",
			 (char *)(o->starpu ?: ""),
			 NULL };
	const char *what = "its descriptors cannot be arranged";

	setsid();
	if (arrange_descriptors(descriptors, &program)) {
		setrlimit(RLIMIT_NOFILE, &caller->files);
		setrlimit(RLIMIT_MEMLOCK, &caller->locked);
		what = "its privileges cannot be dropped";
		if (give_up_privileges(caller)) {
			default_signals();
			prctl(PR_SET_PDEATHSIG, HOST_ORPHANED, 0, 0, 0); /* whatever the tool is doing then */
			syscall(SYS_execveat, program, "", argv, environ, AT_EMPTY_PATH);
			what = "its program " HOST_NAME " cannot be run by this user";
		}
	}
	snprintf((char *)page->error, sizeof(page->error), "%s: %s", what, strerror(errno));
	page->state = HOST_FAILED;
	_exit(126);
}

/* --- starting ---------------------------------------------------------------------- */

/* Beside gaspbpf, or where `make install` puts it. A descriptor or -errno, said. */
static int open_program(void)
{
	char path[PATH_MAX + 64];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash = length > 0 ? memrchr(path, '/', length) : NULL;
	int fd = -1;

	if (slash) {
		strcpy(slash, "/" HOST_NAME);
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (slash && fd < 0) {
		strcpy(slash, "/../libexec/gaspbpf/" HOST_NAME);
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (fd >= 0)
		return fd;
	log_error("tool: %s is neither beside gaspbpf nor in ../libexec/gaspbpf: build or install it again", HOST_NAME);
	return -ENOENT;
}

struct starting {
	int frames[2], output[2], error[2], null, page, program;
};

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_all(struct starting *s)
{
	for (size_t i = 0; i < sizeof(*s) / sizeof(int); i++)
		close_one((int *)s + i);
}

static int open_all(struct starting *s, struct tool_process *p)
{
	memset(s, 0xff, sizeof(*s));
	s->program = open_program();
	if (s->program < 0)
		return s->program;
	s->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s->page = memfd_create("gaspbpf-tool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Sealed, so that nobody over there can take it from under our feet. */
	if (s->null < 0 || s->page < 0 || ftruncate(s->page, sizeof(struct host_status)) ||
	    fcntl(s->page, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) || pipe2(s->frames, O_CLOEXEC) ||
	    pipe2(s->output, O_CLOEXEC) || pipe2(s->error, O_CLOEXEC))
		goto failed;
	p->page = mmap(NULL, sizeof(struct host_status), PROT_READ | PROT_WRITE, MAP_SHARED, s->page, 0);
	if (p->page == MAP_FAILED)
		goto failed;
	return 0;
failed:
	p->page = NULL;
	log_error("tool: cannot be started: %s", strerror(errno));
	return -errno;
}

int process_start(struct tool_process *p, const struct tool_options *options, const struct caller *caller)
{
	struct starting s;
	sigset_t all, before;
	int error = open_all(&s, p);

	if (error) {
		close_all(&s);
		return error;
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before); /* a ^C finds the child in p->pid, or no child */
	p->pid = fork();
	if (!p->pid)
		become_host(options, caller, (int[]){ s.null, s.output[1], s.error[1], s.frames[0], s.page }, s.program,
			    p->page);
	error = p->pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (error) {
		p->pid = 0;
		log_error("tool: cannot be started: %s", strerror(-error));
	} else {
		p->frames = s.frames[1];
		p->relays[0] = (struct relay){ .from = s.output[0], .to = options->output };
		p->relays[1] = (struct relay){ .from = s.error[0], .to = STDERR_FILENO };
		s.frames[1] = s.output[0] = s.error[0] = -1;
		fcntl(p->frames, F_SETFL, O_NONBLOCK);
		/* Where that is too much, it stays as it is. */
		fcntl(p->frames, F_SETPIPE_SZ, options->buffer < PIPE_SIZE ? (int)options->buffer : PIPE_SIZE);
		fcntl(p->relays[0].from, F_SETFL, O_NONBLOCK);
		fcntl(p->relays[1].from, F_SETFL, O_NONBLOCK);
	}
	close_all(&s);
	return error;
}

/* --- listening ------------------------------------------------------------------------ */

/* Bytes that are no text: control characters but the usual ones. Bytes above 127 are taken for UTF-8. */
static uint64_t count_rubbish(const unsigned char *data, size_t size)
{
	uint64_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += (data[i] < ' ' && !strchr("\n\t\r\b\f\033", data[i])) || data[i] == 0 || data[i] == 0x7f;
	return count;
}

/* Terminals are not to be told what they would obey: control characters are shown as ?. */
static void make_harmless(unsigned char *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((data[i] < ' ' && data[i] != '\n' && data[i] != '\t') || data[i] == 0x7f)
			data[i] = '?';
}

static bool relay(struct relay *r)
{
	struct pollfd room = { .fd = r->to, .events = POLLOUT };
	unsigned char data[RELAY_SIZE];
	ssize_t got;

	if (r->from < 0 || poll(&room, 1, 0) <= 0)
		return false; /* whoever reads what we print is slow: the tool waits, the capture does not */
	got = read(r->from, data, sizeof(data));
	if (!got)
		close_one(&r->from);
	if (got <= 0)
		return false;
	r->rubbish += count_rubbish(data, got);
	if (isatty(r->to))
		make_harmless(data, got);
	log_status("%s", "");
	write_all(r->to, data, got); /* where nobody reads it any more, the tool prints in vain */
	return true;
}

bool process_relay(struct tool_process *p)
{
	bool some = false;

	for (int turn = 0; turn < 16; turn++) { /* a tool that prints without end is not to hold us */
		bool now = relay(&p->relays[0]);

		now |= relay(&p->relays[1]);
		some |= now;
		if (!now)
			break;
	}
	return some;
}

bool process_ended(struct tool_process *p)
{
	pid_t got;

	if (!p->pid)
		return true;
	got = waitpid(p->pid, &p->status, WNOHANG);
	if (!got || (got < 0 && errno == EINTR))
		return false;
	p->pid = 0;
	return true;
}

void process_kill(struct tool_process *p)
{
	if (!p->pid)
		return;
	if (!keeper_is_there() || keeper_end(p->pid)) {
		kill(-p->pid, SIGKILL); /* what it has started, too */
		kill(p->pid, SIGKILL);
	}
	while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
		continue;
	p->pid = 0;
}

void process_close_tool(struct tool_process *p)
{
	close_one(&p->frames);
	close_one(&p->relays[0].from);
	close_one(&p->relays[1].from);
	if (p->page)
		munmap((void *)p->page, sizeof(*p->page));
	p->page = NULL;
}
