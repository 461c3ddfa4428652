/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings.h - what a finding rests on: findings_evidence.c. Private to user/analysis/findings*.c.
 */
#ifndef GASPBPF_ANALYSIS_FINDINGS_H
#define GASPBPF_ANALYSIS_FINDINGS_H

#include "analysis/profile_data.h"

struct json;
struct printer;

/* findings_symptoms.c: a wait is no finding beside its cause. */
bool findings_is_symptom(const struct report *r, const struct finding *finding);
/* Symptoms become those of their causes; the findings are sorted. 0 or -ENOMEM. */
int findings_fold(struct report *r);
/* findings_starved.c: of threads that had no processor, and are late by what they do, that comes before. */
void findings_sort_starved(struct report *r);
/* And what is said of the processors tells where; the findings have their numbers. 0 or -ENOMEM. */
int findings_refer_starved(struct report *r);
/* "seen as: ...", below the cause. */
void findings_print_symptoms(const struct printer *p, size_t cause);

/* The finding's object in the JSON. */
void finding_put(struct json *j, const struct report *r, const struct finding *f);

#endif
