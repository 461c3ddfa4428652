/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identity.c - who a process is, and whether it is wanted.
 *
 * Resource managers tell a job's number in the environment of its processes and in the name of their cgroup. The first
 * can be changed by the user, the second not; the environment is asked first since it has the number as users know it.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/identity.h"
#include "probe/probe.h"

#define CGROUP_MOST 65536
#define LABEL_MOST 255 /* bytes of a name that is kept */

static const char *const job_variables[] = {
	"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "OAR_JOB_ID", "COBALT_JOBID", "JOB_ID",
};

static char *short_copy(const char *text)
{
	return strndup(text ?: "", LABEL_MOST);
}

/* The path in the line of cgroup v2 ("0::/a/b"), else in the first line. */
static char *read_cgroup(const struct process *process)
{
	char *text = read_file_at(process->proc_fd, "cgroup", CGROUP_MOST, NULL), *rest = text, *line, *found = NULL;

	while (text && (line = strsep(&rest, "\n"))) {
		char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path || (found && strncmp(line, "0::", 3)))
			continue;
		free(found);
		found = strndup(path + 1, PATH_MAX);
	}
	free(text);
	return found ?: strdup("");
}

/* "job_123" as a part of a path: its number. */
static char *job_of_cgroup(const char *cgroup)
{
	const char *at = strstr(cgroup, "/job_");
	size_t n = 0;

	if (!at)
		return NULL;
	at += strlen("/job_");
	while (isdigit((unsigned char)at[n]))
		n++;
	return n && (!at[n] || at[n] == '/') ? strndup(at, n) : NULL;
}

static char *find_job(const struct process *process, const char *cgroup)
{
	char *job = NULL;

	for (size_t i = 0; !job && i < sizeof(job_variables) / sizeof(job_variables[0]); i++) {
		const char *text = process_getenv(process, job_variables[i]);

		if (text && *text)
			job = short_copy(text);
	}
	return job ?: job_of_cgroup(cgroup) ?: strdup("");
}

static char *user_name(uid_t uid)
{
	char buffer[4096], *name;
	struct passwd entry, *found = NULL;

	if (!getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) && found)
		return short_copy(found->pw_name);
	return asprintf(&name, "%u", uid) < 0 ? NULL : name;
}

static char *read_exe(const struct process *process)
{
	char path[PATH_MAX];

	return strdup(process_program_path(process, path, sizeof(path)) > 0 ? path : "");
}

void about_free(struct about *about)
{
	free(about->exe);
	free(about->cgroup);
	free(about->user);
	free(about->job);
	*about = (struct about){ 0 };
}

int about_read(struct about *about, const struct process *process)
{
	*about = (struct about){ .rank = -1, .size = -1 };
	about->cgroup = read_cgroup(process);
	about->exe = read_exe(process);
	about->user = user_name(process->uid);
	about->job = about->cgroup ? find_job(process, about->cgroup) : NULL;
	if (about->exe && about->cgroup && about->user && about->job)
		return 0;
	about_free(about);
	return -ENOMEM;
}

/* --- wanted ------------------------------------------------------------ */

#define CGROUP_ROOT "/sys/fs/cgroup"

/* Is the one path the other, or below it? */
static bool is_below(const char *path, const char *top)
{
	size_t n;

	if (!strncmp(top, CGROUP_ROOT, strlen(CGROUP_ROOT)) &&
	    (top[strlen(CGROUP_ROOT)] == '/' || !top[strlen(CGROUP_ROOT)]))
		top += strlen(CGROUP_ROOT);
	n = strlen(top);
	while (n && top[n - 1] == '/')
		n--;
	return !strncmp(path, top, n) && (path[n] == '/' || !path[n]);
}

/* Several nodes may share a kernel: in a test cluster they do. */
static bool is_elsewhere(const struct process *process, const struct process_choice *choice)
{
	const char *node = choice->node ? process_getenv(process, choice->node_variable) : NULL;

	return node && *node && strcmp(node, choice->node);
}

bool about_wanted(const struct about *about, const struct process *process, const struct process_choice *choice,
		  bool tree)
{
	char *of_cgroup;
	bool found = choice->all || tree;

	for (size_t i = 0; !found && i < choice->ncomms; i++)
		found = name_matches(choice->comms[i], process->name);
	for (size_t i = 0; !found && i < choice->ncgroups; i++)
		found = is_below(about->cgroup, choice->cgroups[i]);
	for (size_t i = 0; !found && i < choice->nusers; i++)
		found = process->uid == choice->users[i];
	of_cgroup = !found && choice->njobs ? job_of_cgroup(about->cgroup) : NULL;
	for (size_t i = 0; !found && i < choice->njobs; i++)
		found = !strcmp(about->job, choice->jobs[i]) || (of_cgroup && !strcmp(of_cgroup, choice->jobs[i]));
	free(of_cgroup);
	return found && (tree || !is_elsewhere(process, choice));
}
