/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * apart.c - probes are put in, and taken out, where no SIGKILL gets at it.
 *
 * To take a breakpoint out the kernel must reach the job's memory, and for a task that has been killed it does not:
 * "uprobe: failed to unregister, leaking uprobe". Then the breakpoint stays in the job, whose every call there is a
 * trap that nobody wants, for as long as it lives. The same where somebody is killed while he puts probes in: the
 * kernel takes back those that are in already. Only a task that is ending takes them out even so: it has had its
 * SIGKILL, and another one does not reach it.
 *
 * So whoever does it is a process of its own, which shares our memory (so that it costs as little as a thread) but none
 * of our descriptors except those that it needs:
 *
 *   - putting in: it has a session of its own, so that what kills us or our group does not kill it, makes the links,
 *     and gives them back over a socket. When we have gone meanwhile, it ends, and they with it.
 *   - taking out: it holds the link while we close ours, and ends. What it holds goes in its end.
 *
 * While one of them has all our descriptors, no other link can be closed: it would not be gone.
 *
 * The thread that waits for such a process shares its thread-local memory with it, too. So that one makes no call of
 * the C library that is a cancellation point.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/kernel_private.h"
#include "util/messages.h"

#define STACK_BYTES (64u << 10)
#define KEPT 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct apart {
	pid_t pid; /* 0: there is none */
	int channel, its_end;
	char *stack;
	sigset_t signals;
	/* What it is to do, and keeps of our descriptors. */
	int kept[KEPT];
	int (*make)(void *context, size_t i);
	void *context;
	size_t count;
};

/* --- there ------------------------------------------------------------------ */

/* Closes all but these, which are in order; some may be -1. */
static bool keep_only(const int kept[KEPT])
{
	unsigned from = 0;

	for (size_t i = 0; i < KEPT; i++) {
		if (kept[i] < 0)
			continue;
		if ((unsigned)kept[i] > from && syscall(SYS_close_range, from, (unsigned)kept[i] - 1, 0u))
			return false;
		from = (unsigned)kept[i] + 1;
	}
	return !syscall(SYS_close_range, from, ~0u, 0u);
}

static bool tell(int to, int32_t result, int descriptor)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec part = { &result, sizeof(result) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (descriptor >= 0) {
		struct cmsghdr *head;

		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &descriptor, sizeof(descriptor));
	}
	return syscall(SYS_sendmsg, to, &message, MSG_NOSIGNAL) == sizeof(result);
}

/* By its end everything that it has goes. */
static int work_apart(void *context)
{
	struct apart *a = context;
	int channel = a->its_end;
	char byte;

	if (a->make)
		syscall(SYS_setsid);
	if (!keep_only(a->kept) || !tell(channel, 0, -1))
		return 1;
	for (size_t i = 0; i < a->count; i++) {
		int fd = a->make(a->context, i);

		if (!tell(channel, fd < 0 ? fd : 0, fd) || fd < 0)
			return 1;
		syscall(SYS_close, fd); /* the other one is on its way */
	}
	syscall(SYS_read, channel, &byte, 1ul); /* until we close it, or have gone */
	return 0;
}

/* --- here ------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void end(struct apart *a)
{
	close(a->channel);
	while (waitpid(a->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	free(a->stack);
}

/* It has told that it has none but its own descriptors. */
static bool is_ready(const struct apart *a)
{
	int32_t result;
	int nothing;

	return pass_receive(a->channel, &result, sizeof(result), &nothing) == sizeof(result);
}

/* False: nobody can do it but we. The lock is held until begun(). */
static bool begin(struct apart *a)
{
	sigset_t all;
	int ends[2];

	pthread_mutex_lock(&lock);
	a->stack = malloc(STACK_BYTES);
	if (!a->stack || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(a->stack);
		return false;
	}
	a->channel = ends[0];
	a->its_end = a->kept[0] = ends[1];
	qsort(a->kept, KEPT, sizeof(*a->kept), by_number);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &a->signals); /* there they would end it in the middle */
	a->pid = clone(work_apart, a->stack + STACK_BYTES, CLONE_VM, a);
	pthread_sigmask(SIG_SETMASK, &a->signals, NULL);
	close(ends[1]);
	if (a->pid > 0 && is_ready(a))
		return true;
	if (a->pid > 0) {
		end(a);
		return false;
	}
	close(a->channel);
	free(a->stack);
	return false;
}

static void begun(void)
{
	pthread_mutex_unlock(&lock);
}

size_t apart_make(int (*make)(void *context, size_t i), void *context, size_t count, const int needed[2], int *fds,
		  int *error)
{
	struct apart a = { .make = make, .context = context, .count = count, .kept = { -1, needed[0], needed[1], -1 } };
	bool there = begin(&a);
	size_t made = 0;

	begun();
	for (*error = 0; made < count; made++) {
		int32_t result = 0;
		int fd = there ? -1 : make(context, made);

		if (there && pass_receive(a.channel, &result, sizeof(result), &fd) != sizeof(result))
			result = -EINTR; /* somebody has ended it */
		*error = result ?: fd < 0 ? (there ? -EMFILE : fd) : 0;
		if (*error)
			break;
		fds[made] = fd;
	}
	if (there)
		end(&a);
	return made;
}

void apart_close(int fd)
{
	struct apart a = { .kept = { -1, fd, -1, -1 } };
	bool there = begin(&a);

	close(fd);
	begun();
	if (there)
		end(&a);
}
