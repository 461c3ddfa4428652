/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serialisation.c - ranks that have as much to do as each other, and do it one after the other.
 *
 * A wavefront that is not pipelined, a token that goes round: nobody works for longer than the others, so nobody is to
 * blame, and yet all wait. POP's serialisation tells it: of a run on an ideal network, the time of the one that works
 * most. It is a finding where
 *   - that is at most SERIAL, and the work is divided evenly: load balance is at least BALANCED;
 *   - a quarter of what is waited is in calls by which one lets another go on, and not in meetings of all: there, who
 *     is late by turns is another finding (delays_turns.c);
 *   - nearly each of these calls waits: where another one is late by turns, most of them do not;
 *   - nothing else that was found gives half as much;
 *   - it would be so, too, if all that they had no processor had made the run longer, and was work of theirs.
 *
 * What it gives is a bound. Nobody knows how much of the work needs what it waits for; but the run cannot be shorter
 * than the most work of one, nor than all work on all processors.
 */
#include "analysis/analysis.h"
#include "analysis/gains.h"
#include "analysis/people.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define SERIAL 0.6
#define BALANCED 0.8
#define HANDED_ON 4   /* one in so many ns waited */
#define REGULAR 0.6   /* of the calls there: so many would have waited, if all had for the same time */
#define EXPLAINED 2   /* one in so many of what it gives, by another finding */
#define GAIN_SHARE 20 /* one in so many of the run */

struct serialisation {
	const struct definitions *d;
	uint32_t *same_site;
	struct efficiencies efficiencies;
	struct waited_at {
		uint64_t ns;
		double squares; /* ns^2: of how long one waited each time */
		uint32_t probe;
	} * at; /* by site, the first of the same instruction; not of meetings of all */
	size_t room;
	struct finding_seen *seen; /* by probe, then without those in which nobody waited */
	size_t seen_room, nseen;
	uint64_t waited, handed_on; /* ns; the latter not in meetings of all */
	struct people waiting, waited_for;
};

static int begin(void **state, const struct definitions *d)
{
	struct serialisation *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->same_site = report_same_sites(d);
	return s->same_site ? 0 : -ENOMEM;
}

static bool meets_all(const struct def_probe *probe)
{
	return probe->role == ROLE_BARRIER || probe->role == ROLE_COLLECTIVE || probe->role == ROLE_FENCE;
}

/* 0 or -ENOMEM. */
static int note(struct serialisation *s, const struct related_call *call, uint64_t ns)
{
	uint32_t site = s->same_site[call->site];

	if (array_reach(&s->at, &s->room, (size_t)site + 1, sizeof(*s->at)))
		return -ENOMEM;
	s->at[site].ns += ns;
	s->at[site].squares += (double)ns * ns;
	s->at[site].probe = call->probe;
	return 0;
}

static int call(void *state, const struct related_call *call, const struct waited *waited)
{
	struct serialisation *s = state;
	uint64_t ns = waited ? waited->until - call->start : 0;
	bool hands_on;

	if (!ns)
		return 0;
	hands_on = !meets_all(&s->d->probes[call->probe]);
	if (hands_on && call->site < s->d->nsites && note(s, call, ns))
		return -ENOMEM;
	if (array_reach(&s->seen, &s->seen_room, (size_t)call->probe + 1, sizeof(*s->seen)) ||
	    people_add(&s->waiting, call->thread) || people_add(&s->waited_for, waited->of.thread))
		return -ENOMEM;
	s->waited += ns;
	s->seen[call->probe].ns += ns;
	s->handed_on += hands_on ? ns : 0;
	return 0;
}

static void related(void *state, const struct relations_counts *counts, const struct efficiencies *efficiencies)
{
	((struct serialisation *)state)->efficiencies = *efficiencies;
}

/* Where most is waited for one that lets another go on; NO_INDEX: nowhere that is known. */
static uint32_t hand_over_site(const struct serialisation *s)
{
	uint32_t most = NO_INDEX;

	for (size_t i = 0; i < s->room; i++)
		if (s->at[i].ns && (most == NO_INDEX || s->at[i].ns > s->at[most].ns))
			most = i;
	return most;
}

static void keep_seen(struct serialisation *s)
{
	for (size_t i = 0; i < s->seen_room; i++)
		if (s->seen[i].ns)
			s->seen[s->nseen++] = (struct finding_seen){ .probe = i, .ns = s->seen[i].ns };
}

/* ns, of the one that works most. */
static double most_work(const struct efficiencies *e)
{
	return e->serialisation * (double)e->ideal;
}

/* ns of the run. */
static uint64_t bound(const struct serialisation *s)
{
	const struct efficiencies *e = &s->efficiencies;
	double most = most_work(e), all = e->load_balance * most * e->threads;
	unsigned cpus = scheduling_cpus(s->d);

	if (cpus && all / cpus > most)
		most = all / cpus;
	return (double)e->ideal > most ? (uint64_t)((double)e->ideal - most) : 0;
}

/* Another finding gives so much of it that this is no news. */
static bool is_explained(const struct report *r, uint64_t gives)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct finding *f = &r->findings[i];

		if ((f->has_gain ? f->gain : f->bound) >= gives / EXPLAINED)
			return true;
	}
	return false;
}

/* They did it one after the other since in each step another one had no processor. */
static bool may_lack_processors(const struct serialisation *s, const struct report *r)
{
	const struct efficiencies *e = &s->efficiencies;
	double lost = 0, ideal;

	for (uint32_t i = 0; i < s->d->nthreads; i++)
		if (people_has(&s->waiting, i) && scheduling_queue_is_known(&s->d->threads[i]))
			lost += (double)scheduling_lost(r, i);
	ideal = (double)e->ideal - lost;
	return ideal <= 0 || most_work(e) - lost / e->threads > SERIAL * ideal;
}

/* Whether they wait or not. */
static uint64_t calls_at(const struct serialisation *s, const struct report *r, uint32_t site)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < r->profile->nsites; i++) {
		uint32_t at = r->profile->sites[i].site;

		calls += at < s->d->nsites && s->same_site[at] == site ? r->profile->sites[i].calls : 0;
	}
	return calls;
}

/* Of several that wait for 1, 2, 3 times as long as the first of the chain works, most count. */
static bool is_regular(const struct serialisation *s, const struct report *r)
{
	uint32_t site = hand_over_site(s);
	const struct waited_at *at = site == NO_INDEX ? NULL : &s->at[site];

	return at && (double)at->ns * at->ns >= REGULAR * at->squares * calls_at(s, r, site);
}

static bool is_serial(const struct serialisation *s, const struct report *r)
{
	const struct efficiencies *e = &s->efficiencies;

	return is_regular(s, r) && e->threads > 1 && e->serialisation >= 0 && e->serialisation <= SERIAL &&
	       e->load_balance >= BALANCED && s->handed_on >= s->waited / HANDED_ON;
}

/* " on 2 CPUs", where there are fewer than would be needed. */
static const char *processors(const struct serialisation *s, char *text, size_t room)
{
	unsigned cpus = scheduling_cpus(s->d);

	*text = '\0';
	if (cpus && cpus < s->efficiencies.threads)
		snprintf(text, room, " on %u CPU%s", cpus, cpus == 1 ? "" : "s");
	return text;
}

static int tell(struct serialisation *s, struct report *r, uint64_t gives)
{
	const struct efficiencies *e = &s->efficiencies;
	uint32_t site = hand_over_site(s);
	struct finding finding = { .kind = "serialisation",
				   .event = NO_INDEX,
				   .thread = NO_INDEX,
				   .site = site,
				   .has_site = true,
				   .weight = s->waited,
				   .bound = gives,
				   .victims = &s->waiting,
				   .culprits = &s->waited_for,
				   .section = "efficiency" };
	char who[LABEL_ROOM], event[LABEL_ROOM], place[LABEL_ROOM], time[FORMAT_SIZE], all[FORMAT_SIZE],
		turn[FORMAT_SIZE], run[OBSERVED_ROOM], cpus[40];

	keep_seen(s);
	finding.seen = s->seen;
	finding.nseen = s->nseen;
	return report_add_finding(
		r, &finding,
		"%s have about as much work as each other, and do it one after the other (serialisation): on average "
		"%.1f of %u work at the same time, even on a network that takes no time; all together they wait %s "
		"(%.1f %% of all threads' time), %s of it for their turn in %s (%s); if all of them worked at the same "
		"time%s, %s would be at most %s (%.1f %%) shorter",
		people_label(s->d, &s->waiting, who, sizeof(who)), e->serialisation * e->load_balance * e->threads,
		e->threads, format_time(all, s->waited), percent(s->waited, r->wall), format_time(turn, s->at[site].ns),
		report_event_label(r, profile_event(r->profile, s->d, s->at[site].probe), event, sizeof(event)),
		site_label(s->d, site, place, sizeof(place)), processors(s, cpus, sizeof(cpus)),
		report_observed(r, run, sizeof(run)), format_time(time, gives), percent(gives, r->end - r->start));
}

static int end(void *state, struct report *r)
{
	struct serialisation *s = state;
	uint64_t gives;

	if (!is_serial(s, r))
		return 0;
	gives = bound(s);
	if (gives < (r->end - r->start) / GAIN_SHARE || is_explained(r, gives) || may_lack_processors(s, r))
		return 0;
	return tell(s, r, gives);
}

static void serialisation_free(void *state)
{
	struct serialisation *s = state;

	if (!s)
		return;
	people_free(&s->waiting);
	people_free(&s->waited_for);
	free(s->same_site);
	free(s->seen);
	free(s->at);
	free(s);
}

static const struct relations_ops relations = { .call = call };

/* It has no section of its own: efficiency.c tells its figures. */
const struct analysis analysis_serialisation = {
	.name = "serialisation",
	.begin = begin,
	.relations = &relations,
	.related = related,
	.end = end,
	.free = serialisation_free,
};
