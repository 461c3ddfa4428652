/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identity.c - who a process is, and whether it is wanted.
 *
 * Resource managers tell a job's number in the environment of its processes and in the name of their cgroup. The first
 * can be changed by the user, the second not; the environment is asked first since it has the number as users know it.
 *
 * Where a launcher has come by a remote shell there is no such number. But the daemon that it has started here tells on
 * its command line to whom it answers, HOST:PORT, which no other launcher has; its ranks are below that daemon.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/identity.h"
#include "probe/probe.h"
#include "util/text.h"

#define CGROUP_MOST 65536
#define LABEL_MOST 255 /* bytes of a name that is kept */
#define WORDS_MOST 262144
#define GENERATIONS_MOST 64

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

/* Is it there as a whole? "n1:123" is not in "in1:123", nor in "n1:1234". */
static bool names_launcher(const char *text, const char *launcher)
{
	size_t n = strlen(launcher);

	for (const char *at = strstr(text, launcher); at; at = strstr(at + 1, launcher))
		if ((at == text || !is_of_host_name(at[-1])) && !isdigit((unsigned char)at[n]))
			return true;
	return false;
}

/* gaspbpf names it itself, and so does what starts gaspbpf. */
static bool is_daemon_of(pid_t pid, char *const *launchers, size_t count)
{
	char path[32], *text;
	size_t size = 0;
	bool is = false;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	text = read_file_at(AT_FDCWD, path, WORDS_MOST, &size);
	for (size_t i = 0; text && i < size; i++)
		text[i] = text[i] ?: ' ';
	for (size_t i = 0; text && !is && i < count; i++)
		is = names_launcher(text, launchers[i]) && !strstr(text, "--launched-from");
	free(text);
	return is;
}

static bool is_launched(const struct process *process, const struct process_choice *choice)
{
	struct process_identity of[GENERATIONS_MOST];
	size_t count = choice->nlaunchers ? process_lineage(process->pid, of, GENERATIONS_MOST) : 0;
	bool found = false;

	if (count && is_daemon_of(of[0].pid, choice->launchers, choice->nlaunchers))
		return false; /* it is one of those itself: they start each other */
	for (size_t i = 1; !found && i < count; i++)
		found = is_daemon_of(of[i].pid, choice->launchers, choice->nlaunchers);
	return found;
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
	found = found || is_launched(process, choice);
	return found && (tree || !is_elsewhere(process, choice));
}
