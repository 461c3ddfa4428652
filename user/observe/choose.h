/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.h - the processes of this machine that somebody asked for by job, user, name or cgroup.
 */
#ifndef GASPBPF_OBSERVE_CHOOSE_H
#define GASPBPF_OBSERVE_CHOOSE_H

#include "observe/identity.h"
#include "probe/probe.h"

/* Does it name processes by more than their numbers? */
bool choice_is_by_description(const struct process_choice *choice);
/*
 * Those of choice->pids first, then those that it describes (again, if it is both). Never this process, what it has
 * started, or what it was started by: a gaspbpf that runs inside the job is no part of it. Says on stderr what was
 * found. 0, or -ENOENT (there is none; said, with what there is near it), or -errno. The caller frees chosen->pids.
 */
int choose_processes(struct pid_list *chosen, const struct process_choice *choice, const struct model_set *models);

#endif
