/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_ranks.h - which process is which rank of which job: part of user/recording's door.
 *
 * A recording may hold several jobs, whose ranks have the same numbers. Then ranks of one parent are one job.
 */
#ifndef GASPBPF_JOB_RANKS_H
#define GASPBPF_JOB_RANKS_H

#include "recording/recording.h"

/* Of finished definitions. NULL: out of memory. */
struct job_ranks;
struct job_ranks *job_ranks_new(const struct definitions *d);
void job_ranks_free(struct job_ranks *ranks);
/* Which process (index) is this rank of the process's job; NO_INDEX: none that is known. */
uint32_t job_ranks_process(const struct job_ranks *ranks, uint32_t process, int64_t rank);
/* A number for the process's job: the same for all of its ranks. */
uint32_t job_ranks_job(const struct job_ranks *ranks, uint32_t process);

#endif
