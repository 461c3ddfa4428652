/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * price.c - what an observed call costs its thread, by the calibration.
 *
 * Three things make a call dearer than the calibrated one, which is made in a tight loop by a process that is observed
 * alone. Other processes that have links of their own in the same place: the kernel asks each of these whether the call
 * is of its process. Words that are read from memory. And caches: a call after work of the job's own finds that of the
 * probes gone. How much of that is gone is not known, only how long ago the thread was in a probe; so between two calls
 * that follow each other at once and two that are COLD_NS apart the price grows evenly.
 */
#include "probe/kernel_private.h"

#define COLD_NS 100000.0 /* a processor's second cache is read once in about this time */

/* Words that are read from memory, by the entry's and the return's program. A decoder reads a few, a text is one look.
 */
static unsigned words_read(const struct site *site)
{
	const struct gb_probe *program = &site->captures[0].program;
	unsigned words = 0;

	for (unsigned i = 0; i < program->entry_ops + program->return_ops && i < GB_OPS; i++) {
		switch (program->ops[i].kind) {
		case GB_OP_STACK:
		case GB_OP_LOAD:
		case GB_OP_TEXT:
		case GB_OP_TEXTS:
		case GB_OP_STACK_WORDS:
		case GB_OP_PATH:
		case GB_OP_PATH_AGAIN:
			words++;
			break;
		case GB_OP_DECODE:
			words += 3;
			break;
		default:
			break;
		}
	}
	return words;
}

struct site_price site_price(const struct kernel *kernel, const struct site *site)
{
	const struct probe_costs *costs = &kernel->costs;
	unsigned holders = held_holders(kernel, site->image->fd, site->probe_offset),
		 links = holders > 1 ? holders - 1 : 0;
	unsigned words = words_read(site) * costs->word, more = links * costs->link;

	return (struct site_price){
		.call = site_cost(site, costs->call) + words + more,
		.cold = site_cost(site, costs->cold) + words + more,
		.skipped = site_cost(site, costs->skipped) + more,
		.cold_skipped = site_cost(site, costs->cold_skipped) + more,
		.links = links,
	};
}

double price_of_call(const struct site_price *price, bool skipped, double gap)
{
	unsigned warm = skipped ? price->skipped : price->call, cold = skipped ? price->cold_skipped : price->cold;

	if (cold <= warm || gap <= 0)
		return warm;
	return warm + (cold - warm) * (gap < COLD_NS ? gap / COLD_NS : 1);
}
