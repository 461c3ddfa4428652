/*
 * translators.c - programs that translate others, beside a job whose files have probes for everybody.
 *
 * A breakpoint for everybody who maps a file is in their memory, too, and kills the program that they run. So while one lives these probes are out: the job's calls
 * are not seen, which is said, and stands in the recording as a blind window of each of its processes. The kernel tells of every exec on the machine; the translator
 * is held until the probes are out.
 */
#include <stdlib.h>

#include "cli/job.h"
#include "cli/translators.h"
#include "util/clock.h"
#include "util/log.h"

static bool has_shared_probes(const struct job *job)
{
	return job->attach.file || job->attach.file_alone;
}

static void probes_come_out(struct job *job, pid_t pid, bool execed)
{
	struct translators *t = &job->translators;
	char comm[TRANSLATOR_NAME];

	if (!has_shared_probes(job) || !translators_come(t, pid, comm))
		return;
	t->since = clock_monotonic();
	if (execed)
		translators_hold(t, pid);
	attach_let_go(job->kernel, job->plan, &job->attach);
	translators_let_go(t);
	log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: probes for everybody (--scope=file) are taken out until it ends, "
		 "calls meanwhile are not seen; probes for single processes (--scope=process) stay", pid, log_safe(comm));
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
		log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: %s", found.pid, log_safe(found.comm), instead);
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
	uint64_t now;
	int err;

	if (!translators_gone(t))
		return 0;
	err = attach_put_back(job->kernel, job->plan, &job->attach);
	now = clock_monotonic();
	capture_add_window_of_all(job->capture, t->since, now, "a translator's start");
	log_warn("probes are in again: for %.1f s calls were not seen", (now - t->since) / 1e9);
	return err;
}

void translators_free(struct translators *t)
{
	free(t->pids);
}
