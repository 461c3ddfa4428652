/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prices.c - what the observed calls of each thread have cost it so far.
 */
#include "capture/session.h"

void session_renew_prices(struct capture_session *s)
{
	uint64_t changes = kernel_changes(s->kernel);

	if (changes == s->priced_changes)
		return;
	s->priced_changes = changes;
	for (uint32_t site = 0; site < s->nfirst; site++)
		s->prices[site] = site_price(s->kernel, &s->plan->sites[site]);
}

void session_price(struct capture_session *s, struct captured_thread *t, uint32_t site, uint64_t calls, bool skipped,
		   double gap)
{
	uint64_t cost;

	if (!calls)
		return;
	cost = (double)calls * price_of_call(&s->prices[site], skipped, gap) + 0.5;
	s->totals.cost += cost;
	if (t)
		t->cost += cost;
}
