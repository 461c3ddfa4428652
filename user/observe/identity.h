/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * identity.h - who a process is, and whether it is chosen.
 */
#ifndef GASPBPF_OBSERVE_IDENTITY_H
#define GASPBPF_OBSERVE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "target/target.h"

/* A process is chosen if one of these names it, or `all`. Lists are the caller's. */
struct process_choice {
	bool all;
	const int *pids;
	size_t npids; /* with all that they start */
	char *const *comms;
	size_t ncomms; /* '*' and '?' as usual */
	char *const *cgroups;
	size_t ncgroups; /* "/system.slice/x.service", or with /sys/fs/cgroup before it: those below it, too */
	const uid_t *users;
	size_t nusers;
	char *const *jobs;
	size_t njobs; /* of the resource manager, by environment or cgroup */
	char *const *launchers;
	size_t nlaunchers; /* HOST:PORT on the command line of a daemon: what that has started */
	/* Of those, not the ones whose environment has another name of their node in this variable; NULL: of all nodes
	 * that this kernel is. */
	const char *node_variable, *node;
	bool brief; /* how many are found is said only where they are of several users */
};

struct about {
	char *exe, *cgroup, *user, *job; /* malloc'ed; "" where not known */
	long rank, size;                 /* -1: not known */
};

/* Reads what names the process, but its rank. 0 or -ENOMEM: nothing is left to free. */
int about_read(struct about *about, const struct process *process);
void about_free(struct about *about);
/* tree: the process is one of those that the choice names by number, or was started by one. */
bool about_wanted(const struct about *about, const struct process *process, const struct process_choice *choice,
		  bool tree);

#endif
