/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.c - the governor at work on a whole machine.
 *
 * It wants all figures often, but reading them costs something itself. So the kernel counts the calls of all probes
 * together, and only where these could take a thread more than half of the budget are the figures read; and never for
 * more than a twentieth of the time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/private.h"
#include "util/clock.h"
#include "util/function_name.h"
#include "util/log.h"

#define GLANCE_NS 20000000ULL    /* between two looks at the count of calls */
#define AT_REST_NS 1000000000ULL /* a governor with nothing to fear looks so often */
#define READING_SHARE 20
#define SAID_MOST 20
#define TRIAL_NS 40e6 /* as in user/capture/limit.c */
#define TRIAL_PERF_NS 400e6

static unsigned site_ns(void *context, uint32_t site, bool skipped)
{
	const struct monitor *m = context;

	return site_cost(&m->plan->sites[site], skipped ? m->book.costs.skipped : m->book.costs.call);
}

static bool is_possible(void *context, uint32_t site, enum level level)
{
	const struct monitor *m = context;

	/* Every call is summed already. */
	return level != LEVEL_SUMMED ? level_possible(&m->plan->sites[site], level)
				     : level_possible(&m->plan->sites[site], LEVEL_SAMPLED);
}

static void say_step(struct monitor *m, const struct governed_step *step)
{
	const char *name = function_label(m->plan->sites[step->site].function->symbol, FUNCTION_NAME_COLUMNS);

	if (m->steps_said++ >= SAID_MOST) {
		if (m->steps_said == SAID_MOST + 1)
			log_warn("further steps to keep the cost low are in the figures");
		return;
	}
	if (step->level.level == LEVEL_OUT)
		log_warn("%s: its probes are out for a while: all probes together took %.1f%% of a thread's time", name,
			 100 * step->share);
	else if (step->level.every > 1)
		log_warn("%s: every call is counted, one in %u timed from now on", name, step->level.every);
	else
		log_warn("%s: every call is timed again: the load has fallen", name);
}

static int do_step(void *context, const struct governed_step *step)
{
	struct monitor *m = context;
	struct site *site = &m->plan->sites[step->site];
	uint32_t event = m->book.event_of[step->site];
	uint64_t now = clock_monotonic();
	int err = level_set(m->kernel, m->plan, site, step->level, &m->scope);

	if (err)
		return err;
	if (event != NO_EVENT && step->level.level == LEVEL_OUT && !m->book.events[event].out_since)
		m->book.events[event].out_since = now;
	say_step(m, step);
	return 0;
}

int limits_new(struct monitor *m)
{
	struct governor_options options = {
		.budget = m->options.budget,
		.trial_ns = kernel_rung(m->kernel) == RUNG_PERF ? TRIAL_PERF_NS : TRIAL_NS,
		.cost = site_ns,
		.possible = is_possible,
		.set = do_step,
		.context = m,
	};

	governor_free(m->governor);
	m->governor = m->options.budget > 0 ? governor_new(&options) : NULL;
	m->book.governor = m->governor;
	return m->options.budget > 0 && !m->governor ? -ENOMEM : 0;
}

static bool some_are_limited(const struct monitor *m)
{
	for (size_t i = 0; i < m->plan->nsites; i++)
		if (m->plan->sites[i].level.level != LEVEL_ALL)
			return true;
	return false;
}

/* Could the calls since the last glance, were they all one thread's, be too much? */
static bool could_be_much(struct monitor *m, uint64_t now)
{
	unsigned most = 0;
	struct kernel_counts counts;
	double cost;

	if (kernel_read_counts(m->kernel, &counts))
		return true;
	for (int class = 0; class < SITE_CLASSES; class ++)
		most = m->book.costs.call[class] > most ? m->book.costs.call[class] : most;
	cost = (double)(counts.summed - m->counted) * 2 * most; /* two: a call and its return */
	cost /= now - m->counted_at ?: 1;
	m->counted = counts.summed;
	m->counted_at = now;
	return cost > m->options.budget / 2;
}

int limits_govern(struct monitor *m)
{
	uint64_t now = clock_monotonic();
	int err;

	if (!m->governor || now - m->counted_at < GLANCE_NS)
		return 0;
	m->busy = could_be_much(m, now) || some_are_limited(m);
	if (!m->busy && now - m->read_at < AT_REST_NS)
		return 0;
	if (now - m->read_at < READING_SHARE * m->read_took)
		return 0;
	err = monitor_read(m, true);
	governor_look(m->governor, clock_monotonic());
	return err;
}
