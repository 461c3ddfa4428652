/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * translators.c - programs that translate others: valgrind's tools, qemu-user, and the like.
 *
 * A probe is a breakpoint in a process's memory. The processor stops at it and the kernel goes on from there. But who
 * reads the code and translates it, translates the breakpoint, too, and the program that it runs gets a SIGTRAP that
 * nobody handles. A probe for everybody who maps a file is in such a process as in any other, observed or not. So while
 * one lives, probes for everybody are out, and calls are not seen: that is said, and put to account as a blind window.
 *
 * They are known by the names that the kernel gives them at exec (process_translates()), of which it tells for the
 * whole machine, and held until the probes are out. That comes before they have mapped their program's libraries, let
 * alone run a function of theirs.
 */
#include <stdlib.h>

#include "observe/observe.h"
#include "observe/translators.h"
#include "util/clock.h"
#include "util/log.h"

bool translators_take_out(struct translators *t, struct kernel *kernel, struct plan *plan,
			  const struct attach_scope *scope, pid_t pid, bool execed, char comm[TRANSLATOR_NAME])
{
	if (!translators_come(t, pid, comm) || !kernel)
		return false;
	t->since = clock_monotonic();
	if (execed)
		translators_hold(t, pid);
	attach_let_go(kernel, plan, scope);
	translators_let_go(t);
	return true;
}

bool translators_put_back(struct translators *t, struct kernel *kernel, struct plan *plan,
			  const struct attach_scope *scope, uint64_t *blind, int *err)
{
	*err = 0;
	if (!translators_gone(t))
		return false;
	*err = attach_put_back(kernel, plan, scope);
	*blind = clock_monotonic() - t->since;
	return true;
}

void translators_free(struct translators *t)
{
	free(t->pids);
}

/* --- of a job -------------------------------------------------------------- */

static bool has_shared_probes(const struct job *job)
{
	return job->attach.file || job->attach.file_alone;
}

static void probes_come_out(struct job *job, pid_t pid, bool execed)
{
	char comm[TRANSLATOR_NAME];

	if (has_shared_probes(job) &&
	    translators_take_out(&job->translators, job->kernel, job->plan, &job->attach, pid, execed, comm))
		log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: probes "
			 "for everybody (--scope=file) are taken out until it ends, "
			 "calls meanwhile are not seen; probes for single processes (--scope=process) stay",
			 pid, log_safe(comm));
}

void translators_execed(struct job *job, pid_t pid)
{
	probes_come_out(job, pid, true);
}

struct found {
	pid_t pid;
	char comm[TRANSLATOR_NAME];
};

static void find_one(void *context, pid_t pid)
{
	struct found *found = context, one = { .pid = pid };

	if (!found->pid && process_translates(pid, one.comm))
		*found = one;
}

bool translators_allow(const char *instead)
{
	struct found found = { 0 };

	processes_each(find_one, &found);
	if (found.pid)
		log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: %s",
			 found.pid, log_safe(found.comm), instead);
	return !found.pid;
}

static void note_one(void *context, pid_t pid)
{
	probes_come_out(context, pid, false);
}

void translators_find(struct job *job)
{
	if (has_shared_probes(job))
		processes_each(note_one, job);
}

int translators_check(struct job *job)
{
	struct translators *t = &job->translators;
	uint64_t blind;
	int err;

	if (!translators_put_back(t, job->kernel, job->plan, &job->attach, &blind, &err))
		return 0;
	capture_add_window_of_all(job->capture, t->since, t->since + blind, "a translator's start");
	log_warn("probes are in again: for %.1f s calls were not seen", blind / 1e9);
	return err;
}
