/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/chance.h"

#include <math.h>

#define LEVEL 0.001

/* How likely k or more of n are where each comes with probability p. */
static double tail(uint64_t n, uint64_t k, double p)
{
	double sum = 0;

	if (!k)
		return 1;
	for (uint64_t i = k; i <= n; i++) {
		double term = exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
				  (n - i) * log1p(-p));

		sum += term;
		if (term < sum * 1e-9)
			break;
	}
	return sum < 1 ? sum : 1;
}

bool is_persistently_last(uint64_t last, uint64_t meetings, size_t members)
{
	double share = members ? 1.0 / members : 1, often = fmin(2 * share, (1 + share) / 2);

	return members > 1 && meetings >= LEAST_MEETINGS && last >= often * meetings &&
	       tail(meetings, last, share) < LEVEL / members;
}
