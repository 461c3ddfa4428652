/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader_start.c - the process that starts readers (reader.c asks).
 *
 * A reader may hang for ever, and then another one is needed. Who asks for it has given up the rights that reading a
 * target takes by then, since it looks into what targets' owners have written. This process keeps them, and looks into
 * nothing: it starts readers, says of one what it waits for, and holds a process that is to wait (translator.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/proc.h"
#include "target/reader.h"
#include "target/target.h"
#include "util/call_filter.h"
#include "util/messages.h"
#include "util/privileges.h"

#define STARTER_NAME "gaspbpf-starter"
#define CHANNELS_MOST 64
#define READERS_MOST 512
#define END_MS 100         /* that readers have to end before this process does */
#define NAMESPACES_MOST 32 /* the kernel's own limit */

static struct {
	pid_t pid;
	struct pollfd channels[CHANNELS_MOST];
	size_t nchannels;
	struct pollfd readers[READERS_MOST]; /* their pidfds; SIGCHLD is ignored, so that nobody has to collect them */
	pid_t pids[READERS_MOST];
	size_t nreaders;
} starter;

/* --- readers ------------------------------------------------------------ */

static void forget_ended(void)
{
	poll(starter.readers, starter.nreaders, 0);
	for (size_t i = starter.nreaders; i--;) {
		if (!starter.readers[i].revents)
			continue;
		close(starter.readers[i].fd);
		starter.readers[i] = starter.readers[--starter.nreaders];
		starter.pids[i] = starter.pids[starter.nreaders];
	}
}

/* In the child. */
static int become_reader(int socket)
{
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != starter.pid)
		return 1; /* it had ended before */
	if (dup2(socket, 0) != 0 || syscall(SYS_close_range, 1u, ~0u, 0u))
		return 1;
	error = reader_answers(0);
	return error;
}

/* Its number or -errno. */
static int start(int socket, int *pidfd)
{
	pid_t pid;

	forget_ended();
	if (socket < 0 || starter.nreaders == READERS_MOST)
		return socket < 0 ? -EINVAL : -EAGAIN;
	pid = fork();
	if (!pid)
		_exit(become_reader(socket));
	if (pid < 0)
		return -errno;
	*pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*pidfd < 0) {
		kill(pid, SIGKILL); /* it has ended, at worst: nothing takes its number that soon */
		return -ESRCH;
	}
	starter.pids[starter.nreaders] = pid;
	starter.readers[starter.nreaders++] = (struct pollfd){ .fd = *pidfd, .events = POLLIN };
	return pid;
}

/* 0 where there was such a one. */
static int end_those(pid_t pid, bool all)
{
	int result = -ESRCH;

	for (size_t i = 0; i < starter.nreaders; i++)
		if (all || starter.pids[i] == pid)
			result = syscall(SYS_pidfd_send_signal, starter.readers[i].fd, SIGKILL, NULL, 0) ? -errno : 0;
	return result;
}

static void end_readers(void)
{
	end_those(0, true);
	for (int waited = 0; starter.nreaders && waited < END_MS; waited += 2) {
		poll(NULL, 0, 2);
		forget_ended();
	}
}

/* What runs, or wants to, is only slow, and so is what waits for a page of its own program ("-1" there). */
static bool is_waiting(pid_t pid)
{
	struct proc_stat stat;
	char path[32], *call;
	bool own;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!proc_stat_read(-1, path, &stat) && stat.state == 'R')
		return false;
	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	call = proc_read(-1, path, 256, NULL);
	own = call && (!strncmp(call, "-1 ", 3) || !strncmp(call, "running", 7));
	free(call);
	return !own;
}

/* --- whose processes they are ------------------------------------------- */

static bool same_namespace(int fd)
{
	struct stat theirs, own;

	return fstat(fd, &theirs) || stat("/proc/self/ns/user", &own) ||
	       (theirs.st_ino == own.st_ino && theirs.st_dev == own.st_dev);
}

static uid_t maker_of_namespace(pid_t pid, uid_t uid)
{
	char path[32];
	int fd, above;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < NAMESPACES_MOST && !same_namespace(fd); i++) {
		if (ioctl(fd, NS_GET_OWNER_UID, &uid))
			break;
		above = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = above;
	}
	if (fd >= 0)
		close(fd);
	return uid;
}

/* --- its rights ---------------------------------------------------------- */

/*
 * What it needs, and what its readers do until they have a filter of their own. What else is tried fails, and is not
 * its end: without it nothing more could be read. It can write nowhere: not to files, and not to the memory of whom it
 * holds.
 */
static bool filter_calls(bool samples)
{
	static const struct call_rule rules[] = {
		READER_RULES,
		RULE_ALLOWED(poll),
		RULE_ALLOWED(clone),
		RULE_ALLOWED(pidfd_open),
		RULE_ALLOWED(pidfd_send_signal),
		RULE_ALLOWED(kill),
		RULE_ALLOWED(wait4),
		RULE_ALLOWED(get_robust_list),
		{ SYS_ioctl, RULE_ONE_OF, 1, { NS_GET_OWNER_UID, NS_GET_PARENT } },
		{ SYS_ptrace, RULE_ONE_OF, 0, { PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH } },
		RULE_ALLOWED(rt_sigprocmask),
		RULE_ALLOWED(set_robust_list),
		RULE_ALLOWED(dup2),
		RULE_ALLOWED(close_range),
		RULE_ALLOWED(prctl),
		RULE_ALLOWED(getppid),
		RULE_ALLOWED(capget),
		RULE_ALLOWED(capset),
		RULE_ALLOWED(perf_event_open), /* the last one */
	};
	size_t count = sizeof(rules) / sizeof(rules[0]);

	return calls_allow_only(rules, samples ? count : count - 1, false);
}

/* --- the channels ------------------------------------------------------- */

static bool add_channel(int fd)
{
	if (fd < 0 || starter.nchannels == CHANNELS_MOST)
		return false;
	starter.channels[starter.nchannels++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return true;
}

/* False: the channel is closed. */
static bool serve_one(int channel)
{
	struct starter_request request;
	struct reader_answer answer = { 0 };
	int came, goes = -1;
	ssize_t got = pass_receive(channel, &request, sizeof(request), &came);

	if (got != sizeof(request)) {
		if (came >= 0)
			close(came);
		return false;
	}
	if (request.what == OPEN_CHANNEL && add_channel(came))
		return true;
	if (request.what == START_READER)
		answer.result = start(came, &goes);
	else if (request.what == IS_WAITING)
		answer.result = is_waiting(request.pid);
	else if (request.what == WHOSE_NAMESPACE)
		answer.result = maker_of_namespace(request.pid, request.uid);
	else if (request.what == ROBUST_LIST)
		answer.result = robust_list_here(request.pid);
	else if (request.what == OPEN_SAMPLER)
		answer.result = goes = sampler_open_here(request.pid, request.registers, request.stack);
	else if (request.what == END_READER)
		answer.result = end_those(request.pid, false);
	else if (request.what == HOLD_TASK)
		answer.result = translator_hold_here(request.pid);
	else if (request.what == LET_TASK_GO)
		answer.result = translator_let_go_here(request.pid);
	else
		answer.result = -EINVAL;
	if (came >= 0)
		close(came);
	if (request.what != OPEN_CHANNEL && pass_send(channel, &answer, sizeof(answer), goes) <= 0)
		return false;
	if (request.what == OPEN_SAMPLER && goes >= 0)
		close(goes);
	return true;
}

int starter_serve(int channel, bool samples)
{
	prctl(PR_SET_NAME, STARTER_NAME);
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGCHLD, SIG_IGN);
	starter.pid = getpid();
	if (!keep_privileges_to_read(samples) || !filter_calls(samples))
		return 1;
	add_channel(channel);
	while (starter.nchannels) {
		if (poll(starter.channels, starter.nchannels, -1) < 0 && errno != EINTR)
			break;
		for (size_t i = starter.nchannels; i--;) {
			if (!starter.channels[i].revents || serve_one(starter.channels[i].fd))
				continue;
			close(starter.channels[i].fd);
			starter.channels[i] = starter.channels[--starter.nchannels];
		}
	}
	end_readers();
	return 0;
}
