/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * past.h - what each thread did lately, to look up what one did while another waited for it. Private to user/analysis.
 *
 * It is fed with what simulate/relations.h tells. A thread's past is a row of pieces of time, one after the other.
 * Where it waited itself, the one that it waited for is to blame, and so on, down to who worked.
 */
#ifndef GASPBPF_ANALYSIS_PAST_H
#define GASPBPF_ANALYSIS_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/deeds.h"

struct pasts;

/* What `sites` has must outlive it. NULL: out of memory. */
struct pasts *pasts_new(const struct definitions *d, const struct same_sites *sites);
void pasts_free(struct pasts *pasts);

/* Both in the order of time, for each thread. 0 or -ENOMEM. */
int past_work(struct pasts *pasts, const struct related_work *work);
int past_call(struct pasts *pasts, const struct related_call *call, const struct waited *waited);

/*
 * Who is to blame for the time in which somebody waited for waited->of, from `from` on: told piece by piece, with the
 * ns of each. passed_on: the one that was waited for waited itself, for this thread. All pieces together are the time
 * until waited->until. 0, or what told() returned.
 */
typedef int past_told(void *context, const struct deed *deed, uint64_t ns, bool passed_on);
int past_blame(const struct pasts *pasts, uint64_t from, const struct waited *waited, past_told *told, void *context);

#endif
