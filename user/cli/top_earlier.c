/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_earlier.c - the calls that processes were in when the probes came.
 *
 * A probe tells of a call when it begins and ends. Of a job that stands still none does, and that is the job people
 * look at. So threads' stacks are looked at as gaspbpf stuck does it, with the functions that are observed; of a
 * process of which a call was seen, no more.
 */
#include "cli/top_earlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/log.h"

#define LOOK_EVERY 1000000000ULL /* ns */
#define LOOK_SHARE 20            /* so many times as long as a look takes, until the next one */

void earlier_prepare(struct earlier *earlier, struct job *job)
{
	earlier->stuck.looker = looker_new();
	job->sampling = earlier->stuck.looker != NULL;
}

static bool is_meant(const struct def_process *process)
{
	return !process->left_out && !process->end;
}

void earlier_open(struct earlier *earlier, struct job *job)
{
	const struct definitions *d = &job->definitions;
	pid_t *pids = calloc(d->nprocesses + 1, sizeof(*pids));
	size_t count = 0;
	int err;

	for (uint32_t i = 0; pids && i < d->nprocesses; i++)
		if (is_meant(&d->processes[i]))
			pids[count++] = (pid_t)d->processes[i].pid;
	earlier->open = true;
	err = pids ? stuck_open_lent(&earlier->stuck, job->plan, pids, count) : -ENOMEM;
	if (!err)
		err = stuck_look(&earlier->stuck, false);
	free(pids);
	if (!err)
		return;
	log_debug("what threads are in was not looked at: %s", strerror(-err));
	earlier_close(earlier);
}

static void forget(struct earlier *earlier)
{
	for (size_t i = 0; i < earlier->count; i++)
		free(earlier->list[i].place);
	free(earlier->list);
	earlier->list = NULL;
	earlier->count = 0;
}

void earlier_close(struct earlier *earlier)
{
	forget(earlier);
	if (earlier->open)
		stuck_close(&earlier->stuck);
	else
		looker_free(earlier->stuck.looker);
	memset(earlier, 0, sizeof(*earlier));
}

/* Of a process, what its first thread is in, else any other; libraries' own threads wait all day. */
static const struct stuck_thread *who_tells(const struct stuck *stuck, pid_t pid)
{
	const struct stuck_thread *found = NULL;

	for (size_t i = 0; i < stuck->nthreads; i++) {
		const struct stuck_thread *t = &stuck->threads[i];

		if (t->pid != pid || t->is_helper || t->waits_in >= t->ncalls)
			continue;
		if (!found || t->tid == t->pid)
			found = t;
	}
	return found;
}

static bool is_unseen(const struct top *top, uint32_t process)
{
	return is_meant(&top->d->processes[process]) && !live_process(top->live, process, true);
}

static void tell(struct earlier *earlier, const struct top *top, uint32_t process)
{
	const struct def_process *p = &top->d->processes[process];
	const struct stuck_thread *t = is_unseen(top, process) ? who_tells(&earlier->stuck, (pid_t)p->pid) : NULL;
	const struct stuck_call *call = t ? &t->calls[t->waits_in] : NULL;

	if (call)
		earlier->list[earlier->count++] = (struct top_earlier){
			.pid = t->pid,
			.tid = t->tid,
			.event = call->function->event,
			.model = call->function->model->name,
			.place = t->place ? strdup(t->place) : NULL,
			.at_least = call->at_least,
			.likely = call->likely,
		};
}

/* Only those are looked at of which nothing was seen; false: there is none. */
static bool choose_unseen(struct stuck *stuck, const struct top *top)
{
	bool any = false;

	for (size_t i = 0; i < stuck->nprocesses; i++)
		stuck->processes[i].passed_over = true;
	for (uint32_t i = 0; i < top->d->nprocesses; i++) {
		size_t k = 0;

		if (!is_unseen(top, i))
			continue;
		any = true;
		while (k < stuck->nprocesses && stuck->processes[k].process->pid != (pid_t)top->d->processes[i].pid)
			k++;
		if (k < stuck->nprocesses)
			stuck->processes[k].passed_over = false;
	}
	return any;
}

void earlier_look(struct earlier *earlier, struct top *top)
{
	uint64_t now = clock_monotonic();

	if (!earlier->open || now < earlier->next)
		return;
	forget(earlier);
	if (choose_unseen(&earlier->stuck, top) && !stuck_look_anew(&earlier->stuck)) {
		earlier->list = calloc(top->d->nprocesses + 1, sizeof(*earlier->list));
		for (uint32_t i = 0; earlier->list && i < top->d->nprocesses; i++)
			tell(earlier, top, i);
	}
	top->earlier = earlier->list;
	top->nearlier = earlier->count;
	earlier->next = clock_monotonic() + LOOK_SHARE * (clock_monotonic() - now);
	if (earlier->next < now + LOOK_EVERY)
		earlier->next = now + LOOK_EVERY;
}
