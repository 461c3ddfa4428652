/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases_found.c - which of the markers (phases.c) the iterations of the job are, and who has the same ones.
 *
 * A marker is good for a thread if it came back ITERATIONS_LEAST times at least, if most of its iterations are alike,
 * by number and by time, and if these take RUN_SHARE of the time from the thread's first call to its last, without
 * those that set up a runtime or end it. What the program announces goes before meetings, and those before messages. Of
 * one kind the marker is taken whose alike iterations take most time, on all threads together; of two that are about as
 * good the outermost function, or the meeting that comes first. The threads for which it is good have the same
 * iterations; for the others the next is looked for.
 *
 * The n-th iteration of one thread is that of another only if they have begun at the same one. Where gaspbpf joins in
 * the middle, some threads are seen to leave a meeting whose call was not seen on others; so of meetings those are
 * skipped that ended nearer to another one than to the first that all have. Then the threads must have as many, but for
 * one, and be in step at the beginning and at the end. Else each is told by itself.
 */
#include "analysis/phases.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define ITERATIONS_LEAST 5
#define ALIKE_SHARE 60 /* percent of the iterations */
#define TIME_SHARE 50  /* percent of the time of all iterations: of those alike */
#define RUN_SHARE 25   /* percent */
#define EQUAL 200      /* one in so many: as good */
#define FOUND_MOST 64

struct choice {
	uint32_t thread;
	uint32_t place; /* the first site of the same instruction */
	struct marker *marker;
	const struct report_thread *row;
	bool taken;
};

/* How long it ran, without setting up its runtime and ending it: ns. */
static uint64_t ran(const struct profiled_thread *t, const struct phased_thread *phased)
{
	uint64_t first = phased->begin_seen && phased->begun > t->first ? phased->begun : t->first;
	uint64_t last = phased->end_seen && phased->ends < t->last ? phased->ends : t->last;

	return last > first ? last - first : t->last - t->first;
}

static bool is_good(const struct report *r, uint32_t thread, const struct phased_thread *phased, const struct marker *m)
{
	uint64_t run = ran(&r->profile->threads[thread], phased);

	return !m->too_short && m->iterations >= ITERATIONS_LEAST &&
	       m->alike * 100.0 >= m->iterations * (double)ALIKE_SHARE &&
	       m->alike_time * 100.0 >= m->time * (double)TIME_SHARE &&
	       m->alike_time * 100.0 >= run * (double)RUN_SHARE;
}

/* All that are good, of the threads that count. 0 or -ENOMEM. */
static int collect(struct phases *s, const struct report *r, const uint32_t *same, struct choice **all, size_t *count)
{
	size_t room = 0;

	for (size_t i = 0; i < r->nthreads; i++) {
		uint32_t thread = r->threads[i].thread;
		struct phased_thread *t = thread < s->nthreads ? &s->threads[thread] : NULL;

		for (size_t k = 0; t && t->markers && k < MARKER_SETS * MARKER_WAYS; k++) {
			struct marker *m = t->markers[k];

			if (!m)
				continue;
			if (marker_finish(s, thread, m))
				return -ENOMEM;
			if (thread >= r->profile->nthreads || !is_good(r, thread, t, m))
				continue;
			if (array_one_more(all, &room, *count, sizeof(**all)))
				return -ENOMEM;
			(*all)[(*count)++] = (struct choice){
				.thread = thread,
				.place = m->kind == MARKER_PROGRAM || m->site >= s->d->nsites ? NO_INDEX
											      : same[m->site],
				.marker = m,
				.row = &r->threads[i],
			};
		}
	}
	return 0;
}

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int by_place(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	COMPARE(x->marker->kind, y->marker->kind);
	COMPARE(x->marker->event, y->marker->event);
	COMPARE(x->place, y->place);
	COMPARE(x->row, y->row); /* the order of the report */
	COMPARE(x->marker->from, y->marker->from);
	return 0;
}

static bool is_same_place(const struct choice *a, const struct choice *b)
{
	return a->marker->event == b->marker->event && a->place == b->place;
}

/* Choices of one place: all[first] to all[last - 1]. */
struct offer {
	size_t first, last;
	uint64_t time, from;
	unsigned depth; /* the least of any */
};

static bool is_better(const struct offer *a, const struct offer *b, enum marker_kind kind)
{
	uint64_t more = a->time > b->time ? a->time : b->time, less = a->time > b->time ? b->time : a->time;

	if (more - less > more / EQUAL)
		return a->time > b->time;
	if (kind == MARKER_PROGRAM && a->depth != b->depth)
		return a->depth < b->depth;
	return a->from < b->from;
}

/* The best of those that are not taken. False: none is left. */
static bool find_best(const struct choice *all, size_t count, struct offer *best)
{
	bool found = false;

	for (size_t first = 0, last; first < count; first = last) {
		struct offer offer = { .first = first, .from = UINT64_MAX, .depth = UINT_MAX };

		for (last = first; last < count && is_same_place(&all[first], &all[last]); last++) {
			const struct marker *m = all[last].marker;

			if (all[last].taken)
				continue;
			offer.time += m->alike_time;
			offer.depth = m->depth < offer.depth ? m->depth : offer.depth;
			offer.from = m->from < offer.from ? m->from : offer.from;
		}
		offer.last = last;
		if (!offer.time || (found && all[first].marker->kind > all[best->first].marker->kind) ||
		    (found && !is_better(&offer, best, all[first].marker->kind)))
			continue;
		*best = offer;
		found = true;
	}
	return found;
}

/* A place that stands before others of a thread makes these superfluous. */
static void take_thread(struct choice *all, size_t count, uint32_t thread)
{
	for (size_t i = 0; i < count; i++)
		all[i].taken |= all[i].thread == thread;
}

/* --- whether the n-th is the same one for all ------------------------------- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void align(struct iterating *it)
{
	uint64_t first = 0;

	for (size_t i = 0; i < it->nmembers; i++)
		if (it->members[i].marker->early[0] > first)
			first = it->members[i].marker->early[0];
	for (size_t i = 0; i < it->nmembers; i++) {
		struct member *member = &it->members[i];

		for (unsigned k = 1; k < EARLY; k++)
			if (distance(member->marker->early[k], first) <
			    distance(member->marker->early[member->skip], first))
				member->skip = k;
	}
}

static bool is_common(const struct phases *s, const struct iterating *it)
{
	uint64_t least = UINT64_MAX, most = 0;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < it->nmembers; i++) {
		const struct marker *m = it->members[i].marker;
		uint64_t have = m->iterations - it->members[i].skip;

		if (m->broken || s->threads[it->members[i].thread].gaps)
			return false;
		least = have < least ? have : least;
		most = have > most ? have : most;
		if (m->nstretches < last)
			last = m->nstretches;
	}
	if (most - least > 1)
		return false;
	for (size_t step = 0; step + 1 < last; step += last > 3 ? last - 2 : 1) {
		const struct stretch *first = stretch_of(it, &it->members[0], step);

		for (size_t i = 1; i < it->nmembers && first; i++) {
			const struct stretch *other = stretch_of(it, &it->members[i], step);

			if (!other || distance(first->end, other->end) > first->lasted)
				return false;
		}
	}
	return true;
}

/* --- sums --------------------------------------------------------------------- */

static void sum_up(const struct phases *s, const struct report *r, struct iterating *it)
{
	double time = 0, squares = 0, count = 0;

	it->shortest = UINT64_MAX;
	it->begin_seen = it->end_seen = true;
	for (size_t i = 0; i < it->nmembers; i++) {
		const struct marker *m = it->members[i].marker;
		const struct phased_thread *t = &s->threads[it->members[i].thread];

		count += m->iterations;
		time += m->time;
		squares += m->squares;
		it->shortest = m->shortest < it->shortest ? m->shortest : it->shortest;
		it->longest = m->longest > it->longest ? m->longest : it->longest;
		if (m->iterations - m->alike > it->unlike)
			it->unlike = m->iterations - m->alike;
		if (!i || m->iterations - it->members[i].skip < it->iterations)
			it->iterations = m->iterations - it->members[i].skip;
		it->broken += t->gaps > m->broken ? t->gaps : m->broken;
		it->begin_seen &= t->begin_seen;
		it->end_seen &= t->end_seen;
	}
	it->mean = time / count;
	squares = squares / count - it->mean * it->mean;
	it->variation = it->mean > 0 && squares > 0 ? sqrt(squares) / it->mean : 0;
	it->missing = tally_missing(&r->by_event[it->event]);
}

/* A runtime whose start or end can be seen. */
static bool has_role(const struct definitions *d, enum role role)
{
	for (size_t i = 0; i < d->nprobes; i++)
		if (d->probes[i].role == role)
			return true;
	return false;
}

static int make_steps(struct iterating *it)
{
	size_t count = SIZE_MAX;

	it->stride = it->members[0].marker->stride;
	for (size_t i = 0; i < it->nmembers; i++) {
		size_t have = 0;

		while (stretch_of(it, &it->members[i], have))
			have++;
		count = have < count ? have : count;
	}
	it->nsteps = count;
	it->steps = calloc(count + 1, sizeof(*it->steps));
	if (!it->steps)
		return -ENOMEM;
	for (size_t k = 0; k < count; k++) {
		struct step *step = &it->steps[k];

		for (size_t i = 0; i < it->nmembers; i++) {
			const struct stretch *stretch = stretch_of(it, &it->members[i], k);

			if (!i || stretch->iterations < step->iterations)
				step->iterations = stretch->iterations;
			if (stretch->unlike > step->unlike)
				step->unlike = stretch->unlike;
			if (stretch->end > step->end)
				step->end = stretch->end;
			step->mean += (double)stretch->lasted / stretch->iterations / it->nmembers;
			if (!i || stretch->shortest < step->shortest)
				step->shortest = stretch->shortest;
			if (stretch->longest.lasted <= step->longest)
				continue;
			step->longest = stretch->longest.lasted;
			step->longest_end = stretch->longest.end;
			step->longest_alike = stretch->longest.alike;
			step->number = stretch->number - it->members[i].skip;
		}
		if (it->stride == 1)
			step->shortest = step->longest = step->mean; /* the same one on all: no thread's own hiccup */
	}
	return 0;
}

const struct stretch *stretch_of(const struct iterating *it, const struct member *member, size_t step)
{
	const struct marker *m = member->marker;
	size_t at = step + (m->stride == 1 ? member->skip : 0);

	return at < m->nstretches ? &m->stretches[at] : NULL;
}

/* All members' stretches as long. */
static void even_out(struct iterating *it)
{
	uint64_t stride = 1;

	for (size_t i = 0; i < it->nmembers; i++)
		if (it->members[i].marker->stride > stride)
			stride = it->members[i].marker->stride;
	for (size_t i = 0; i < it->nmembers; i++)
		while (it->members[i].marker->stride < stride)
			marker_halve(it->members[i].marker);
}

/* --- all of it ------------------------------------------------------------------ */

/* Have other ranks been there that are no members? Those may be the ones that the members wait for. 0 or -ENOMEM. */
static int find_strangers(const struct report *r, struct iterating *it)
{
	bool *known = calloc(r->d->nprocesses + 1, sizeof(*known));

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < it->nmembers; i++)
		known[it->members[i].row->process] = true;
	for (size_t i = 0; i < r->nthreads; i++)
		it->partly |= !known[r->threads[i].process] && r->d->processes[r->threads[i].process].rank >= 0;
	free(known);
	return 0;
}

static int add_found(struct phases *s, const struct report *r, const struct iterating *like,
		     const struct member *members, size_t count, bool common)
{
	struct iterating *it;
	int error;

	if (s->nfound == FOUND_MOST) {
		s->beyond += count;
		return 0;
	}
	it = &s->found[s->nfound++];
	*it = *like;
	it->common = common;
	it->members = calloc(count, sizeof(*members));
	it->nmembers = count;
	if (!it->members)
		return -ENOMEM;
	memcpy(it->members, members, count * sizeof(*members));
	sum_up(s, r, it);
	it->begin_seen |= !has_role(s->d, ROLE_INIT);
	it->end_seen |= !has_role(s->d, ROLE_EXIT);
	error = find_strangers(r, it) ?: make_steps(it);
	return error ? error : phases_look(s, r, it);
}

/* The threads of this offer. */
static int take(struct phases *s, const struct report *r, struct choice *all, size_t count, const struct offer *offer)
{
	const struct choice *first = NULL;
	struct iterating it = { 0 };
	int error = 0;

	it.members = calloc(offer->last - offer->first, sizeof(*it.members));
	if (!it.members)
		return -ENOMEM;
	for (size_t i = offer->first; i < offer->last; i++) {
		if (all[i].taken)
			continue;
		first = first ?: &all[i];
		it.members[it.nmembers++] = (struct member){ .thread = all[i].thread,
							     .marker = all[i].marker,
							     .row = all[i].row };
		take_thread(all, count, all[i].thread);
	}
	it.kind = first->marker->kind;
	it.event = first->marker->event;
	it.site = it.kind == MARKER_PROGRAM ? NO_INDEX : first->marker->site;
	even_out(&it);
	if (it.kind == MARKER_MEETING)
		align(&it);
	if (is_common(s, &it)) {
		error = add_found(s, r, &it, it.members, it.nmembers, it.nmembers > 1);
	} else {
		for (size_t i = 0; i < it.nmembers && !error; i++) {
			it.members[i].skip = 0;
			error = add_found(s, r, &it, &it.members[i], 1, false);
		}
	}
	free(it.members);
	return error;
}

void iterating_free(struct iterating *it)
{
	for (size_t i = 0; i < it->noutliers; i++)
		people_free(&it->outliers[i].blame.who);
	for (size_t i = 0; i < it->nparts; i++)
		people_free(&it->parts[i].blame.who);
	free(it->members);
	free(it->steps);
	free(it->outliers);
}

int phases_find(struct phases *s, struct report *r)
{
	uint32_t *same = report_same_sites(s->d);
	struct choice *all = NULL;
	struct offer offer = { 0 };
	size_t count = 0;
	int error = same ? collect(s, r, same, &all, &count) : -ENOMEM;

	s->found = calloc(FOUND_MOST, sizeof(*s->found));
	if (!s->found)
		error = -ENOMEM;
	if (!error && count)
		qsort(all, count, sizeof(*all), by_place);
	while (!error && find_best(all, count, &offer))
		error = take(s, r, all, count, &offer);
	free(all);
	free(same);
	return error;
}
