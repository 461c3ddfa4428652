/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looking.c - a job that is looked at while it runs.
 */
#include "cli/looking.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "observe/command.h"
#include "util/clock.h"
#include "util/log.h"

#define INTERRUPTED_MS 2000 /* so long may a command take to end after ^C */

static const struct text_list nowhere; /* it writes no files */

int looking_prepare(struct looking *looking, struct choice *choice, const struct observing *observing)
{
	struct job *job = &looking->job;
	int err = cli_load_models(&job->models, choice) ?: cli_need_rights();

	if (err)
		return err;
	observing_prepare(observing, job);
	job->callers = true;
	job->hold_children = true;
	err = cli_new_plan(&job->plan, job->models, choice);
	job->control = control_open();
	return err;
}

int looking_join(struct looking *looking, struct choice *choice, enum scope scope, uint64_t ring_bytes)
{
	struct process_choice wanted;
	int err = chooser_wanted(&wanted, &choice->who, &choice->pids);

	if (err)
		return err;
	wanted.brief = looking->brief;
	earlier_prepare(&looking->earlier, &looking->job);
	return job_open(&looking->job, &wanted, ring_bytes, &nowhere) ?: job_attach(&looking->job, scope);
}

static void locate(void *context, uint32_t site)
{
	capture_locate_site(context, site);
}

/* What tells more of those that the user has named. NULL: none, or too many for a line. */
static const char *name_processes(struct looking *looking, const struct pid_list *pids)
{
	size_t begin = snprintf(looking->named, sizeof(looking->named), "sudo gaspbpf stuck -p "), used = begin;

	for (size_t i = 0; i < pids->count && used < sizeof(looking->named); i++)
		used += snprintf(looking->named + used, sizeof(looking->named) - used, "%s%d", i ? "," : "",
				 pids->pids[i]);
	return used > begin && used < sizeof(looking->named) ? looking->named : NULL;
}

int looking_begin(struct looking *looking, struct choice *choice, const struct observing *observing)
{
	struct job *job = &looking->job;
	int err;

	looking->live = live_new(job->capture, &job->definitions, job->models);
	if (!looking->live)
		return -ENOMEM;
	err = observing_limit(observing, job);
	if (err)
		return err;
	live_begin(looking->live, clock_monotonic());
	if (!job->command)
		earlier_open(&looking->earlier, job);
	cost_begin(&looking->cost, live_now(looking->live));
	looking->cpu = cost_own_cpu();
	looking->top.live = looking->live;
	looking->top.d = &job->definitions;
	looking->top.named = name_processes(looking, &choice->pids);
	looking->top.locate = locate;
	looking->top.locate_context = job->capture;
	if (!looking->brief)
		fprintf(stderr, "gaspbpf: observing %zu process%s; ^C to stop\n", job->nobserved,
			job->nobserved == 1 ? "" : "es");
	return 0;
}

void looking_look(struct looking *looking, bool last)
{
	struct capture_totals totals;
	struct top *top = &looking->top;
	uint64_t cpu = cost_own_cpu();
	int err = live_look(looking->live, last);

	if (err)
		log_debug("a look is incomplete: %s", strerror(-err));
	totals = capture_totals(looking->job.capture);
	top->spans = totals.spans;
	top->lost = totals.gaps > totals.lost ? totals.gaps : totals.lost;
	top->summed = totals.summed;
	top->skipped = totals.skipped;
	top->alive = totals.alive;
	top->ended = last;
	top->own_cpu = live_interval(looking->live) ? (double)(cpu - looking->cpu) / live_interval(looking->live) : 0;
	looking->cpu = cpu;
	earlier_look(&looking->earlier, top);
	cost_now(top->cost, &looking->cost, looking->job.capture, live_now(looking->live));
}

bool looking_is_signalled(struct looking *looking)
{
	struct signalfd_siginfo info;
	bool stop = false;

	while (read(looking->signals, &info, sizeof(info)) == sizeof(info)) {
		looking->interrupted |= info.ssi_signo == SIGINT;
		stop = true;
	}
	return stop;
}

void looking_wait_for_command(struct looking *looking)
{
	struct job *job = &looking->job;

	for (int i = 0; looking->interrupted && job->command && !job->command_ended && i < INTERRUPTED_MS / 10; i++) {
		usleep(10000);
		command_let_go(job, false);
	}
}

void looking_free(struct looking *looking)
{
	top_free(&looking->top);
	earlier_close(&looking->earlier);
	live_free(looking->live);
	job_free(&looking->job);
}
