/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * only_sums.h - recordings that have no single calls. Private to user/analysis.
 */
#ifndef GASPBPF_ONLY_SUMS_H
#define GASPBPF_ONLY_SUMS_H

#include "analysis/analysis.h"

/* Has it nothing to say where no single calls are known? */
bool needs_calls(const struct analysis *is);

/* What tells the job of its rank from others; NULL: none, or not known. */
const char *report_job(const struct report *r, uint32_t thread);

struct uneven_shares {
	struct finding_share most, least;
};

/* Percent of the thread's time that its calls of the event took. */
typedef double share_of_event(const struct report *r, const struct report_thread *thread, uint32_t event);

/* The two members of one job that are furthest apart. Their threads are NO_INDEX where there are none. 0 or -ENOMEM. */
int report_uneven_in_jobs(const struct report *r, uint32_t event, share_of_event *share, struct uneven_shares *widest);

#endif
