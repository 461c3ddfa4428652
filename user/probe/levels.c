/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * levels.c - how much of a function's calls is followed, changed while it is observed.
 *
 * All calls; one in N, the others only counted and their returns not waited for; counts with some durations, and no
 * spans; nothing, the probes out. The first three are a word in the probe table that the kernel side reads at each
 * call. But the trap remains, and with a function that is called millions of times a second that is nearly all of the
 * cost, so the probes themselves must go. For that each function needs links of its own (attach_scope.apart), since a
 * link cannot lose a single one of its places.
 *
 * Taking out: first the word says "only count", with the time, at which calls in progress are taken to end
 * (gb_probe.out_at): their return will not be seen. Then the links are closed in the background. The breakpoints are
 * gone at the beginning of that; what takes tens of milliseconds is waiting until no CPU can be in them any more. Until
 * that is over nothing goes in again: two links on one place would count each call twice.
 *
 * A span that ends at another function's probe (MARK_OPENS) is followed or not: its two functions go out together, and
 * cannot be sampled one by one.
 */
#include <errno.h>
#include <string.h>

#include "probe/kernel_private.h"
#include "util/clock.h"
#include "util/log.h"

static bool is_of_pair(const struct site *site)
{
	return site->no_span || site->function->marks & MARK_OPENS;
}

bool level_possible(const struct site *site, enum level level)
{
	if (site->withdrawn || (level == LEVEL_OUT && site->shares))
		return false;
	if (site->rounds)
		return level == LEVEL_ALL ||
		       level == LEVEL_OUT; /* a call that is only counted cannot be told from a round */
	if (site->no_span || site->uncalled || site->function->marks & MARKS_TELL)
		return level == LEVEL_ALL; /* it goes with its opener; has no links of its own; is half of an event,
					      which only all calls make whole */
	return level == LEVEL_ALL || level == LEVEL_OUT || !is_of_pair(site);
}

static int set_one(struct kernel *kernel, struct plan *plan, struct site *site, struct site_level level,
		   const struct attach_scope *scope)
{
	bool was_out = site->level.level == LEVEL_OUT;
	int err;

	site->level = level;
	site->sampled |= level.level != LEVEL_ALL;
	if (level.level == LEVEL_OUT)
		site->out_at = clock_monotonic();
	err = attach_program(kernel, site);
	if (err)
		log_error("%s: its probe cannot be changed: %s", log_safe(site->function->symbol), strerror(-err));
	else if (level.level == LEVEL_OUT)
		dismiss_site(kernel, site->id);
	else if (was_out)
		err = attach_again(kernel, plan, site, scope);
	return err;
}

int level_set(struct kernel *kernel, struct plan *plan, struct site *site, struct site_level level,
	      const struct attach_scope *scope)
{
	bool in_again = site->level.level == LEVEL_OUT && level.level != LEVEL_OUT;
	int err;

	if (!level_possible(site, level.level))
		return -EINVAL;
	if (in_again && !dismiss_done(kernel))
		return -EBUSY;
	err = set_one(kernel, plan, site, level, scope);
	/* The functions that end its spans. */
	for (size_t i = 0; !err && i < plan->nsites; i++)
		if (plan->sites[i].no_span && plan->sites[i].closes == site->id)
			err = set_one(kernel, plan, &plan->sites[i], level, scope);
	return err;
}
