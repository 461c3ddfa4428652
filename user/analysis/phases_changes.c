/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases_changes.c - what is out of line in the iterations (phases.c): single ones that are longer than the others, and
 * moments from which on all are.
 *
 * Change. The times are ranked, so that nothing is asked of how they are distributed. The sum over the ranks of the
 * first k of them, less what it would be by chance, is 0 at both ends, and goes up or down in between where the times
 * change. If it was as far from 0 as U, that was chance with a probability of about 2 exp(-6 U^2 / (n^3 + n^2)), which
 * is Pettitt's test for one change. If it had a range of R from its lowest to its highest, as where the times change
 * and change back, the probability is about 2 (4 v - 1) exp(-2 v) with v = 3 R^2 / (n^3 + n^2), which is Kuiper's. A
 * change is told, at the lowest and the highest, where twice the lesser of the two is below LEVEL, and at least
 * SIDE_LEAST lie on either side, three quarters of the slower ones are slower than three quarters of the others, and
 * the medians are APART percent apart. Then all parts are looked at in the same way.
 *
 * Outlier. An iteration that takes OUTLIER_FACTOR times the median of its part, and is further from it than
 * OUTLIER_DEVIATIONS times the median of all distances (times 1.4826, which makes that the standard deviation where
 * the times are normally distributed). Where more than one in OUTLIERS_SHARE are, they are no outliers: the times vary.
 * Where the job has the same iterations, the mean of all threads is what is looked at, as one thread may be late to
 * leave a barrier and be quicker in the next.
 *
 * Where at least PERIODIC_LEAST outliers, and three quarters of all, are each k-th iteration, and half of all those are
 * outliers, the program does more in each k-th: that is told with them.
 *
 * Who. The work that has grown most on a thread is to blame, if it makes up for half of what the iteration is longer;
 * else whatever has grown most.
 */
#include "analysis/phases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define LEVEL 0.001
#define SIDE_LEAST 5
#define APART 10 /* percent */
#define OUTLIER_FACTOR 2
#define OUTLIER_DEVIATIONS 6
#define NORMAL 1.4826
#define OUTLIERS_SHARE 10 /* one in so many */
#define PERIODIC_LEAST 6
#define PERIOD_MOST 100
#define BLAMED_MOST 32 /* of more outliers it is not asked who */

/* What a thread does for itself. The rest may be waiting for others. */
#define OWN_WORK (1u << GROUP_COMPUTE | 1u << GROUP_TASK | 1u << GROUP_ALLOC | 1u << GROUP_IO | 1u << GROUP_OTHER)

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of sorted values, the one below which `part` of them are. */
static double quantile(const double *sorted, size_t count, double part)
{
	double at = part * (count - 1);
	size_t low = (size_t)at;

	return low + 1 < count ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]) : sorted[count - 1];
}

/* The means of some steps, sorted, into sorted[]. */
static void sort_steps(const struct iterating *it, size_t first, size_t count, double *sorted)
{
	for (size_t i = 0; i < count; i++)
		sorted[i] = it->steps[first + i].mean;
	qsort(sorted, count, sizeof(*sorted), by_value);
}

/* --- who ------------------------------------------------------------------------ */

/* ns of an iteration, on average. A function of the program counts as what it is: computing. */
static double group_of(const struct iterating *it, const uint64_t group[GROUPS], uint64_t iterations, int which)
{
	double ns = group[which];

	if (it->kind == MARKER_PROGRAM && which == GROUP_OTHER)
		return 0;
	if (it->kind == MARKER_PROGRAM && which == GROUP_COMPUTE)
		ns += group[GROUP_OTHER];
	return iterations ? ns / iterations : 0;
}

/* Something that each member has done: of so many iterations. */
struct done {
	uint64_t group[GROUPS], iterations;
};

static int blame(const struct iterating *it, const struct done *before, const struct done *after, double longer,
		 struct blame *result)
{
	unsigned sets[] = { OWN_WORK, ~0u };
	double most = 0;

	for (size_t set = 0; set < sizeof(sets) / sizeof(*sets) && !result->known; set++) {
		most = 0;
		for (size_t i = 0; i < it->nmembers; i++)
			for (int g = 0; g < GROUPS; g++) {
				double more = group_of(it, after[i].group, after[i].iterations, g) -
					      group_of(it, before[i].group, before[i].iterations, g);

				if (!(sets[set] >> g & 1) || more <= most)
					continue;
				most = more;
				result->group = g;
			}
		result->known = most > 0 && (2 * most >= longer || set);
	}
	result->longer = most;
	for (size_t i = 0; i < it->nmembers && result->known; i++) {
		double more = group_of(it, after[i].group, after[i].iterations, result->group) -
			      group_of(it, before[i].group, before[i].iterations, result->group);

		if (2 * more >= most && people_add(&result->who, it->members[i].thread))
			return -ENOMEM;
	}
	return 0;
}

/* What each member has done in the steps of a part; usual: only where nothing is out of line. */
static void add_done(const struct iterating *it, const struct part *part, bool usual, struct done *done)
{
	for (size_t i = 0; i < it->nmembers; i++) {
		done[i] = (struct done){ 0 };
		for (size_t k = part->first; k < part->first + part->count; k++) {
			const struct stretch *stretch = stretch_of(it, &it->members[i], k);

			if (!stretch || (usual && it->steps[k].out_of_line))
				continue;
			done[i].iterations += stretch->iterations;
			add_groups(done[i].group, stretch->group);
		}
	}
}

/* --- parts ------------------------------------------------------------------------ */

/* How far the ranks of the steps up to each are from what they would be by chance, at most: above, and below. */
struct excursion {
	double high, low;
	size_t high_at, low_at; /* how many steps are before it */
};

/* sorted: their means. */
static struct excursion find_excursion(const struct iterating *it, size_t first, size_t count, const double *sorted)
{
	struct excursion is = { 0 };
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		double x = it->steps[first + i].mean;
		size_t low = 0, high = count, above;

		while (low < high) { /* those below */
			size_t middle = low + (high - low) / 2;

			if (sorted[middle] < x)
				low = middle + 1;
			else
				high = middle;
		}
		for (above = low; above < count && sorted[above] <= x;)
			above++;
		sum += (double)(low + above + 1) - (count + 1.0); /* twice the mean rank of equal ones, and of all */
		if (sum > is.high) {
			is.high = sum;
			is.high_at = i + 1;
		}
		if (sum < is.low) {
			is.low = sum;
			is.low_at = i + 1;
		}
	}
	return is;
}

/* That it is chance, by the two tests together. */
static double chance_of(const struct excursion *is, size_t count)
{
	double n = count, norm = 3 / (n * n * n + n * n), far = is->high > -is->low ? is->high : -is->low;
	double range = is->high - is->low, single, kuiper;

	single = 2 * exp(-2 * norm * far * far);
	kuiper = 2 * (4 * norm * range * range - 1) * exp(-2 * norm * range * range);
	if (norm * range * range < 1)
		kuiper = 1; /* the formula is for what is unlikely */
	return 2 * (single < kuiper ? single : kuiper);
}

/* Do the steps before and after differ clearly? Both are sorted into sorted[]. */
static bool differ(const struct iterating *it, size_t first, size_t at, size_t last, double *sorted)
{
	double *other = sorted + (at - first), before, after;
	size_t many = at - first, more = last - at;

	if (many < SIDE_LEAST || more < SIDE_LEAST)
		return false;
	sort_steps(it, first, many, sorted);
	sort_steps(it, at, more, other);
	before = quantile(sorted, many, 0.5);
	after = quantile(other, more, 0.5);
	if (before < after ? quantile(sorted, many, 0.75) >= quantile(other, more, 0.25)
			   : quantile(sorted, many, 0.25) <= quantile(other, more, 0.75))
		return false;
	return fabs(after - before) * 100 >= APART * before;
}

/* Where changes are, at most two, sorted, as the steps behind them; how many. *chance: that there is none. */
static size_t find_change(const struct iterating *it, size_t first, size_t last, double *sorted, size_t at[2],
			  double *chance)
{
	size_t count = last - first, low, high, n = 0;
	struct excursion is;

	if (count < 2 * SIDE_LEAST)
		return 0;
	sort_steps(it, first, count, sorted);
	is = find_excursion(it, first, count, sorted);
	*chance = chance_of(&is, count);
	if (*chance >= LEVEL)
		return 0;
	low = first + (is.low_at < is.high_at ? is.low_at : is.high_at);
	high = first + (is.low_at < is.high_at ? is.high_at : is.low_at);
	if (differ(it, first, low, high, sorted))
		at[n++] = low;
	if (differ(it, n ? low : first, high, last, sorted))
		at[n++] = high;
	else if (!n && differ(it, first, low, last, sorted))
		at[n++] = low;
	return n;
}

struct cut {
	size_t at; /* the first step behind it */
	double chance;
};

/* Where parts begin, sorted; cuts has PARTS_MOST places. */
static size_t find_changes(const struct iterating *it, double *sorted, struct cut *cuts)
{
	size_t count = 1, i = 0;

	cuts[0] = (struct cut){ 0, 1 };
	while (i < count) {
		size_t last = i + 1 < count ? cuts[i + 1].at : it->nsteps, at[2], more = 0;
		double chance = 1;

		if (count + 2 <= PARTS_MOST - 2)
			more = find_change(it, cuts[i].at, last, sorted, at, &chance);
		if (!more) {
			i++;
			continue;
		}
		memmove(&cuts[i + 1 + more], &cuts[i + 1], (count - i - 1) * sizeof(*cuts));
		for (size_t k = 0; k < more; k++)
			cuts[i + 1 + k] = (struct cut){ at[k], chance };
		count += more;
	}
	return count;
}

/* POP's: mean useful time / the longest of any, and that / time of the run. Of a part of the ranks they would say that
 * it waits for a bad network, where it waits for the other ranks. */
static void measure(const struct iterating *it, struct part *part, const struct done *done)
{
	uint64_t most = 0, all = 0, elapsed = part->to - part->from;

	for (size_t i = 0; i < it->nmembers; i++) {
		uint64_t useful = done[i].group[GROUP_COMPUTE] + done[i].group[GROUP_TASK] + done[i].group[GROUP_OTHER];

		most = useful > most ? useful : most;
		all += useful;
		add_groups(part->group, done[i].group);
	}
	part->time = sum_groups(part->group);
	part->load_balance = most && it->common && !it->partly ? (double)all / it->nmembers / most : -1;
	part->communication = elapsed && it->common && !it->partly ? (double)most / elapsed : -1;
	if (part->communication > 1)
		part->communication = 1;
}

static int steady_part(struct iterating *it, const struct cut *cut, size_t end, struct done *before, struct done *done,
		       double *sorted)
{
	size_t first = cut->at, count = end - first;
	struct part *last = &it->parts[it->nparts - 1], *part = &it->parts[it->nparts++];
	double mean = 0;

	*part = (struct part){ .name = "iterations", .first = first, .count = count, .chance = cut->chance };
	part->from = last->to;
	part->to = it->steps[first + count - 1].end;
	for (size_t k = first; k < first + count; k++) {
		part->iterations += it->steps[k].iterations;
		mean += it->steps[k].mean * it->steps[k].iterations;
	}
	part->number = first * it->stride;
	part->mean = mean / part->iterations;
	sort_steps(it, first, count, sorted);
	part->typical = quantile(sorted, count, 0.5);
	if (part->to < part->from) /* calls of several members, each with times of its own */
		part->to = part->from;
	add_done(it, part, false, done);
	measure(it, part, done);
	if (it->nparts < 3 || part->typical <= last->typical)
		return 0;
	add_done(it, last, false, before);
	return blame(it, before, done, part->typical - last->typical, &part->blame);
}

/* From when to when the process of the thread was observed. */
static struct time_range observed(const struct report *r, const struct member *member)
{
	const struct def_process *process = report_process(r, member->thread);
	struct time_range range = { r->start, r->end };

	if (process && process->start > range.start)
		range.start = process->start;
	if (process && process->end && process->end < range.end)
		range.end = process->end;
	return range;
}

static void rest(struct done *done, uint64_t elapsed)
{
	uint64_t inside;

	done->group[GROUP_COMPUTE] = 0;
	inside = sum_groups(done->group);
	done->group[GROUP_COMPUTE] = elapsed > inside ? elapsed - inside : 0;
}

static void edge_part(const struct report *r, struct iterating *it, bool before, struct done *done)
{
	struct part *part = &it->parts[it->nparts++];
	uint64_t first = UINT64_MAX, last = 0;

	*part = (struct part){ .name = before ? "before" : "after", .chance = 1 };
	for (size_t i = 0; i < it->nmembers; i++) {
		const struct member *member = &it->members[i];
		const struct marker *m = member->marker;
		struct time_range range = observed(r, member);
		uint64_t from = m->from;

		done[i] = (struct done){ 0 };
		memcpy(done[i].group, before ? m->before : member->row->group, sizeof(done[i].group));
		for (size_t k = 0; k < m->nstretches && (!before || (k < member->skip && m->stride == 1)); k++) {
			for (int g = 0; g < GROUPS && before; g++)
				done[i].group[g] += m->stretches[k].group[g];
			if (before)
				from = m->stretches[k].end;
		}
		for (int g = 0; g < GROUPS && !before; g++) {
			uint64_t gone = m->before[g];

			for (size_t k = 0; k < m->nstretches; k++)
				gone += m->stretches[k].group[g];
			done[i].group[g] -= gone < done[i].group[g] ? gone : done[i].group[g];
		}
		if (!before)
			range.start = m->stretches[m->nstretches - 1].end;
		else
			range.end = from;
		rest(&done[i], range.end > range.start ? range.end - range.start : 0);
		first = range.start < first ? range.start : first;
		last = range.end > last ? range.end : last;
	}
	part->from = first;
	part->to = last > first ? last : first;
	measure(it, part, done);
}

static int make_parts(const struct report *r, struct iterating *it)
{
	struct done *before = calloc(it->nmembers, sizeof(*before)), *done = calloc(it->nmembers, sizeof(*done));
	double *sorted = calloc(it->nsteps + 1, sizeof(*sorted));
	struct cut cuts[PARTS_MOST];
	size_t count;
	int error = before && done && sorted ? 0 : -ENOMEM;

	if (!error) {
		count = find_changes(it, sorted, cuts);
		edge_part(r, it, true, done);
		for (size_t i = 0; i < count && !error; i++)
			error = steady_part(it, &cuts[i], i + 1 < count ? cuts[i + 1].at : it->nsteps, before, done,
					    sorted);
		edge_part(r, it, false, done);
	}
	free(before);
	free(done);
	free(sorted);
	return error;
}

/* --- outliers ---------------------------------------------------------------------- */

static int longest_first(const void *a, const void *b)
{
	const struct outlier *x = a, *y = b;

	if (x->lasted != y->lasted)
		return x->lasted > y->lasted ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int blame_outlier(struct iterating *it, struct outlier *outlier, struct done *before, struct done *done)
{
	const struct part *part = outlier->part;

	add_done(it, part, true, before);
	for (size_t i = 0; i < it->nmembers; i++) {
		const struct stretch *stretch = stretch_of(it, &it->members[i], outlier->step);

		done[i] = (struct done){ .iterations = 1 };
		if (it->common && stretch->number - it->members[i].skip != outlier->number)
			done[i] = before[i]; /* another one was its longest */
		else
			memcpy(done[i].group, stretch->longest.group, sizeof(done[i].group));
	}
	return blame(it, before, done, outlier->lasted - outlier->typical, &outlier->blame);
}

static int outliers_of(struct iterating *it, const struct part *part, size_t *room, double *sorted)
{
	double typical = part->typical, far;

	for (size_t k = 0; k < part->count; k++)
		sorted[k] = fabs(it->steps[part->first + k].mean - typical);
	qsort(sorted, part->count, sizeof(*sorted), by_value);
	/* Means of many differ less than the iterations themselves. */
	far = OUTLIER_DEVIATIONS * NORMAL * sqrt(it->stride) * quantile(sorted, part->count, 0.5);
	for (size_t k = part->first; k < part->first + part->count; k++) {
		struct step *step = &it->steps[k];

		if (step->longest < OUTLIER_FACTOR * typical || step->longest - typical <= far)
			continue;
		if (!step->longest_alike && (it->broken || it->missing))
			continue; /* several in one, maybe */
		if (array_one_more(&it->outliers, room, it->noutliers, sizeof(*it->outliers)))
			return -ENOMEM;
		it->outliers[it->noutliers++] = (struct outlier){
			.part = part,
			.step = k,
			.number = step->number,
			.end = step->longest_end,
			.lasted = step->longest,
			.typical = part->typical,
			.unlike = !step->longest_alike,
		};
		it->outliers_cost += step->longest - part->typical;
		step->out_of_line = true;
	}
	return 0;
}

/* How many of the outliers have the number of the worst, but for multiples of the period. */
static size_t in_step_with_worst(const struct iterating *it, unsigned period)
{
	size_t count = 0;

	for (size_t i = 0; i < it->noutliers; i++)
		count += it->outliers[i].number % period == it->outliers[0].number % period;
	return count;
}

static void find_period(struct iterating *it)
{
	for (unsigned period = PERIOD_MOST; period > 1 && it->noutliers >= PERIODIC_LEAST; period--) {
		size_t count = in_step_with_worst(it, period);

		if (count < PERIODIC_LEAST || 4 * count < 3 * it->noutliers || 2 * count * period < it->iterations)
			continue;
		it->period = period;
		it->periodic = count;
		return;
	}
}

static int find_outliers(struct iterating *it)
{
	struct done *before = calloc(it->nmembers, sizeof(*before)), *done = calloc(it->nmembers, sizeof(*done));
	double *sorted = calloc(it->nsteps + 1, sizeof(*sorted));
	int error = before && done && sorted ? 0 : -ENOMEM;
	size_t room = 0;

	for (size_t i = 0; i < it->nparts && !error; i++)
		if (it->parts[i].count)
			error = outliers_of(it, &it->parts[i], &room, sorted);
	if (it->noutliers * OUTLIERS_SHARE > it->iterations)
		it->noutliers = it->outliers_cost = 0;
	if (it->noutliers)
		qsort(it->outliers, it->noutliers, sizeof(*it->outliers), longest_first);
	find_period(it);
	for (size_t i = 0; i < it->noutliers && i < BLAMED_MOST && !error; i++)
		error = blame_outlier(it, &it->outliers[i], before, done);
	free(before);
	free(done);
	free(sorted);
	return error;
}

int phases_look(const struct phases *s, const struct report *r, struct iterating *it)
{
	int error = make_parts(r, it);

	return error ? error : find_outliers(it);
}
