/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks.h - ranks that a launcher starts while we are on our way to it, or later.
 */
#ifndef GASPBPF_OBSERVE_RANKS_H
#define GASPBPF_OBSERVE_RANKS_H

#include "target/target.h"

struct job;
struct ranks;

/* Notes who there is below the processes that were asked for; before any of them is looked at. 0 or -errno. */
int ranks_new(struct ranks **ranks, const struct pid_list *asked);
void ranks_free(struct ranks *ranks);
/* This one of those that were asked for is a launcher: not it is observed but what it starts. */
void ranks_launches(struct ranks *ranks, pid_t launcher);
/* Is there a launcher among those that were asked for? False where nobody was (NULL). */
bool ranks_launched(const struct ranks *ranks);
/* Once the kernel side follows: what was started meanwhile is observed, too, and launchers will tell of more. 0 or
 * -errno. */
int ranks_catch_up(struct ranks *ranks, struct job *job);

#endif
