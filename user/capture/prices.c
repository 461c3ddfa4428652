/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prices.c - what the observed calls of each thread have cost it so far.
 */
#include <errno.h>
#include <stdlib.h>

#include "capture/session.h"

int session_fit_prices(struct capture_session *s, size_t count)
{
	struct site_price *grown = realloc(s->prices.of, count * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	s->prices.of = grown;
	return 0;
}

void session_set_price(struct capture_session *s, const struct site *site)
{
	s->prices.of[site->id] = site_price(s->kernel, site);
}

void session_renew_prices(struct capture_session *s)
{
	uint64_t changes = kernel_changes(s->kernel);

	if (changes == s->prices.changes)
		return;
	s->prices.changes = changes;
	for (uint32_t site = 0; site < s->probes.count; site++)
		session_set_price(s, &s->plan->sites[site]);
}

void session_price(struct capture_session *s, struct captured_thread *t, uint32_t site, uint64_t calls, bool skipped,
		   double gap)
{
	uint64_t cost;

	if (!calls)
		return;
	cost = (double)calls * price_of_call(&s->prices.of[site], skipped, gap) + 0.5;
	s->totals.cost += cost;
	if (t)
		t->cost += cost;
}

void session_free_prices(struct capture_session *s)
{
	free(s->prices.of);
}
