/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * past.h - what each thread did lately, and who is to blame where one waited for another. Private to user/analysis.
 *
 * It is fed with what simulate/relations.h tells. A thread's past is a row of pieces of time, one after the other; what
 * was done in each has a number (deeds.h).
 */
#ifndef GASPBPF_ANALYSIS_PAST_H
#define GASPBPF_ANALYSIS_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/deeds.h"

struct pasts;

/* The deeds' numbers are looked up in `deeds`, and new ones may come in. NULL: out of memory. */
struct pasts *pasts_new(const struct definitions *d, struct deeds *deeds);
void pasts_free(struct pasts *pasts);

/* All of these in the order of relations.h. 0 or -ENOMEM. */
int past_did(struct pasts *pasts, uint32_t deed, uint64_t start, uint64_t end);
int past_meeting(struct pasts *pasts, const struct meeting *meeting);
int past_message(struct pasts *pasts, const struct related_call *sends, const struct related_call *receives);

/*
 * The call waited: who is to blame for that, told deed by deed, with the ns of each. passed_on: not by the one that it
 * waited for, but by one that that one waited for, or so on. All together are the time until waited->until. The wait is
 * then part of its past. 0, -ENOMEM, or what told() returned.
 */
typedef int past_told(void *context, uint32_t deed, uint64_t ns, bool passed_on);
int past_blame(struct pasts *pasts, const struct related_call *call, const struct waited *waited, past_told *told,
	       void *context);

#endif
