/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings.h - what a finding rests on: findings_evidence.c. Private to user/analysis/findings*.c.
 */
#ifndef GASPBPF_ANALYSIS_FINDINGS_H
#define GASPBPF_ANALYSIS_FINDINGS_H

#include "analysis/profile_data.h"

struct json;

/* The finding's object in the JSON. */
void finding_put(struct json *j, const struct report *r, const struct finding *f);

#endif
