/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * statistics.h - is a difference between a few repeats more than chance?
 */
#ifndef GASPBPF_STATISTICS_H
#define GASPBPF_STATISTICS_H

#include <stddef.h>

/* Begins as zeros. */
struct sample {
	size_t count;
	double mean, squares; /* squares: sum of the squared distances from the mean */
};

void sample_add(struct sample *sample, double value);
/* Standard deviation of what was drawn from; 0 where there are less than two values. */
double sample_deviation(const struct sample *sample);

/*
 * Welch's t-test, two-sided: how likely two samples of one and the same distribution have means as far apart as these
 * or further, without the assumption that both scatter alike. Below 0: one of them has less than two values. Where
 * neither scatters at all it is 0 if they differ, else 1.
 */
double welch_test(const struct sample *a, const struct sample *b);

/*
 * Of many such likelihoods, those up to which ones are below what chance explains: of all that are taken, no more than
 * `level` on average are taken wrongly (Benjamini and Hochberg 1995). Sorts them. Below 0: none.
 */
double false_discovery_limit(double *likelihoods, size_t count, double level);

#endif
