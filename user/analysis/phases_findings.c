/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases_findings.c - iterations out of line that are worth a finding: where the outliers, or a change for the worse,
 * cost the run at least one in WORTH_SHARE of its time, more than noise, and more than those to blame have waited for a
 * processor; and how such things are put in words.
 */
#include "analysis/phases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/gains.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"

#define WORTH_SHARE 100
#define NOISE 5000000 /* ns: so much longer may be anything that the system did */

char *iterating_label(const struct phases *s, const struct report *r, const struct iterating *it, char *text,
		      size_t room)
{
	char event[LABEL_ROOM], place[LABEL_ROOM];

	report_event_label(r, it->event, event, sizeof(event));
	if (it->site < s->d->nsites)
		snprintf(text, room, "%s at %s", event, site_label(s->d, it->site, place, sizeof(place)));
	else
		snprintf(text, room, "%s", event);
	return text;
}

char *blame_text(const struct phases *s, const struct iterating *it, const struct blame *blame, char *text, size_t room)
{
	char who[LABEL_ROOM], time[FORMAT_SIZE];

	*text = '\0';
	if (!blame->known)
		return text;
	people_label(s->d, &blame->who, who, sizeof(who));
	if (it->nmembers > 1 && people_count(&blame->who) == it->nmembers)
		snprintf(who, sizeof(who), "all");
	snprintf(text, room, "%s: +%s %s", who, format_time(time, blame->longer), group_name(blame->group));
	return text;
}

/* The only one, else nobody's. */
static uint32_t culprit(const struct iterating *it, const struct blame *blame)
{
	for (size_t i = 0; i < it->nmembers && people_count(&blame->who) == 1; i++)
		if (people_has(&blame->who, it->members[i].thread))
			return it->members[i].thread;
	return NO_INDEX;
}

static int earlier_first(const void *a, const void *b)
{
	const struct relief_time *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Of those that overlap, which threads' iterations may: each moment belongs to the one that began first. */
static size_t keep_apart(struct relief_time *times, size_t count)
{
	size_t kept = 0;
	uint64_t until = 0;

	qsort(times, count, sizeof(*times), earlier_first);
	for (size_t i = 0; i < count; i++) {
		if (times[i].end <= until)
			continue;
		times[kept] = times[i];
		if (times[kept].start < until)
			times[kept].start = until;
		until = times[kept++].end;
	}
	return kept;
}

/* What the run would be shorter by, if each of them had been like the others. */
static int find_gain(struct report *r, const struct iterating *it, struct finding *finding)
{
	struct relief_time *times = calloc(it->noutliers + 1, sizeof(*times));
	struct relief relief = { .thread = NO_INDEX, .what = RELIEVE_TIME, .times = times };

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < it->noutliers; i++) {
		const struct outlier *one = &it->outliers[i];
		uint64_t longer = one->lasted - one->typical;

		if (longer >= NOISE && one->lasted <= one->end)
			times[relief.ntimes++] = (struct relief_time){ one->end - one->lasted, one->end,
								       (double)longer / one->lasted };
	}
	relief.ntimes = keep_apart(times, relief.ntimes);
	report_find_gain(r, &relief, finding);
	free(times);
	return 0;
}

/* Could it be that those to blame had no processor? What each waited for one, of all its time, is known: as long, and
 * much of its time. Then that is told, and nobody's iterations are. */
static bool lacks_processor(const struct phases *s, const struct iterating *it, const struct blame *blame,
			    uint64_t cost)
{
	for (size_t i = 0; i < it->nmembers; i++) {
		const struct def_thread *thread = &s->d->threads[it->members[i].thread];

		if (blame->known && !people_has(&blame->who, it->members[i].thread))
			continue;
		if (scheduling_queued(thread) < cost || !scheduling_lacks_processor(thread))
			return false;
	}
	return true;
}

static int tell_outliers(const struct phases *s, struct report *r, const struct iterating *it)
{
	uint64_t run = r->end - r->start;
	const struct outlier *worst = it->outliers;
	uint64_t cost = 0;
	size_t count = 0;
	struct finding finding = { .kind = "outlier_iterations", .event = it->event, .section = "phases" };
	char label[2 * LABEL_ROOM], who[2 * LABEL_ROOM], lasted[FORMAT_SIZE], typical[FORMAT_SIZE], at[FORMAT_SIZE],
		time[FORMAT_SIZE], gives[200];
	int error;

	for (size_t i = 0; i < it->noutliers; i++) {
		uint64_t longer = it->outliers[i].lasted - it->outliers[i].typical;

		count += longer >= NOISE;
		cost += longer >= NOISE ? longer : 0;
	}
	if (!count || cost < run / WORTH_SHARE || lacks_processor(s, it, &worst->blame, cost))
		return 0;
	finding.thread = culprit(it, &worst->blame);
	finding.weight = cost * it->nmembers;
	finding.culprits = worst->blame.known ? &worst->blame.who : NULL;
	finding.regularity = (struct finding_regularity){ .what = "iterations",
							  .times = count,
							  .of = it->iterations,
							  .mean = it->mean,
							  .deviation = it->variation * it->mean,
							  .least = it->shortest,
							  .most = it->longest };
	error = find_gain(r, it, &finding);
	if (error)
		return error;
	gain_text(r, &finding, "had they been like the others", "", gives, sizeof(gives));
	blame_text(s, it, &worst->blame, who, sizeof(who));
	return report_add_finding(
		r, &finding,
		"%zu of %llu iterations (%s) %s out of line: number %llu, at %s, took %s instead of %s%s%s%s; "
		"%s in all, %.1f %% of the time observed%s",
		count, (unsigned long long)it->iterations, iterating_label(s, r, it, label, sizeof(label)),
		count == 1 ? "is" : "are", (unsigned long long)worst->number + 1,
		format_time(at, worst->end - worst->lasted - r->start), format_time(lasted, worst->lasted),
		format_time(typical, worst->typical), *who ? " (" : "", who, *who ? ")" : "", format_time(time, cost),
		percent(cost, run), gives);
}

static int tell_slowdown(const struct phases *s, struct report *r, const struct iterating *it, size_t i)
{
	const struct part *before = &it->parts[i - 1], *part = &it->parts[i];
	uint64_t run = r->end - r->start, cost = 0;
	struct finding finding = { .kind = "slowdown", .event = it->event, .section = "phases" };
	char label[2 * LABEL_ROOM], who[2 * LABEL_ROOM], was[FORMAT_SIZE], is[FORMAT_SIZE], at[FORMAT_SIZE],
		time[FORMAT_SIZE];

	if (part->typical > before->typical)
		cost = (part->typical - before->typical) * part->iterations;
	if (cost < run / WORTH_SHARE || cost < NOISE || lacks_processor(s, it, &part->blame, cost))
		return 0;
	finding.thread = culprit(it, &part->blame);
	finding.weight = cost * it->nmembers;
	finding.culprits = part->blame.known ? &part->blame.who : NULL;
	finding.level = part->chance;
	finding.regularity = (struct finding_regularity){ .what = "iterations",
							  .times = part->iterations,
							  .of = it->iterations,
							  .mean = part->mean,
							  .deviation = -1 };
	blame_text(s, it, &part->blame, who, sizeof(who));
	return report_add_finding(r, &finding,
				  "iterations (%s) are slower from number %llu on, at %s: %s instead of %s%s%s%s, %s "
				  "more in the %llu that follow, %.1f %% of the time observed",
				  iterating_label(s, r, it, label, sizeof(label)), (unsigned long long)part->number + 1,
				  format_time(at, part->from - r->start), format_time(is, part->typical),
				  format_time(was, before->typical), *who ? " (" : "", who, *who ? ")" : "",
				  format_time(time, cost), (unsigned long long)part->iterations, percent(cost, run));
}

int phases_tell(const struct phases *s, struct report *r)
{
	int error = 0;

	for (size_t i = 0; i < s->nfound && !error; i++) {
		const struct iterating *it = &s->found[i];

		if (i && !it->common)
			continue; /* one of many threads, which go on by themselves */
		error = tell_outliers(s, r, it);
		for (size_t k = 2; k + 1 < it->nparts && !error; k++)
			error = tell_slowdown(s, r, it, k);
	}
	return error;
}
