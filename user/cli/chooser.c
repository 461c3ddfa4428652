/* SPDX-License-Identifier: BSD-2-Clause */
/* chooser.c - the options by which processes are chosen, other than by their numbers. */
#include <limits.h>
#include <pwd.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "nodes/part.h"
#include "util/log.h"

enum { OPTION_COMM = 420, OPTION_CGROUP, OPTION_USER, OPTION_JOB, OPTION_LAUNCHED };

static const struct argp_option option_table[] = {
	{ "comm", OPTION_COMM, "NAME", 0,
	  "Processes of this name ('*' and '?' as usual); may repeat, as --cgroup, --slurm-job and --user: a process "
	  "is chosen if one of them names it",
	  1 },
	{ "cgroup", OPTION_CGROUP, "PATH", 0, "Processes in this cgroup and below it: /system.slice/slurmstepd.scope",
	  1 },
	{ "user", OPTION_USER, "NAME|UID", 0, "Processes of this user", 1 },
	{ "slurm-job", OPTION_JOB, "ID", 0,
	  "Processes of this job on this machine, by its variable in their environment (SLURM_JOB_ID, PBS_JOBID, "
	  "LSB_JOBID, FLUX_JOB_ID ...), or by their cgroup. Everybody writes his processes' environment and name as he "
	  "likes, and may claim another's job; their user and cgroup he does not",
	  1 },
	{ "job", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "launched-from", OPTION_LAUNCHED, "HOST:PORT", 0,
	  "Processes that a launcher's daemon has started here, which answers to it there: the daemon's command line "
	  "names it. 'gaspbpf job -p PID' of the launcher uses it",
	  1 },
	{ 0 }
};

/* An empty name is a shell variable that was not set: it would choose nobody, or everybody outside of all jobs. */
static error_t add_name(struct text_list *list, const char *option, char *name, struct argp_state *state)
{
	if (!*name)
		argp_error(state, "%s: an empty name: give one, or leave the option out", option);
	return -cli_append(list, name);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct chooser *chooser = state->input;

	switch (key) {
	case OPTION_COMM:
		return add_name(&chooser->comms, "--comm", argument, state);
	case OPTION_CGROUP:
		if (*argument != '/')
			argp_error(state, "--cgroup %s: not a path: use one of /proc/PID/cgroup, such as /system.slice",
				   log_safe(argument));
		return -cli_append(&chooser->cgroups, argument);
	case OPTION_USER:
		return add_name(&chooser->users, "--user", argument, state);
	case OPTION_JOB:
		return add_name(&chooser->jobs, "--slurm-job", argument, state);
	case OPTION_LAUNCHED:
		if (!strchr(argument, ':'))
			argp_error(state, "--launched-from %s: give HOST:PORT, as in the daemon's command line",
				   log_safe(argument));
		return -cli_append(&chooser->launchers, argument);
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp chooser_parser = { option_table, parse, NULL, NULL, NULL, NULL, NULL };

/* Names become numbers. 0 or -errno, said. */
static int find_users(struct chooser *chooser)
{
	free(chooser->uids);
	chooser->uids = calloc(chooser->users.count + 1, sizeof(*chooser->uids));
	if (!chooser->uids)
		return -ENOMEM;
	for (size_t i = 0; i < chooser->users.count; i++) {
		const char *name = chooser->users.items[i];
		const struct passwd *entry = getpwnam(name);
		char *end;
		unsigned long uid = entry ? entry->pw_uid : strtoul(name, &end, 10);

		if (!entry && (!*name || *end || uid >= UINT32_MAX)) {
			log_error("--user %s: no such user: give a name or a number that 'id' knows", log_safe(name));
			return -ENOENT;
		}
		chooser->uids[i] = uid;
	}
	return 0;
}

int chooser_wanted(struct process_choice *wanted, struct chooser *chooser, const struct pid_list *pids)
{
	int err = find_users(chooser);

	*wanted = (struct process_choice){
		.pids = pids->pids,
		.npids = pids->count,
		.comms = chooser->comms.items,
		.ncomms = chooser->comms.count,
		.cgroups = chooser->cgroups.items,
		.ncgroups = chooser->cgroups.count,
		.users = chooser->uids,
		.nusers = chooser->users.count,
		.jobs = chooser->jobs.items,
		.njobs = chooser->jobs.count,
		.launchers = chooser->launchers.items,
		.nlaunchers = chooser->launchers.count,
		.node_variable = part_name_variable,
		.node = part_managed_name(),
	};
	return err;
}

bool chooser_is_empty(const struct chooser *chooser)
{
	return !chooser->comms.count && !chooser->cgroups.count && !chooser->users.count && !chooser->jobs.count &&
	       !chooser->launchers.count;
}

void chooser_look_for_cgroups(const struct chooser *chooser)
{
	static const char root[] = "/sys/fs/cgroup";

	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		return; /* not cgroup v2: its tree may be anywhere */
	for (size_t i = 0; i < chooser->cgroups.count; i++) {
		const char *path = chooser->cgroups.items[i];
		char whole[PATH_MAX];

		if (snprintf(whole, sizeof(whole), "%s%s", strncmp(path, root, strlen(root)) ? root : "", path) <
			    (int)sizeof(whole) &&
		    access(whole, F_OK))
			log_warn("--cgroup %s: there is none of this name now: it counts from when it comes",
				 log_safe(path));
	}
}

void chooser_free(struct chooser *chooser)
{
	free(chooser->comms.items);
	free(chooser->cgroups.items);
	free(chooser->users.items);
	free(chooser->jobs.items);
	free(chooser->launchers.items);
	free(chooser->uids);
}
