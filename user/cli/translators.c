/*
 * translators.c - programs that translate others, beside a job whose files have probes for everybody.
 *
 * A breakpoint for everybody who maps a file is in their memory, too, and kills the program that they run. So while one lives these probes are out: the job's calls
 * are not seen, which is said, and stands in the recording as a blind window of each of its processes. The kernel tells of every exec on the machine; between
 * that and the first code of a library that the translated program maps there are tens of milliseconds.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

#include "cli/job.h"
#include "cli/translators.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

static bool has_shared_probes(const struct job *job)
{
	return job->attach.file || job->attach.file_alone;
}

void translators_execed(struct job *job, pid_t pid)
{
	struct translators *t = &job->translators;
	char comm[TRANSLATOR_NAME];

	if (!has_shared_probes(job) || !process_translates(pid, comm))
		return;
	for (size_t i = 0; i < t->count; i++)
		if (t->pids[i] == pid)
			return;
	if (array_one_more(&t->pids, &t->room, t->count, sizeof(*t->pids)))
		return;
	t->pids[t->count++] = pid;
	if (t->count > 1)
		return;
	t->since = clock_monotonic();
	attach_let_go(job->kernel, job->plan, &job->attach);
	log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: probes for everybody (--scope=file) are taken out until it ends, "
		 "calls meanwhile are not seen; probes for single processes (--scope=process) stay", pid, log_safe(comm));
}

static void each_process(void (*take)(void *context, pid_t pid), void *context)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			take(context, atoi(entry->d_name));
	if (dir)
		closedir(dir);
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

	each_process(find_one, &found);
	if (found.pid)
		log_warn("%d (%s) translates another program, which would die of breakpoints in its libraries: %s", found.pid, log_safe(found.comm), instead);
	return !found.pid;
}

static void note_one(void *context, pid_t pid)
{
	translators_execed(context, pid);
}

void translators_find(struct job *job)
{
	if (has_shared_probes(job))
		each_process(note_one, job);
}

int translators_check(struct job *job)
{
	struct translators *t = &job->translators;
	size_t before = t->count;
	char comm[TRANSLATOR_NAME];
	uint64_t now;
	int err;

	for (size_t i = 0; i < t->count;) {
		if (process_translates(t->pids[i], comm))
			i++;
		else
			t->pids[i] = t->pids[--t->count];
	}
	if (!before || t->count)
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
