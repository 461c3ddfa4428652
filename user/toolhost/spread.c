/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spread.c - --tool-threads=process: the tool in a process of its own for each process of the job.
 *
 * Many a tool keeps one number for its whole process: the rank. Told of several ranks in one process, it takes them all
 * for the first. So here this process loads the library, forks at the first event of each process of the job, and from
 * then on only passes frames on: definitions to all, an event to the one that it belongs to. A child has what was known
 * at the fork, goes on as if it were the whole, and ends when its pipe does.
 *
 * gaspbpf watches this process alone. A child that hangs lets its pipe fill up, so this process makes no step either;
 * one that crashes is told of by ending in the same way, with what the child was doing.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "toolhost/host.h"

struct child {
	pid_t pid;                         /* 0: not there */
	int frames;                        /* pipe */
	volatile struct host_status *page; /* its own */
};

struct children {
	struct child *of; /* by process of the job: index */
	size_t count;
};

static void add_up(struct host *h, const struct child *child)
{
	h->status->calls += child->page->calls;
	h->status->events += child->page->events;
	h->status->threads += child->page->threads;
}

/* The tool has ended, and not as it should: gaspbpf is to see what it would have seen of the tool itself. */
static void end_like(struct host *h, const struct child *child, int status)
{
	volatile struct host_status *page = h->status;

	add_up(h, child);
	page->call = child->page->call;
	page->probe = child->page->probe;
	page->type = child->page->type;
	if (child->page->state == HOST_FAILED) {
		memcpy((char *)page->error, (const char *)child->page->error, sizeof(page->error));
		page->state = HOST_FAILED;
	}
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void check(struct host *h, struct child *child, int options)
{
	int status;

	if (waitpid(child->pid, &status, options) != child->pid)
		return;
	if (child->page->state != HOST_ENDING || !WIFEXITED(status) || WEXITSTATUS(status))
		end_like(h, child, status);
	add_up(h, child);
	child->pid = 0;
}

/* In the child: its frames are those of its own pipe, its page is its own. */
static void become_child(struct host *h, struct children *c, struct child *own, int frames)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->of[i].pid)
			close(c->of[i].frames);
	free(c->of);
	if (dup2(frames, HOST_FRAMES) < 0)
		_exit(126);
	close(frames);
	prctl(PR_SET_PDEATHSIG, HOST_ORPHANED, 0, 0, 0);
	signal(SIGPIPE, SIG_DFL);
	h->status = own->page;
	h->status->state = HOST_READY;
	host_forget_frames(h);
}

/* True: this is the child. */
static bool start(struct host *h, struct children *c, struct child *child)
{
	struct child fresh = { .page = mmap(NULL, sizeof(*h->status), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	int pipes[2];

	if (fresh.page == MAP_FAILED || pipe(pipes))
		host_fail(h, "no process for a process of the job: %s: leave out --tool-threads=process",
			  strerror(errno));
	fflush(NULL); /* what loading the library has printed is printed once */
	fresh.pid = fork();
	if (fresh.pid < 0)
		host_fail(h, "no process for a process of the job: %s: leave out --tool-threads=process",
			  strerror(errno));
	if (!fresh.pid) {
		close(pipes[1]);
		become_child(h, c, &fresh, pipes[0]);
		return true;
	}
	close(pipes[0]);
	fresh.frames = pipes[1];
	*child = fresh;
	return false;
}

static void pass_on(struct host *h, struct child *child, const struct wire_head *head, const uint8_t *bytes)
{
	struct wire_head own = *head;
	const struct {
		const void *at;
		size_t size;
	} parts[] = { { &own, sizeof(own) }, { bytes, head->size } };

	for (int i = 0; child->pid && i < 2; i++) {
		const char *at = parts[i].at;
		size_t left = parts[i].size;

		while (left) {
			ssize_t done = write(child->frames, at, left);

			if (done > 0) {
				at += done;
				left -= (size_t)done;
			} else if (errno != EINTR) {
				check(h, child, 0); /* it reads no more: it has ended */
				return;
			}
		}
	}
}

/* The process of the job that a frame is about; NO_INDEX: all. */
static uint32_t process_of_frame(const struct host *h, const struct wire_head *head, const uint8_t *bytes)
{
	struct wire_control control;
	struct wire_event event;
	uint32_t thread = NO_INDEX;

	if (head->kind == WIRE_EVENT && head->size >= sizeof(event)) {
		memcpy(&event, bytes, sizeof(event));
		thread = event.thread;
	} else if (head->kind == WIRE_CONTROL && head->size == sizeof(control)) {
		memcpy(&control, bytes, sizeof(control));
		thread = control.thread;
	}
	return thread < h->d.nthreads ? h->d.threads[thread].process : NO_INDEX;
}

/* Room for as many as are defined. */
static void reach(struct host *h, struct children *c)
{
	struct child *grown;

	if (c->count >= h->d.nprocesses)
		return;
	grown = realloc(c->of, h->d.nprocesses * sizeof(*grown));
	if (!grown)
		host_fail(h, "out of memory");
	memset(grown + c->count, 0, (h->d.nprocesses - c->count) * sizeof(*grown));
	c->of = grown;
	c->count = h->d.nprocesses;
}

bool spread_over_processes(struct host *h)
{
	struct children c = { NULL, 0 };
	struct wire_head head;
	const uint8_t *bytes;

	signal(SIGPIPE, SIG_IGN);
	while (host_take_frame(h, &head, &bytes) && head.kind != WIRE_END) {
		uint32_t process = process_of_frame(h, &head, bytes);

		host_take_definitions(h, &head, bytes);
		reach(h, &c);
		if (process < c.count) {
			if (!c.of[process].page && start(h, &c, &c.of[process]))
				return true;
			pass_on(h, &c.of[process], &head, bytes);
			continue;
		}
		for (size_t i = 0; i < c.count; i++)
			pass_on(h, &c.of[i], &head, bytes);
	}
	for (size_t i = 0; i < c.count; i++)
		if (c.of[i].pid)
			close(c.of[i].frames);
	for (size_t i = 0; i < c.count; i++)
		if (c.of[i].pid)
			check(h, &c.of[i], 0);
	h->status->state = HOST_ENDING;
	_exit(0); /* this process has told the tool nothing */
}
