/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_identity.h - who a process is, and whether it is wanted. Private to user/monitor.
 */
#ifndef GASPBPF_MONITOR_PROCESS_IDENTITY_H
#define GASPBPF_MONITOR_PROCESS_IDENTITY_H

#include "monitor/monitor.h"

struct about {
	char *exe, *cgroup, *user, *job; /* malloc'ed; "" where not known */
	long rank, size;                 /* -1: not known */
};

/* Reads what names the process. 0 or -ENOMEM: nothing is left to free. */
int about_read(struct about *about, const struct process *process);
void about_free(struct about *about);
/* By the models whose functions the process maps; their rank may become known only once the program has begun. */
void about_rank(struct about *about, const struct plan *plan, const struct process *process);
/* tree: the process is one of those that the choice names by number, or was started by one. */
bool about_wanted(const struct about *about, const struct process *process, const struct monitor_choice *choice,
		  bool tree);

#endif
