/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions_chunks.c - loops that are handed out in too small pieces.
 *
 * A dynamic loop asks for its next piece again and again, and all threads ask in one place. Where a piece is one
 * iteration and an iteration is short, asking takes as long as the work. It is a finding where
 *   - at least 1,000 pieces were handed out;
 *   - asking took half as long as what was done with them, or longer, without what the probes take of each call, and as
 *     far as that is known;
 *   - and its part of a thread is 1 % of the run.
 * Threads that wait for a processor do so in both alike: that part of both is taken off.
 * With pieces of many iterations nearly all of that goes: it is the bound of what it would give.
 */
#include "analysis/regions.h"

#include "analysis/gains.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"

#define LEAST_CHUNKS 1000
#define WORTH_SHARE 100 /* one in so many of the run */
#define DOUBT 0.1       /* of what the probes take: no better is it known */

/* The part of their time in which its threads were not kept waiting for a processor: asking and work alike. */
static double had_processors(const struct regions *s, const struct region *region)
{
	double queued = 0, observed = 0;
	size_t count;
	const struct region_member *members = region_members(s, region - s->regions, &count);

	for (size_t i = 0; i < count; i++) {
		const struct def_thread *thread = &s->d->threads[members[i].thread];

		if (!scheduling_queue_is_known(thread))
			continue;
		queued += scheduling_queued(thread);
		observed += thread->observed;
	}
	return observed > 0 ? 1 - queued / observed : 1;
}

static uint64_t less(double ns, double by)
{
	return ns > by ? ns - by : 0;
}

/* ns of its threads, without the probes' own part. */
static uint64_t asked(const struct regions *s, const struct region *region)
{
	double probes = region->chunk == NO_INDEX ? 0 : s->d->probes[region->chunk].floor_ns;

	return less(region->sums.asking * had_processors(s, region), probes * region->sums.asks);
}

/* ns of its threads in what was handed out, and whatever else they do in the region; without the other part. */
static uint64_t done(const struct regions *s, const struct region *region)
{
	const struct region_sums *sums = &region->sums;
	const struct def_probe *probe = region->chunk == NO_INDEX ? NULL : &s->d->probes[region->chunk];
	double probes = probe && probe->cost_ns > probe->floor_ns ? probe->cost_ns - probe->floor_ns : 0;
	double rest = less(sums->share, sums->asking + sums->waits + sums->locks);

	return less(rest * had_processors(s, region), probes * sums->asks);
}

/* The least that it may have been. */
static uint64_t done_at_least(const struct regions *s, const struct region *region)
{
	double probes = region->chunk == NO_INDEX ? 0 : s->d->probes[region->chunk].cost_ns;

	return less(done(s, region), DOUBT * probes * region->sums.asks);
}

bool region_chunks_are_small(const struct regions *s, const struct report *r, const struct region *region)
{
	uint64_t ns = asked(s, region), threads = region->sums.most_threads;

	return region->sums.chunks >= LEAST_CHUNKS && threads && ns >= done_at_least(s, region) / 2 &&
	       ns / threads >= (r->end - r->start) / WORTH_SHARE;
}

int region_tell_chunks(const struct regions *s, struct report *r, const struct region *region)
{
	const struct region_sums *sums = &region->sums;
	uint64_t ns = asked(s, region), gain = ns / sums->most_threads, each = done(s, region) / sums->chunks;
	struct finding finding = { .kind = "small_chunks",
				   .thread = NO_INDEX,
				   .has_site = region->site != NO_INDEX,
				   .site = region->site,
				   .weight = ns,
				   .has_gain = true,
				   .gain = gain,
				   .regularity = { .what = each ? "pieces" : NULL, /* else it is of nothing */
						   .times = sums->chunks,
						   .of = sums->chunks,
						   .mean = (double)done(s, region) / sums->chunks,
						   .deviation = -1 },
				   .section = "regions" };
	char place[LABEL_ROOM], pieces[FORMAT_SIZE], work[FORMAT_SIZE + 40], ask[FORMAT_SIZE], all[FORMAT_SIZE],
		run[OBSERVED_ROOM], gives[FORMAT_SIZE];

	finding.event = profile_event(r->profile, r->d, region->chunk);
	snprintf(work, sizeof(work), "too little work in each to measure,");
	if (each)
		snprintf(work, sizeof(work), "%s of work each on average,", format_time(ask, each));
	return report_add_finding(
		r, &finding,
		"a loop in the region at %s is handed out in too small pieces: %s of them, with %s "
		"and to ask for one takes %s; that is %s in all, %.1f %% of the threads' time; with pieces of "
		"many iterations (the chunk size), %s would be up to %s (%.1f %%) shorter",
		region_label(s, region->site, region->probe, region->share, place, sizeof(place)),
		format_count(pieces, sums->chunks), work, format_time(ask, ns / sums->asks), format_time(all, ns),
		percent(ns, r->wall), report_observed(r, run, sizeof(run)), format_time(gives, gain),
		percent(gain, r->end - r->start));
}
