/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks.c - ranks that a launcher starts while we are on our way to it, or later.
 *
 * From the look at /proc that finds the ranks to the moment when the kernel side tells of forks it takes a while (files
 * are read, probes are placed), and a launcher on a busy machine takes as long to start all of its ranks. What was
 * forked in between nobody tells. So who is there is noted before the first look; when forks are told, who has come
 * since is taken for what a fork would have been. Whoever forks between that look and its own entry into the set of
 * targets is found by one more look, so that goes on until one shows nobody new.
 *
 * A launcher is followed for its forks alone. It and what is below it are targets of the kernel side, and what they
 * start is of interest once it has become another program (follow.c asks launchers.c then). So a script is followed to
 * its end, from one job that it runs to the next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "observe/follow.h"
#include "observe/observe.h"
#include "observe/launchers.h"
#include "observe/ranks.h"
#include "probe/probe.h"
#include "target/target.h"

#define LOOKS_MOST 100 /* who forks faster than one can look is not waited for */

/* A process that was asked for. */
struct asked {
	pid_t pid;
	bool launches; /* what it starts is observed in its place */
	pid_t *below;  /* all that were seen below it; in ascending order */
	size_t nbelow;
};

struct ranks {
	struct asked *asked;
	size_t nasked;
};

void ranks_free(struct ranks *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nasked; i++)
		free(r->asked[i].below);
	free(r->asked);
	free(r);
}

int ranks_new(struct ranks **result, const struct pid_list *asked)
{
	struct ranks *r = *result = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->asked = calloc(asked->count + 1, sizeof(*r->asked));
	if (!r->asked)
		return -ENOMEM;
	for (size_t i = 0; i < asked->count; i++) {
		struct asked *one = &r->asked[r->nasked++];

		one->pid = asked->pids[i];
		err = process_descendants(one->pid, NULL, &one->below, &one->nbelow);
		if (err)
			return err;
	}
	return 0;
}

void ranks_launches(struct ranks *r, pid_t launcher)
{
	for (size_t i = 0; i < r->nasked; i++)
		if (r->asked[i].pid == launcher)
			r->asked[i].launches = true;
}

bool ranks_launched(const struct ranks *r)
{
	for (size_t i = 0; r && i < r->nasked; i++)
		if (r->asked[i].launches)
			return true;
	return false;
}

static int by_number(const void *left, const void *right)
{
	const pid_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool was_there(const struct asked *asked, pid_t pid)
{
	return asked->nbelow && bsearch(&pid, asked->below, asked->nbelow, sizeof(pid), by_number);
}

/* Who has come below it since the look before; *came: somebody has. 0 or -errno. */
static int look_again(struct ranks *r, struct asked *asked, struct job *job, bool *came)
{
	pid_t *below;
	size_t count;
	int err = process_descendants(asked->pid, NULL, &below, &count);

	for (size_t i = 0; !err && i < count; i++) {
		if (was_there(asked, below[i]))
			continue;
		*came = true;
		err = kernel_add_target(job->kernel, below[i]);
		if (!err)
			follow_missed(job->follow, below[i]);
	}
	if (err) {
		free(below);
		return err;
	}
	free(asked->below);
	asked->below = below;
	asked->nbelow = count;
	return 0;
}

static int follow_launcher(const struct asked *asked, struct job *job)
{
	int err = kernel_add_target(job->kernel, asked->pid);

	if (!err)
		capture_leave_out(job->capture, asked->pid, LEFT_OUT_LAUNCHER);
	for (size_t i = 0; !err && i < asked->nbelow; i++) {
		err = kernel_add_target(job->kernel, asked->below[i]);
		if (!err && !capture_knows(job->capture, asked->below[i]))
			launchers_admit(job->launchers, asked->below[i], SETTLED); /* one that it has started */
	}
	return err;
}

int ranks_catch_up(struct ranks *r, struct job *job)
{
	bool came = true;
	int err = 0;

	for (size_t i = 0; !err && i < r->nasked; i++)
		if (r->asked[i].launches)
			err = follow_launcher(&r->asked[i], job);
	for (int looks = 0; !err && came && looks < LOOKS_MOST; looks++) {
		came = false;
		for (size_t i = 0; !err && i < r->nasked; i++)
			err = look_again(r, &r->asked[i], job, &came);
	}
	return err;
}
