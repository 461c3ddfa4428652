/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * describe.c - what is known of a process once it has been looked at: its name, its rank, its threads.
 */
#include <stdlib.h>

#include "capture/session.h"
#include "util/log.h"
#include "util/text.h"

/* Said once: --profile has nothing to go by. */
static void say_nothing_is_near(struct capture_session *s, const struct process *process)
{
	const struct model *m = s->processes.said_near ? NULL : plan_rank_by_thread(s->plan, process);

	if (!m || !m->affinity)
		return;
	s->processes.said_near = true;
	log_warn("%d (%s): --profile leaves no access of %s out: each thread of the process has a rank of its own, in "
		 "storage that is not read",
		 process->pid, log_safe(process->name), m->name);
}

/*
 * A process that has forked two ranks is none itself: its variable is the value that all began with, or that of the
 * first. Where ranks are told by the environment their parent is a launcher, and has none.
 */
static void find_starter(struct capture_session *s, const struct def_process *def)
{
	struct captured_process *starter = session_process(s, def->parent);
	struct def_process *parent = starter ? &s->d->processes[starter->index] : NULL;

	if (!parent || def->rank < 0 || parent->rank < 0)
		return;
	for (const struct captured_process *p = s->processes.table; p; p = p->hh.next) {
		const struct def_process *other = &s->d->processes[p->index];

		if (other == def || other->parent != def->parent || other->rank < 0 || other->rank == def->rank)
			continue;
		parent->rank = -1;
		if (s->plan->leave_near)
			kernel_set_rank(s->kernel, starter->pid, -1);
		return;
	}
}

static void find_rank(struct capture_session *s, const struct process *process, struct def_process *def)
{
	const struct model *model = plan_rank(s->plan, process, &def->rank);
	bool all_here;
	long ranks;

	if (model) {
		ranks = plan_ranks(s->plan, model, process, &all_here);
		def->ranks = ranks > 0 ? ranks : -1;
		free(def->unit);
		def->unit = copy_text(model->unit ?: "rank");
	}
	if (s->plan->leave_near && def->rank < 0)
		say_nothing_is_near(s, process);
	if (s->plan->leave_near && def->rank >= 0)
		kernel_set_rank(s->kernel, process->pid, def->rank);
}

/* Of a job of pointers-to-shared, whose threads may be processes or not. */
static void find_threads(struct capture_session *s, struct captured_process *p)
{
	const struct model *model = plan_rank_by_thread(s->plan, p->process);
	bool all_here;

	p->threads = model ? plan_ranks(s->plan, model, p->process, &all_here) : s->d->processes[p->index].ranks;
	p->misread = false;
}

void session_describe(struct capture_session *s, struct captured_process *p)
{
	struct def_process *def = &s->d->processes[p->index];

	if (!p->process)
		return;
	free(def->command);
	free(def->name);
	def->parent = p->process->parent;
	def->command = copy_text(p->process->command);
	def->name = copy_text(p->process->name);
	find_rank(s, p->process, def);
	find_threads(s, p); /* it may be another program by now */
	find_starter(s, def);
	if (session_define_unmodelled(s, p->process))
		s->err = -ENOMEM;
	s->processes.described(s, p);
}

void capture_describe_process(struct capture_session *s, pid_t pid)
{
	struct captured_process *p = session_process(s, pid);

	if (p)
		session_describe(s, p);
}
