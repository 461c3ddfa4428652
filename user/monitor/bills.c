/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bills.c - what the probes have cost all threads so far, by the calibration.
 *
 * The kernel keeps calls, and what a call costs changes while it keeps them: with each process that gets links of its
 * own. So at each reading the calls since the last one are paid at the present price. The total never falls.
 */
#include <string.h>

#include "monitor/tally.h"

void bills_begin(struct tally_book *book)
{
	for (size_t i = 0; i < book->nbills; i++) {
		struct bill *bill = &book->bills[i];

		bill->followed = bill->followed_ended;
		bill->skipped = bill->skipped_ended;
		bill->threads = 0;
	}
}

void bills_add(struct tally_book *book, uint32_t site, const struct gb_sum *sum, bool ended)
{
	struct bill *bill = &book->bills[site];

	bill->threads++;
	bill->followed += sum->lost + sum->summed;
	bill->skipped += sum->skipped;
	if (!ended)
		return;
	bill->followed_ended += sum->lost + sum->summed;
	bill->skipped_ended += sum->skipped;
}

/* A thread that was told of for the first time may bring calls of long before: more than time allows are taken to have
 * followed each other. */
static void pay(struct tally_book *book, struct bill *bill, double elapsed)
{
	double followed = bill->followed > bill->followed_paid ? bill->followed - bill->followed_paid : 0;
	double skipped = bill->skipped > bill->skipped_paid ? bill->skipped - bill->skipped_paid : 0;
	double gap = followed + skipped ? elapsed * bill->threads / (followed + skipped) : 0;

	book->cost += followed * price_of_call(&bill->price, false, gap) +
		      skipped * price_of_call(&bill->price, true, gap);
	bill->followed_paid = bill->followed;
	bill->skipped_paid = bill->skipped;
}

void bills_pay(struct tally_book *book, uint64_t now, bool again)
{
	uint64_t changes = kernel_changes(book->kernel);
	double elapsed = book->billed ? now - book->billed : 0;

	for (size_t i = 0; i < book->nsites && i < book->nbills; i++) {
		if (changes != book->billed_changes || !book->bills[i].price.call)
			book->bills[i].price = site_price(book->kernel, &book->plan->sites[i]);
		pay(book, &book->bills[i], elapsed);
	}
	book->billed = now;
	book->billed_changes = changes;
	if (again)
		memset(book->bills, 0, book->nbills * sizeof(*book->bills));
}
