/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handing_on.h - what relations tell, on its way to the analyses that want it. Private to user/analysis.
 *
 * To find out what belongs together takes about as long as what the analyses make of it. So what is told is put down,
 * and a thread of its own hands it on, some thousand calls at a time, in the order in which it was told.
 */
#ifndef GASPBPF_ANALYSIS_HANDING_ON_H
#define GASPBPF_ANALYSIS_HANDING_ON_H

#include "analysis/analysis.h"

struct handing_on;

/* For all of these that want relations. NULL: out of memory. */
struct handing_on *handing_on_begin(const struct made_analysis *all, size_t count);
/* To be told; good until handing_on_end(). */
const struct relations_ops *handing_on_ops(const struct handing_on *h);
/* All is handed on when it returns; it is freed, too. 0, or the -errno of whoever was told. */
int handing_on_end(struct handing_on *h);

#endif
