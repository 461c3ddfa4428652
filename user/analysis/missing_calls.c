/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * missing_calls.c - the calls that became no span, in the report.
 *
 * A call may be missing on the timeline: its span found no room in a ring (lost), or it was to become none, to keep the
 * cost low (summed, skipped). The kernel has counted all of them, and timed the lost and the summed ones, by thread and
 * probe. So Calls, Min, Max, Mean and the histogram hold all calls that were timed, and are exact however much is
 * missing.
 *
 * What is not known, and what is made of it:
 *
 * Total. Where calls of one event contain each other, only the outermost is to count. Of a missing call it is not known
 * whether it is one, so it counts: for recursive events Total may be too large, by no more than the time of the missing
 * calls.
 *
 * Self. What a missing call contains is not known. Its self time is taken to be as large a part of its time as it is in
 * the calls of this event on the timeline: of the same thread, or of all where that has none, or all of it where there
 * are none at all. (And what contains a missing call does not know of it: the call's time is in the self time of the
 * call around it, as that of any function that is not observed.)
 *
 * Skipped calls have no duration: they are taken to last as long as the mean of the timed ones, of the same thread or
 * of all.
 *
 * The time of a thread by groups of events is that of the calls on the timeline; what the missing ones' self time adds
 * is taken from the time outside of calls, but no more than all of it: they may lie inside others.
 *
 * The estimates stand beside what is known, never in its place.
 */
#include "analysis/profile_data.h"

#include <errno.h>
#include <stdlib.h>

/* What is known of an event's calls on all threads, for threads of which nothing is. */
struct basis {
	double time, timed;     /* of all timed calls */
	double self, self_time; /* of calls on the timeline */
};

static uint64_t rounded(double ns)
{
	return ns < 9e18 ? (uint64_t)(ns + 0.5) : 9000000000000000000ull; /* a made-up file may say anything */
}

static uint64_t without(uint64_t ns, uint64_t floor)
{
	return ns > floor ? ns - floor : 0;
}

/* The payload of those of these calls of which it is known. plan: of the probe; NULL: it has none. */
static void add_payload(struct tally *tally, const struct def_sum *sum, const struct payload_plan *plan)
{
	enum side side = plan ? payload_side(plan) : SIDE_NONE;

	tally->bytes += sum->bytes;
	tally->known_bytes += sum->sized;
	if (side == SIDE_SEND) {
		tally->sent += sum->bytes;
		tally->known_sent += sum->sized;
	} else if (side == SIDE_RECV) {
		tally->received += sum->bytes;
		tally->known_received += sum->sized;
	}
}

/* floor: ns to be taken off each duration. The histogram is left as it is: which calls stand in a column is not known.
 */
static void add_sum(struct tally *tally, const struct def_sum *sum, bool moves, uint32_t floor)
{
	uint64_t total = without(sum->total, rounded((double)floor * sum->timed));
	uint64_t calls = sum->lost + sum->summed + sum->skipped;

	tally->calls += calls;
	tally->lost += sum->lost;
	tally->summed += sum->summed;
	tally->skipped += sum->skipped;
	if (moves && calls > sum->sized)
		tally->unknown_bytes += calls - sum->sized;
	if (!sum->timed)
		return;
	tally->timed += sum->timed;
	tally->total += total;
	tally->time += total;
	tally->untold += total;
	if (without(sum->min, floor) < tally->min)
		tally->min = without(sum->min, floor);
	if (without(sum->max, floor) > tally->max)
		tally->max = without(sum->max, floor);
	for (int i = 0; i < GB_BUCKETS; i++)
		tally->bucket[i] += sum->bucket[i];
}

struct sum_ref {
	uint32_t thread, event;
	const struct def_sum *sum;
};

static int by_thread_and_event(const void *a, const void *b)
{
	const struct sum_ref *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* The row of these calls; a new one where the timeline has none of them. */
static struct row *row_of(struct report *r, uint32_t thread, uint32_t event)
{
	uint32_t index = profile_find_row(r->profile, thread, event);
	struct row *last = r->nrows ? &r->rows[r->nrows - 1] : NULL;

	if (index != NO_INDEX)
		return &r->rows[index];
	if (last && last->thread == thread && last->event == event)
		return last; /* made for the sum before */
	r->rows[r->nrows] = (struct row){ .thread = thread, .event = event, .tally.min = UINT64_MAX };
	return &r->rows[r->nrows++];
}

static int add_all(struct report *r)
{
	const struct definitions *d = r->d;
	struct sum_ref *refs = calloc(d->nsums + 1, sizeof(*refs));

	if (!refs)
		return -ENOMEM;
	for (size_t i = 0; i < d->nsums; i++)
		refs[i] = (struct sum_ref){ d->sums[i].thread, profile_event(r->profile, d, d->sums[i].probe),
					    &d->sums[i] };
	qsort(refs, d->nsums, sizeof(*refs), by_thread_and_event);
	for (size_t i = 0; i < d->nsums; i++) {
		struct tally *tally = &row_of(r, refs[i].thread, refs[i].event)->tally;
		const struct def_sum *sum = refs[i].sum;

		add_sum(tally, sum, r->profile->events[refs[i].event].moves,
			r->profile->subtract_floor ? d->probes[sum->probe].floor_ns : 0);
		if (sum->sized)
			add_payload(tally, sum, r->profile->probes[sum->probe].is.payload);
	}
	free(refs);
	return 0;
}

static void estimate(struct tally *tally, const struct basis *event)
{
	double self_time = tally->time - tally->untold, self = tally->self, untold = tally->untold, mean = 0;

	tally->likely_total = tally->total;
	tally->likely_self = tally->self;
	if (!tally_missing(tally))
		return;
	if (tally->timed)
		mean = (double)tally->time / tally->timed;
	else if (event->timed > 0)
		mean = event->time / event->timed;
	if (self_time <= 0) {
		self_time = event->self_time;
		self = event->self;
	}
	untold += tally->skipped * mean;
	tally->likely_total = rounded(tally->total + tally->skipped * mean);
	tally->likely_self = rounded(tally->self + untold * (self_time > 0 ? self / self_time : 1));
}

static void take(uint64_t *from, uint64_t *left)
{
	uint64_t part = *from < *left ? *from : *left;

	*from -= part;
	*left -= part;
}

/* Where a thread stands for all of its process, their calls may take more than the process's time. */
static void set_groups(struct report_thread *t, const uint64_t *missing)
{
	uint64_t inside = sum_groups(missing);

	for (int g = 0; g < GROUPS; g++)
		t->likely_group[g] = missing[g];
	t->likely_outside = without(t->outside, inside);
}

/* Of one thread, from the missing calls' self time by group. */
static void estimate_groups(struct report_thread *t, const uint64_t *missing)
{
	uint64_t room = t->outside + t->idle + t->unseen, left, idle = t->idle;
	double all = 0, part;

	for (int g = 0; g < GROUPS; g++)
		all += missing[g];
	part = all > room ? room / all : 1;
	left = all > room ? room : (uint64_t)all;
	t->likely_outside = t->outside;
	t->likely_unseen = t->unseen;
	take(&t->likely_outside, &left);
	take(&idle, &left);
	take(&t->likely_unseen, &left);
	for (int g = 0; g < GROUPS; g++)
		t->likely_group[g] = t->group[g] + (uint64_t)(missing[g] * part);
	t->likely_group[GROUP_WAIT] += idle;
	/* Shares may be among the missing calls. */
	*(t->lost || t->summed || t->skipped ? &t->unseen : &t->group[GROUP_WAIT]) += t->idle;
}

static int estimate_threads(struct report *r)
{
	uint64_t(*missing)[GROUPS] = calloc(r->d->nthreads + 1, sizeof(*missing));

	if (!missing)
		return -ENOMEM;
	for (size_t i = 0; i < r->nrows; i++) {
		const struct row *row = &r->rows[i];
		enum group group = group_of_role(r->profile->events[row->event].role);

		if (r->profile->events[row->event].is_inner)
			continue; /* it is in the time of the call around it */
		missing[row->thread][group] += row->tally.likely_self - row->tally.self;
	}
	for (size_t i = 0; i < r->nthreads; i++) {
		if (r->d->threads[r->threads[i].thread].all && r->d->run.only_sums)
			set_groups(&r->threads[i], missing[r->threads[i].thread]);
		else
			estimate_groups(&r->threads[i], missing[r->threads[i].thread]);
	}
	free(missing);
	return 0;
}

int report_add_sums(struct report *r)
{
	struct basis *events = calloc(r->profile->nevents + 1, sizeof(*events));

	if (!events || add_all(r)) {
		free(events);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->nrows; i++) {
		const struct tally *tally = &r->rows[i].tally;
		struct basis *event = &events[r->rows[i].event];

		event->time += tally->time;
		event->timed += tally->timed;
		event->self += tally->self;
		event->self_time += tally->time - tally->untold;
	}
	for (size_t i = 0; i < r->nrows; i++)
		estimate(&r->rows[i].tally, &events[r->rows[i].event]);
	free(events);
	return estimate_threads(r);
}
