/* SPDX-License-Identifier: BSD-2-Clause */
/* quickest.h - how long the quicker ones of many take that are the same. Private to user/analysis. */
#ifndef GASPBPF_QUICKEST_H
#define GASPBPF_QUICKEST_H

#include <stdint.h>

/* A histogram; begins as zeros. Its first few are not in it: what is done rarely needs no memory. */
struct quickest {
	uint32_t *counts; /* by length; NULL: none yet */
	uint64_t passed;  /* all of them, */
	uint64_t count;   /* and those that are counted */
};

/* One took so many ns. 0 or -ENOMEM. */
int quickest_add(struct quickest *q, uint64_t ns);
/* ns that all but so many percent took at least, and that so many percent took at most, and at least one did. Both are
 * on the safe side by less than 7 %. There must be some. */
uint64_t quickest_at_least(const struct quickest *q, unsigned percent);
uint64_t quickest_at_most(const struct quickest *q, unsigned percent);
void quickest_free(struct quickest *q);

#endif
