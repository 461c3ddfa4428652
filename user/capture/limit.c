/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit.c - the governor at work on an observation: what it is told, and what becomes of its decisions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "govern/govern.h"
#include "capture/session.h"
#include "util/clock.h"
#include "util/function_name.h"
#include "util/log.h"

#define SAID_MOST 20        /* steps that are said at once; the report has all */
#define TRIAL_NS 40e6       /* two looks, and the time to take breakpoints out */
#define TRIAL_PERF_NS 400e6 /* there they come out one after the other, a tenth of a second each */

struct limit {
	struct governor *governor;
	struct capture_session *session;
	struct plan *plan;
	const struct attach_scope *scope;
	unsigned said;
};

static unsigned site_ns(void *context, uint32_t site, bool skipped)
{
	const struct limit *limit = context;

	return skipped ? limit->session->prices.of[site].skipped : limit->session->prices.of[site].call;
}

static bool is_possible(void *context, uint32_t site, enum level level)
{
	const struct limit *limit = context;

	return level_possible(&limit->plan->sites[site], level);
}

static void say_step(struct limit *limit, const struct def_step *step)
{
	const struct definitions *d = limit->session->d;
	const char *name = function_label(d->probes[step->probe].symbol, FUNCTION_NAME_COLUMNS);
	char text[40];

	if (limit->said++ >= SAID_MOST) {
		if (limit->said == SAID_MOST + 1)
			log_warn("further steps to keep the cost low are in the report");
		return;
	}
	step_text(step, text, sizeof(text));
	if (step->thread == NO_INDEX)
		log_warn("%s: %s from now on: %s", name, text,
			 step->level == STEP_SUMMED ? "to see whether the load has fallen" : "the load has fallen");
	else
		log_warn("%s: %s from now on: probes took %.0f%% of the time of thread %u", name, text,
			 step->share / 100.0, d->threads[step->thread].tid);
}

static void tell_step(struct limit *limit, const struct governed_step *step, uint64_t now)
{
	struct definitions *d = limit->session->d;
	const struct def_step def = {
		.time = now,
		.probe = limit->session->probes.first[step->site],
		.level = (uint32_t)step->level.level,
		.every = step->level.every,
		.thread = step->thread,
		.share = (uint32_t)(10000 * step->share + 0.5),
	};
	uint32_t index = definitions_add_step(d);

	if (index != NO_INDEX)
		d->steps[index] = def;
	say_step(limit, &def);
}

_Static_assert((int)STEP_OUT == (int)LEVEL_OUT && (int)STEP_SUMMED == (int)LEVEL_SUMMED &&
		       (int)STEP_SAMPLED == (int)LEVEL_SAMPLED,
	       "the recording's levels are those of the probes");

static int do_step(void *context, const struct governed_step *step)
{
	struct limit *limit = context;
	uint64_t now = clock_monotonic();
	int err = level_set(limit->session->kernel, limit->plan, &limit->plan->sites[step->site], step->level,
			    limit->scope);

	if (!err)
		tell_step(limit, step, now);
	return err;
}

int capture_limit(struct capture_session *s, struct plan *plan, const struct attach_scope *scope, double budget)
{
	struct limit *limit = calloc(1, sizeof(*limit));
	struct governor_options options = {
		.budget = budget,
		.trial_ns = kernel_rung(s->kernel) == RUNG_PERF ? TRIAL_PERF_NS : TRIAL_NS,
		.cost = site_ns,
		.possible = is_possible,
		.set = do_step,
		.context = limit,
	};

	if (!limit)
		return -ENOMEM;
	*limit = (struct limit){ .governor = governor_new(&options), .session = s, .plan = plan, .scope = scope };
	s->limit = limit;
	s->d->run.budget = (uint32_t)(10000 * budget + 0.5);
	return limit->governor ? 0 : -ENOMEM;
}

static void tell(void *context, const struct capture_thread *thread)
{
	struct capture_session *s = context;

	for (uint32_t site = 0; site < thread->ncalls; site++) {
		const struct capture_calls *calls = &thread->calls[site];
		uint64_t followed = calls->spans + calls->lost + calls->summed;

		if ((followed || calls->skipped) &&
		    governor_count(s->limit->governor, thread->thread, site, false, followed, calls->skipped))
			s->err = -ENOMEM;
	}
}

void capture_govern(struct capture_session *s)
{
	uint64_t now = clock_monotonic();

	if (!s->limit || !governor_is_due(s->limit->governor, now))
		return;
	capture_read_sums(s);
	capture_visit_threads(s, tell, s);
	governor_look(s->limit->governor, now);
}

void session_free_limit(struct capture_session *s)
{
	if (!s->limit)
		return;
	governor_free(s->limit->governor);
	free(s->limit);
}
