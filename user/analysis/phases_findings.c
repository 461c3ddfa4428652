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

#include "analysis/around.h"
#include "analysis/gains.h"
#include "analysis/printer.h"
#include "analysis/scheduling.h"

#define WORTH_SHARE 100
#define NOISE 5000000 /* ns: so much longer may be anything that the system did */

char *iterating_label(const struct phases *s, const struct report *r, const struct iterating *it, char *text,
		      size_t room)
{
	struct around around = { it->event, it->site, true };
	char event[LABEL_ROOM], place[LABEL_ROOM];

	if (it->site < s->d->nsites && around_calls(r, it->event, it->site, &around) && around.site == NO_INDEX)
		around = (struct around){ it->event, it->site, true };
	report_event_label(r, around.event, event, sizeof(event));
	if (around.site < s->d->nsites)
		snprintf(text, room, "%s at %s", event, site_label(s->d, around.site, place, sizeof(place)));
	else
		snprintf(text, room, "%s", event);
	return text;
}

/* Where a thread was for so much longer. */
static const char *longer_where(enum group group)
{
	static const char *const words[GROUPS] = {
		[GROUP_COMPUTE] = "outside of calls",
		[GROUP_BARRIER] = "waiting in barriers",
		[GROUP_WAIT] = "waiting",
		[GROUP_LOCK] = "waiting for locks",
		[GROUP_DATA] = "in transfers, or waiting in them",
		[GROUP_COLLECTIVE] = "in collectives, or waiting in them",
		[GROUP_TASK] = "in tasks",
		[GROUP_ALLOC] = "getting and freeing memory",
		[GROUP_IO] = "in I/O",
		[GROUP_OTHER] = "in other calls",
	};

	return words[group] ?: group_name(group);
}

char *blame_text(const struct phases *s, const struct iterating *it, const struct blame *blame, char *text, size_t room)
{
	char who[LABEL_ROOM], time[FORMAT_SIZE];

	*text = '\0';
	if (!blame->known)
		return text;
	people_label(s->d, &blame->who, who, sizeof(who));
	if (it->nmembers > 1 && people_count(&blame->who) == it->nmembers)
		snprintf(who, sizeof(who), "all of them");
	snprintf(text, room, "%s: +%s %s", who, format_time(time, blame->longer), longer_where(blame->group));
	return text;
}

/* In calls in which one may wait for others: these may have had no processor, or be to blame. */
static bool may_wait(const struct blame *blame)
{
	return !blame->known || blame->group == GROUP_BARRIER || blame->group == GROUP_WAIT ||
	       blame->group == GROUP_LOCK || blame->group == GROUP_DATA || blame->group == GROUP_COLLECTIVE;
}

/* The only one, else nobody's. */
static uint32_t culprit(const struct iterating *it, const struct blame *blame)
{
	for (size_t i = 0; i < it->nmembers && people_count(&blame->who) == 1 && !may_wait(blame); i++)
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
static bool lacks_processor(const struct report *r, const struct iterating *it, const struct blame *blame,
			    uint64_t cost)
{
	for (size_t i = 0; i < it->nmembers; i++) {
		uint32_t thread = it->members[i].thread;

		if (blame->known && !people_has(&blame->who, thread))
			continue;
		if (scheduling_lost(r, thread) < cost || !scheduling_is_held_up(r, thread))
			return false;
	}
	return true;
}

static bool overlaps(const struct iterating *it, const struct def_queue *queue)
{
	for (size_t i = 0; i < it->noutliers; i++) {
		const struct outlier *one = &it->outliers[i];

		if (one->lasted - one->typical >= NOISE && one->end > queue->from && one->end - one->lasted < queue->to)
			return true;
	}
	return false;
}

/*
 * What those to blame waited for a processor while the outliers were: in seconds with one of them. That is less than
 * what makes a thread starved where it comes in bursts. Where each has worked longer, each must have waited: that is
 * the mean; where they were longer in calls, one that others wait for is enough. *most: who waited longest, NO_INDEX:
 * nobody.
 */
static uint64_t queued_then(const struct phases *s, const struct report *r, const struct iterating *it,
			    const struct blame *blame, uint32_t *most)
{
	uint64_t all = 0, longest = 0, count = 0;
	bool any = may_wait(blame);

	*most = NO_INDEX;
	for (size_t i = 0; i < it->nmembers; i++) {
		uint32_t thread = it->members[i].thread;
		uint64_t its = 0;

		if (!any && !people_has(&blame->who, thread))
			continue;
		count++;
		for (size_t k = 0; k < s->d->nqueues; k++)
			if (s->d->queues[k].thread == thread && overlaps(it, &s->d->queues[k]))
				its += scheduling_lost_in(r, k);
		all += its;
		if (its > longest) {
			longest = its;
			*most = thread;
		}
	}
	return any || !count ? longest : all / count;
}

/* They are out of line since those to blame had no processor then: nobody's code is at fault. */
static int tell_bursts(const struct phases *s, struct report *r, const struct iterating *it, uint64_t cost,
		       uint64_t queued, struct finding *finding)
{
	const struct outlier *worst = it->outliers;
	char label[2 * LABEL_ROOM], who[LABEL_ROOM], at[FORMAT_SIZE], lasted[FORMAT_SIZE], typical[FORMAT_SIZE],
		time[FORMAT_SIZE], all[FORMAT_SIZE];

	finding->kind = "starved";
	finding->culprits = NULL;
	finding->test = "the kernel's own account of the seconds with these iterations: four fifths of what they cost";
	finding->section = "scheduling";
	return report_add_finding(
		r, finding,
		"%zu of %llu iterations (%s) are out of line while %s could run and had no CPU, in bursts: number %llu, "
		"at %s, took %s instead of %s; %s in all, %.1f %% of the time observed, and %s without a CPU in the "
		"seconds in which they were: more threads wanted to run than there are CPUs for them, or a quota held "
		"them up",
		(size_t)finding->regularity.times, (unsigned long long)it->iterations,
		iterating_label(s, r, it, label, sizeof(label)), thread_label(s->d, finding->thread, who, sizeof(who)),
		(unsigned long long)worst->number + 1, format_time(at, worst->end - worst->lasted - r->start),
		format_time(lasted, worst->lasted), format_time(typical, worst->typical), format_time(time, cost),
		percent(cost, r->end - r->start), format_time(all, queued));
}

/* ", 31 of them every 8 iterations, ..." */
static const char *period_text(const struct iterating *it, char *text, size_t room)
{
	*text = '\0';
	if (it->period)
		snprintf(text, room, ", %zu of them every %u iterations, as if the program did more then", it->periodic,
			 it->period);
	return text;
}

static int tell_outliers(const struct phases *s, struct report *r, const struct iterating *it)
{
	uint64_t run = r->end - r->start, cost = 0, queued;
	const struct outlier *worst = it->outliers;
	uint32_t most;
	size_t count = 0;
	struct finding finding = { .kind = "outlier_iterations", .event = it->event, .section = "phases" };
	char label[2 * LABEL_ROOM], who[2 * LABEL_ROOM], lasted[FORMAT_SIZE], typical[FORMAT_SIZE], at[FORMAT_SIZE],
		time[FORMAT_SIZE], gives[200], each[80];
	int error;

	for (size_t i = 0; i < it->noutliers; i++) {
		uint64_t longer = it->outliers[i].lasted - it->outliers[i].typical;

		count += longer >= NOISE;
		cost += longer >= NOISE ? longer : 0;
	}
	if (!count || cost < run / WORTH_SHARE || lacks_processor(r, it, &worst->blame, cost))
		return 0;
	finding.thread = culprit(it, &worst->blame);
	finding.weight = cost * it->nmembers;
	finding.culprits = may_wait(&worst->blame) ? NULL : &worst->blame.who;
	finding.regularity = (struct finding_regularity){ .what = "iterations",
							  .times = count,
							  .of = it->iterations,
							  .mean = it->mean,
							  .deviation = it->variation * it->mean,
							  .least = it->shortest,
							  .most = it->longest };
	queued = queued_then(s, r, it, &worst->blame, &most);
	if (most != NO_INDEX && queued >= cost / 5 * 4) {
		finding.thread = most;
		return tell_bursts(s, r, it, cost, queued, &finding);
	}
	error = find_gain(r, it, &finding);
	if (error)
		return error;
	gain_text(r, &finding, "had they been like the others", "", gives, sizeof(gives));
	blame_text(s, it, &worst->blame, who, sizeof(who));
	return report_add_finding(
		r, &finding,
		"%zu of %llu iterations (%s) %s out of line%s: number %llu, at %s, took %s instead of %s%s%s%s; "
		"%s in all, %.1f %% of the time observed%s",
		count, (unsigned long long)it->iterations, iterating_label(s, r, it, label, sizeof(label)),
		count == 1 ? "is" : "are", period_text(it, each, sizeof(each)), (unsigned long long)worst->number + 1,
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
	if (cost < run / WORTH_SHARE || cost < NOISE || lacks_processor(r, it, &part->blame, cost))
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
