/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * statistics.c - is a difference between a few repeats more than chance?
 */
#include "util/statistics.h"

#include <math.h>
#include <stdlib.h>

#define TERMS_MOST 100000

void sample_add(struct sample *s, double value)
{
	double before = value - s->mean;

	s->count++;
	s->mean += before / s->count;
	s->squares += before * (value - s->mean);
}

static double variance(const struct sample *s)
{
	return s->count > 1 ? s->squares / (s->count - 1) : 0;
}

double sample_deviation(const struct sample *s)
{
	return sqrt(variance(s));
}

/*
 * The regularised incomplete beta function I_x(a, b), by the hypergeometric series of which all terms are positive
 * (DLMF 8.17.8).
 */
static double beta_series(double x, double a, double b)
{
	double term = 1, sum = 1;

	if (x <= 0)
		return 0;
	for (int n = 0; n < TERMS_MOST && term > sum * 1e-16; n++) {
		term *= (a + b + n) / (a + 1 + n) * x;
		sum += term;
	}
	return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a * sum;
}

/* How likely Student's t is as far from 0 as this, or further (DLMF 8.17: I_x(a, b) = 1 - I_1-x(b, a)). */
static double beyond(double t, double freedom)
{
	double x = freedom / (freedom + t * t), a = freedom / 2, b = 0.5;
	double likely = x < (a + 1) / (a + b + 2) ? beta_series(x, a, b)
						  : 1 - beta_series(t * t / (freedom + t * t), b, a);

	return likely < 0 ? 0 : likely > 1 ? 1 : likely;
}

double welch_test(const struct sample *a, const struct sample *b)
{
	double of_a, of_b, both, freedom;

	if (a->count < 2 || b->count < 2)
		return -1;
	of_a = variance(a) / a->count;
	of_b = variance(b) / b->count;
	both = of_a + of_b;
	if (both <= 0)
		return a->mean == b->mean;
	freedom = both * both / (of_a * of_a / (a->count - 1) + of_b * of_b / (b->count - 1)); /* Satterthwaite's */
	return isfinite(freedom) ? beyond((b->mean - a->mean) / sqrt(both), freedom) : 1;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double false_discovery_limit(double *likelihoods, size_t count, double level)
{
	if (count)
		qsort(likelihoods, count, sizeof(*likelihoods), by_size);
	for (size_t i = count; i; i--)
		if (likelihoods[i - 1] <= level * i / count)
			return likelihoods[i - 1];
	return -1;
}
