/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * govern.c - keeps what observing costs below a limit (--max-overhead).
 *
 * Problem: a function may be called once a minute or thirty million times a second, nobody knows beforehand, and it
 * changes with the phases of the job. At the second rate even a probe that only counts makes the job ten times slower.
 *
 * What is known at each look (every 20 ms or so): how often each thread called each observed function since the last
 * look, and, by the calibration, what each of these calls cost. From that:
 *
 *   share    of a thread's time that went into probes. It is averaged over about a second (AVERAGE_NS), so that a short
 * burst is no offence, while a storm is one after 20 ms. rate     at which the thread would call a function if there
 * were no probes. A thread that spends 90 % of its time in them would call ten times as often without: so calls are
 * divided by the time that was left to the job. held     the highest rate of late, which decays over some seconds: what
 * one has to reckon with when giving back.
 *
 * Taking away: a thread's averaged share is above the budget, and the rates of the last look say that it will stay
 * there. Where it would stay there even if all calls were only counted, its dearest functions go out, one after the
 * other, until that is no more so: steps in between would only cost. Then the dearest of the others go to the richest
 * level at which the thread is below AIM of the budget: one call in 2, in 4 ... in SAMPLE_MOST, then counts only. A
 * level is for all threads of all processes.
 *
 * Giving back: a function that has been at its level for a while (REST_NS) goes to the richest level at which no thread
 * would be above AIM of the budget, reckoned with the held rates. Of one whose probes are out nothing is known. So
 * after a pause they are put in for one look, as counts only, to see. If that shows a storm, the function is out again
 * at once and the pause doubles. A trial costs the storm's thread some tens of milliseconds; the first pause is so long
 * that trials take a quarter of the budget at most, reckoned with the longest that a trial took so far.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "govern/govern.h"
#include "recording/recording.h"
#include "util/array.h"

#define LOOK_NS 15000000ULL    /* least time between two looks */
#define AVERAGE_NS 1e9         /* shares are averaged over so long */
#define HOLD_NS 3e9            /* held rates decay over so long */
#define REST_NS 1000000000ULL  /* between a change and giving back */
#define PAUSE_MOST 120e9       /* between trials */
#define CALM_NS 10000000000ULL /* in for so long: the next pause is a first one again */
#define AIM 0.8                /* of the budget */
#define SHARE_MOST 0.97        /* more than this is an error of the calibration */

/* One function on one thread. */
struct load {
	uint32_t site;
	uint64_t followed, skipped;                 /* calls so far ... */
	uint64_t part_followed[2], part_skipped[2]; /* as they were told: of the program and inner ones */
	uint64_t followed_before, skipped_before;   /* ... and at the last look */
	double rate, held;                          /* calls a ns of the job's own time */
};

struct governed_thread {
	bool used;
	bool told;          /* since the last look */
	double share, last; /* averaged; of the last look */
	struct load *loads;
	size_t nloads, room;
	uint32_t *where; /* by site: index in loads, and one; 0: none */
	size_t nwhere;
};

struct governed_site {
	struct site_level level;
	uint64_t changed; /* ns; its last change */
	uint64_t again;   /* ns; out: when to try again */
	double pause;     /* ns; the last one */
	bool known;       /* it has been called */
	bool trial;       /* in again, since the last look */
	bool broken;      /* it cannot be changed any more */
};

struct governor {
	struct governor_options options;
	struct governed_thread *threads;
	size_t nthreads;
	struct governed_site *sites;
	size_t nsites;
	uint64_t looked;
	double trial_ns; /* options.trial_ns, or what a trial has been seen to take */
};

struct governor *governor_new(const struct governor_options *options)
{
	struct governor *g = calloc(1, sizeof(*g));

	if (g) {
		g->options = *options;
		g->trial_ns = options->trial_ns;
	}
	return g;
}

static void forget_thread(struct governed_thread *t)
{
	free(t->loads);
	free(t->where);
	*t = (struct governed_thread){ 0 };
}

void governor_free(struct governor *g)
{
	if (!g)
		return;
	for (size_t t = 0; t < g->nthreads; t++)
		forget_thread(&g->threads[t]);
	free(g->threads);
	free(g->sites);
	free(g);
}

/* --- what is called ---------------------------------------------------- */

static struct load *load_of(struct governed_thread *t, uint32_t site)
{
	if (site < t->nwhere && t->where[site])
		return &t->loads[t->where[site] - 1];
	if (array_one_more(&t->loads, &t->room, t->nloads, sizeof(*t->loads)) ||
	    array_reach(&t->where, &t->nwhere, site + 1, sizeof(*t->where)))
		return NULL;
	t->loads[t->nloads] = (struct load){ .site = site };
	t->where[site] = ++t->nloads;
	return &t->loads[t->nloads - 1];
}

int governor_count(struct governor *g, uint32_t thread, uint32_t site, bool inner, uint64_t followed, uint64_t skipped)
{
	struct load *load;

	if (array_reach(&g->threads, &g->nthreads, thread + 1, sizeof(*g->threads)) ||
	    array_reach(&g->sites, &g->nsites, site + 1, sizeof(*g->sites)))
		return -ENOMEM;
	load = load_of(&g->threads[thread], site);
	if (!load)
		return -ENOMEM;
	if (!g->sites[site].known)
		g->sites[site] = (struct governed_site){ .level = { LEVEL_ALL, 1 }, .known = true };
	g->threads[thread].used = true;
	g->threads[thread].told = true;
	load->part_followed[inner] = followed;
	load->part_skipped[inner] = skipped;
	load->followed = load->part_followed[0] + load->part_followed[1];
	load->skipped = load->part_skipped[0] + load->part_skipped[1];
	return 0;
}

/* --- what it costs ----------------------------------------------------- */

/* ns for a call, on average, at this level. */
static double cost_at(const struct governor *g, uint32_t site, struct site_level level)
{
	double counted = g->options.cost(g->options.context, site, true);
	double followed = g->options.cost(g->options.context, site, false);

	if (level.level == LEVEL_OUT)
		return 0;
	return counted + (followed > counted ? followed - counted : 0) / level.every;
}

/*
 * What probes will cost a thread for each ns of its own, with one site's level replaced (NULL: none). Unlike the share
 * of all its time this has no upper end, so parts of it can be compared.
 */
static double cost_with(const struct governor *g, const struct governed_thread *t, bool held, uint32_t site,
			const struct site_level *level)
{
	double cost = 0;

	for (size_t i = 0; i < t->nloads; i++) {
		const struct load *load = &t->loads[i];

		cost += (held ? load->held : load->rate) *
			cost_at(g, load->site, level && load->site == site ? *level : g->sites[load->site].level);
	}
	return cost;
}

/* The cost for each ns of its own at which a thread spends this share of all its time in probes. */
static double cost_of_share(double share)
{
	return share / (1 - share);
}

static double share_of_cost(double cost)
{
	return cost / (1 + cost);
}

/* Takes in what was called in the last `elapsed` ns. */
static void take_in(struct governor *g, struct governed_thread *t, double elapsed)
{
	double cost = 0, share;

	for (size_t i = 0; i < t->nloads; i++) {
		const struct load *load = &t->loads[i];

		cost += (double)(load->followed - load->followed_before) *
				g->options.cost(g->options.context, load->site, false) +
			(double)(load->skipped - load->skipped_before) *
				g->options.cost(g->options.context, load->site, true);
	}
	share = cost / elapsed;
	if (share > SHARE_MOST)
		share = SHARE_MOST;
	t->last = share;
	t->share += (share - t->share) * (1 - exp(-elapsed / AVERAGE_NS));
	for (size_t i = 0; i < t->nloads; i++) {
		struct load *load = &t->loads[i];

		load->rate = (load->followed - load->followed_before + load->skipped - load->skipped_before) /
			     (elapsed * (1 - share));
		load->held *= exp(-elapsed / HOLD_NS);
		if (load->rate > load->held)
			load->held = load->rate;
		load->followed_before = load->followed;
		load->skipped_before = load->skipped;
	}
}

/* --- deciding ---------------------------------------------------------- */

/* The level below this one; false: there is none. */
static bool poorer(struct site_level *level)
{
	switch (level->level) {
	case LEVEL_ALL:
		*level = (struct site_level){ LEVEL_SAMPLED, 2 };
		return true;
	case LEVEL_SAMPLED:
		if (level->every < SAMPLE_MOST)
			level->every *= 2;
		else
			*level = (struct site_level){ LEVEL_SUMMED, SAMPLE_MOST };
		return true;
	case LEVEL_SUMMED:
		*level = (struct site_level){ LEVEL_OUT, 0 };
		return true;
	default:
		return false;
	}
}

static bool possible(const struct governor *g, uint32_t site, struct site_level level)
{
	return g->options.possible(g->options.context, site, level.level);
}

static bool change(struct governor *g, uint64_t now, const struct governed_step *step)
{
	struct governed_site *site = &g->sites[step->site];
	int err = g->options.set(g->options.context, step);

	if (err == -EBUSY)
		return false;
	if (err) {
		site->broken = true;
		return false;
	}
	site->trial = site->level.level == LEVEL_OUT;
	if (step->level.level == LEVEL_OUT) {
		if (!site->pause || now - site->changed > CALM_NS)
			site->pause = 4 * g->trial_ns / g->options.budget;
		else
			site->pause *= 2;
		if (site->pause > PAUSE_MOST)
			site->pause = PAUSE_MOST;
		site->again = now + (uint64_t)site->pause;
	}
	site->level = step->level;
	site->changed = now;
	return true;
}

static const struct site_level out = { LEVEL_OUT, 0 }, least = { LEVEL_SUMMED, SAMPLE_MOST };

/* The poorest level of a site at which its probes are still in. */
static struct site_level lowest_in(const struct governor *g, uint32_t site)
{
	return g->sites[site].level.level != LEVEL_OUT && !g->sites[site].broken && possible(g, site, least)
		       ? least
		       : g->sites[site].level;
}

/* What the thread's probes would still cost if all that can be only counted were. */
static double least_cost(const struct governor *g, const struct governed_thread *t)
{
	double cost = 0;

	for (size_t i = 0; i < t->nloads; i++)
		cost += t->loads[i].rate * cost_at(g, t->loads[i].site, lowest_in(g, t->loads[i].site));
	return cost;
}

/* The load that gives most, either by being out instead of only counted, or by being only counted. NULL: none gives
 * anything. */
static const struct load *dearest(const struct governor *g, const struct governed_thread *t, bool to_be_out)
{
	const struct load *found = NULL;
	double most = 0;

	for (size_t i = 0; i < t->nloads; i++) {
		const struct load *load = &t->loads[i];
		struct site_level level = g->sites[load->site].level, lowest = lowest_in(g, load->site);
		double gain = to_be_out ? cost_at(g, load->site, lowest)
					: cost_at(g, load->site, level) - cost_at(g, load->site, lowest);

		if (load->rate * gain <= most || g->sites[load->site].broken || level.level == LEVEL_OUT)
			continue;
		if (to_be_out && !possible(g, load->site, out))
			continue;
		most = load->rate * gain;
		found = load;
	}
	return found;
}

/* Takes away from one thread's dearest functions until it is within the budget. */
static void take_away(struct governor *g, uint32_t thread, uint64_t now)
{
	const struct governed_thread *t = &g->threads[thread];
	double limit = cost_of_share(g->options.budget);
	struct governed_step step = { .thread = thread, .share = t->last };
	const struct load *load;

	if (cost_with(g, t, false, 0, NULL) <= limit)
		return;
	/* What only counting cannot mend must go. */
	while (least_cost(g, t) > limit && (load = dearest(g, t, true))) {
		step.site = load->site;
		step.level = out;
		if (!change(g, now, &step))
			return;
	}
	while (cost_with(g, t, false, 0, NULL) > AIM * limit && (load = dearest(g, t, false))) {
		step.site = load->site;
		step.level = g->sites[load->site].level;
		while (poorer(&step.level) && (!possible(g, load->site, step.level) ||
					       (step.level.level != LEVEL_SUMMED &&
						cost_with(g, t, false, load->site, &step.level) > AIM * limit)))
			;
		if (!change(g, now, &step))
			return;
	}
}

/* Could every thread bear this? Reckoned with the rates of late. */
static bool bearable(const struct governor *g, uint32_t site, struct site_level level)
{
	for (size_t t = 0; t < g->nthreads; t++)
		if (g->threads[t].used &&
		    cost_with(g, &g->threads[t], true, site, &level) > AIM * cost_of_share(g->options.budget))
			return false;
	return true;
}

static void give_back(struct governor *g, uint32_t index, uint64_t now)
{
	struct governed_site *site = &g->sites[index];
	struct governed_step step = { .site = index, .thread = NO_INDEX, .level = { LEVEL_ALL, 1 } };

	if (site->level.level == LEVEL_OUT) {
		if (now < site->again)
			return;
		step.level = least;
		if (!possible(g, index, step.level))
			step.level = (struct site_level){ LEVEL_ALL, 1 };
		for (size_t t = 0; t < g->nthreads; t++) /* nothing is known of it any more */
			for (size_t i = 0; i < g->threads[t].nloads; i++)
				if (g->threads[t].loads[i].site == index)
					g->threads[t].loads[i].held = g->threads[t].loads[i].rate = 0;
		change(g, now, &step);
		return;
	}
	if (now - site->changed < REST_NS)
		return;
	while (!possible(g, index, step.level) || !bearable(g, index, step.level))
		if (!poorer(&step.level))
			return;
	if (step.level.level < site->level.level ||
	    (step.level.level == site->level.level && step.level.every < site->level.every))
		change(g, now, &step);
}

/* In again for one look: a storm is seen at once, before the average knows of it. */
static void judge_trial(struct governor *g, uint32_t index, uint64_t now)
{
	g->sites[index].trial = false;
	for (uint32_t t = 0; t < g->nthreads; t++) {
		const struct governed_thread *thread = &g->threads[t];
		double with = cost_with(g, thread, false, 0, NULL);

		if (!thread->used || with <= cost_of_share(g->options.budget) ||
		    cost_with(g, thread, false, index, &out) > AIM * with)
			continue;
		/* Out they go in the time in which they came in, at least. */
		if (2.0 * (double)(now - g->sites[index].changed) > g->trial_ns)
			g->trial_ns = 2.0 * (double)(now - g->sites[index].changed);
		if (change(g, now,
			   &(struct governed_step){
				   .site = index, .level = out, .thread = t, .share = share_of_cost(with) }))
			return;
	}
}

bool governor_is_due(const struct governor *g, uint64_t now)
{
	return !g->looked || now < g->looked || now - g->looked >= LOOK_NS;
}

/* The first look: in how much time all this was called is not known. */
static void begin(struct governor *g, uint64_t now)
{
	g->looked = now;
	for (size_t t = 0; t < g->nthreads; t++) {
		for (size_t i = 0; i < g->threads[t].nloads; i++) {
			struct load *load = &g->threads[t].loads[i];

			load->followed_before = load->followed;
			load->skipped_before = load->skipped;
		}
		g->threads[t].told = false;
	}
}

void governor_look(struct governor *g, uint64_t now)
{
	uint64_t elapsed = now - g->looked;

	if (!g->looked || now < g->looked) {
		begin(g, now);
		return;
	}
	if (!governor_is_due(g, now))
		return;
	g->looked = now;
	for (size_t t = 0; t < g->nthreads; t++) {
		if (g->threads[t].told)
			take_in(g, &g->threads[t], elapsed);
		else if (g->threads[t].used)
			forget_thread(&g->threads[t]);
		g->threads[t].told = false;
	}
	for (size_t s = 0; s < g->nsites; s++)
		if (g->sites[s].trial && now - g->sites[s].changed >= LOOK_NS)
			judge_trial(g, s, now);
	for (size_t t = 0; t < g->nthreads; t++)
		if (g->threads[t].used && g->threads[t].share > g->options.budget)
			take_away(g, t, now);
	for (size_t s = 0; s < g->nsites; s++)
		if (g->sites[s].known && !g->sites[s].broken && g->sites[s].level.level != LEVEL_ALL)
			give_back(g, s, now);
}
