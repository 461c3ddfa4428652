/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve.c - while a job is observed: one turn of whoever observes it, and leaving.
 *
 * Order matters at the end. The kernel side is told to stop first (at once, for all probes), then what is held is let
 * go, then the rings are drained, then the probes are taken out.
 */
#include <sys/wait.h>

#include "observe/command.h"
#include "observe/control.h"
#include "observe/follow.h"
#include "observe/observe.h"
#include "observe/wake.h"
#include "util/clock.h"
#include "util/log.h"

#define DRAIN_EVERY_MS 20
#define CHECK_EVERY_NS 500000000ULL

int job_listen(struct job *job, const int *descriptors, size_t count)
{
	const int own[] = { job->hold ? hold_fd(job->hold) : -1, follow_fd(job->follow), control_fd(job->control) };
	int wake = wake_new(own, sizeof(own) / sizeof(own[0])), err = wake < 0 ? wake : 0;

	for (size_t i = 0; !err && i < count; i++)
		err = wake_add(wake, descriptors[i]);
	job->wake = wake < 0 ? 0 : wake;
	return err;
}

void job_serve(struct job *job)
{
	uint64_t now;

	capture_wait(job->capture, job->wake ?: -1, DRAIN_EVERY_MS);
	command_drain(job);
	control_serve(job->control, job->capture, job->user.dump, job->user.context);
	capture_govern(job->capture);
	follow_changed_files(job->follow);
	follow_catch_up(job->follow);
	now = clock_monotonic();
	if (now - job->checked < CHECK_EVERY_NS)
		return;
	job->checked = now;
	capture_check_processes(job->capture);
	capture_read_sums(job->capture);
	capture_look_at_queues(job->capture, false);
}

void job_leave(struct job *job, void (*show)(size_t done, size_t all))
{
	uint64_t before;

	kernel_set_active(job->kernel, false);
	command_let_go(job, !job_alive(job)); /* its end is told a moment before it can be collected */
	capture_drain(job->capture);
	capture_look_at_queues(job->capture, true);
	before = clock_monotonic();
	attach_remove_all(job->kernel, show);
	log_info("probes taken out in %.1f ms", (clock_monotonic() - before) / 1e6);
}

int job_status(const struct job *job)
{
	if (!job->command_ended)
		return 0;
	return WIFSIGNALED(job->command_status) ? 128 + WTERMSIG(job->command_status)
						: WEXITSTATUS(job->command_status);
}
