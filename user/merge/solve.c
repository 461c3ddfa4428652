/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * solve.c - what is to be added to each clock, so that all bounds hold.
 *
 * Let x(n, k) be what is added to clock n in bucket k; it is 0 for the reference. A bound of a bucket says
 * x(late, k) - x(early, k) >= least. And what is added grows slowly: |x(n, k) - x(n, k + 1)| <= slope * width. All of
 * these are differences, so the largest and the smallest x that hold are longest and shortest paths from the reference.
 * Both of them hold all bounds, and so does the middle of the two, for what holds is convex: that is taken, and half of
 * what is between them is how far it can be off.
 *
 * The slope is the smallest with which there is a solution at all. A straight line through what is found is taken out,
 * and the rest solved again, with a smaller slope: a clock that drifts evenly needs no slope in the end, and all
 * its bounds, from the first to the last, say where its line is. Where that is not enough, curves of several lines are
 * taken out.
 *
 * Where there is no solution, some bound is wrong: first those of operations are left out that may not be what they
 * seem, then all are loosened, by as little as it takes. With the curves of that it can be seen which ones are far off
 * (outliers.c); those are left out, and the others hold as they are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/bounds.h"
#include "merge/edges.h"

#define NEAR 0.01 /* ns: what is closer is the same */
#define PASSES 4
#define PIECE_LEAST 8    /* buckets */
#define SLACK_FIRST 64.0 /* ns */
#define SLACK_MOST 1e15

static const double slopes[] = { 0, 1e-10, 1e-9, 1e-8, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3 };
/* Of so many straight lines are the curves that are taken out, one after the other. */
static const size_t pieces[] = { 1, 1, 16, 32, 64 };
#define LEVELS (sizeof(pieces) / sizeof(pieces[0]))
#define SLOPES ((int)(sizeof(slopes) / sizeof(slopes[0])))

struct solver {
	uint32_t nclocks, buckets;
	uint32_t reference;
	double width; /* ns */
	struct edge *edges;
	size_t nedges, *first; /* by bucket; one more */
	double *low, *high;    /* by bucket and clock */
	double *curves;        /* by clock, at each end of a bucket: what is taken out */
	double *fitted;        /* the same, of the last time */
	bool doubtful;         /* those that are in doubt count, too */
	double slack, slope;
};

/* --- with one slope ------------------------------------------------------------------- */

static size_t vertex(const struct solver *s, uint32_t clock, uint32_t bucket)
{
	return (size_t)bucket * s->nclocks + clock;
}

static bool raise_low(struct solver *s, size_t to, double value)
{
	if (!(value > s->low[to] + NEAR))
		return false;
	s->low[to] = value;
	return true;
}

static bool lower_high(struct solver *s, size_t to, double value)
{
	if (!(value < s->high[to] - NEAR))
		return false;
	s->high[to] = value;
	return true;
}

/* All bounds of a bucket, until nothing changes. False: that does not end. */
static bool relax_bucket(struct solver *s, uint32_t bucket, bool *changed)
{
	bool again = true;

	for (uint32_t pass = 0; again; pass++) {
		if (pass > s->nclocks + 1)
			return false;
		again = false;
		for (size_t i = s->first[bucket]; i < s->first[bucket + 1]; i++) {
			const struct edge *edge = &s->edges[i];
			size_t late = vertex(s, edge->late, bucket), early = vertex(s, edge->early, bucket);
			double least = edge->least - s->slack;

			if (edge->dropped || (edge->doubtful && !s->doubtful))
				continue;
			again |= raise_low(s, late, s->low[early] + least);
			again |= lower_high(s, early, s->high[late] - least);
			if (s->low[late] > s->high[late] + NEAR || s->low[early] > s->high[early] + NEAR)
				return false;
		}
		*changed |= again;
	}
	return true;
}

/* From one bucket to the next. */
static bool pass_on(struct solver *s, uint32_t from, uint32_t to)
{
	double most = s->slope * s->width;
	bool changed = false;

	for (uint32_t n = 0; n < s->nclocks; n++) {
		changed |= raise_low(s, vertex(s, n, to), s->low[vertex(s, n, from)] - most);
		changed |= lower_high(s, vertex(s, n, to), s->high[vertex(s, n, from)] + most);
	}
	return changed;
}

static void begin(struct solver *s)
{
	for (size_t i = 0; i < (size_t)s->nclocks * s->buckets; i++) {
		s->low[i] = -INFINITY;
		s->high[i] = INFINITY;
	}
	for (uint32_t k = 0; k < s->buckets; k++)
		s->low[vertex(s, s->reference, k)] = s->high[vertex(s, s->reference, k)] = 0;
}

/* Is there a solution? */
static bool spread(struct solver *s)
{
	bool changed = true;

	begin(s);
	for (uint32_t sweep = 0; changed; sweep++) {
		if (sweep > 2 * s->nclocks + 16)
			return false;
		changed = false;
		for (uint32_t k = 0; k < s->buckets; k++) {
			changed |= k && pass_on(s, k - 1, k);
			if (!relax_bucket(s, k, &changed))
				return false;
		}
		for (uint32_t k = s->buckets; k-- > 0;) {
			changed |= k + 1 < s->buckets && pass_on(s, k + 1, k);
			if (!relax_bucket(s, k, &changed))
				return false;
		}
	}
	for (size_t i = 0; i < (size_t)s->nclocks * s->buckets; i++)
		if (s->low[i] > s->high[i] + NEAR)
			return false;
	return true;
}

/* --- the smallest slope ------------------------------------------------------------------ */

static bool works(struct solver *s, int slope)
{
	s->slope = slopes[slope];
	return spread(s);
}

/* False: there is none. Else low and high are those of the smallest. */
static bool find_slope(struct solver *s)
{
	int low = 0, high = SLOPES - 1;

	if (!works(s, high))
		return false;
	while (low < high) {
		int middle = (low + high) / 2;

		if (works(s, middle))
			high = middle;
		else
			low = middle + 1;
	}
	return works(s, high);
}

static void find_solution(struct solver *s)
{
	s->slack = 0;
	for (int doubtful = 1; doubtful >= 0; doubtful--) {
		s->doubtful = doubtful;
		if (find_slope(s))
			return;
	}
	s->doubtful = true;
	for (s->slack = SLACK_FIRST; s->slack < SLACK_MOST; s->slack *= 2)
		if (find_slope(s))
			return;
	begin(s); /* nothing is known */
}

/* --- curves --------------------------------------------------------------------------------- */

static bool is_known(const struct solver *s, uint32_t clock, uint32_t bucket)
{
	return isfinite(s->low[vertex(s, clock, bucket)]) && isfinite(s->high[vertex(s, clock, bucket)]);
}

static double middle(const struct solver *s, size_t at)
{
	if (isfinite(s->low[at]) && isfinite(s->high[at]))
		return (s->low[at] + s->high[at]) / 2;
	return s->low[at] > 0 ? s->low[at] : s->high[at] < 0 ? s->high[at] : 0;
}

/*
 * The curve of `pieces` straight lines that is nearest to the middles; those count most where least is left open. It is
 * a sum of hats, one for each knot, of which only neighbours overlap.
 */
struct fit {
	double *diagonal, *beside, *right; /* by knot */
	size_t pieces;
};

static void add_middles(const struct solver *s, uint32_t clock, struct fit *f)
{
	for (size_t i = 0; i <= f->pieces; i++)
		f->diagonal[i] = f->beside[i] = f->right[i] = 0;
	for (uint32_t k = 0; k < s->buckets; k++) {
		size_t at = vertex(s, clock, k), left;
		double half = (s->high[at] - s->low[at]) / 2 + 1, weight = 1 / (half * half), x = middle(s, at);
		double t = (k + 0.5) * (double)f->pieces / s->buckets, hat;

		left = (size_t)t;
		hat = t - (double)left;
		f->diagonal[left] += weight * (1 - hat) * (1 - hat);
		f->diagonal[left + 1] += weight * hat * hat;
		f->beside[left] += weight * hat * (1 - hat);
		f->right[left] += weight * (1 - hat) * x;
		f->right[left + 1] += weight * hat * x;
	}
}

/* The values at the knots are in `right` then. False: they are not determined. */
static bool solve_fit(struct fit *f)
{
	for (size_t i = 1; i <= f->pieces; i++) {
		double factor;

		if (!(f->diagonal[i - 1] > 0))
			return false;
		factor = f->beside[i - 1] / f->diagonal[i - 1];
		f->diagonal[i] -= factor * f->beside[i - 1];
		f->right[i] -= factor * f->right[i - 1];
	}
	for (size_t i = f->pieces + 1; i-- > 0;) {
		if (!(f->diagonal[i] > 0))
			return false;
		if (i < f->pieces)
			f->right[i] -= f->beside[i] * f->right[i + 1];
		f->right[i] /= f->diagonal[i];
		if (!isfinite(f->right[i]))
			return false;
	}
	return true;
}

/* A curve at so many buckets from the start; it has a value at each end of a bucket. */
static double curve_at(const struct solver *s, const double *curve, double time)
{
	size_t left = time < s->buckets - 1 ? (size_t)time : s->buckets - 1u;

	return curve[left] + (curve[left + 1] - curve[left]) * (time - (double)left);
}

static double *curve_of(const struct solver *s, double *curves, uint32_t clock)
{
	return &curves[(size_t)clock * (s->buckets + 1)];
}

static bool fit_curve(const struct solver *s, uint32_t clock, struct fit *f, double *curve)
{
	for (uint32_t k = 0; k < s->buckets; k++)
		if (!is_known(s, clock, k))
			return false;
	add_middles(s, clock, f);
	if (!solve_fit(f))
		return false;
	for (uint32_t k = 0; k <= s->buckets; k++) {
		double t = k * (double)f->pieces / s->buckets;
		size_t left = t < (double)(f->pieces - 1) ? (size_t)t : f->pieces - 1;

		curve[k] = f->right[left] + (f->right[left + 1] - f->right[left]) * (t - (double)left);
	}
	return true;
}

/* Takes curves out of what is still to be added. */
static void take_curves(struct solver *s)
{
	for (size_t i = 0; i < s->nedges; i++) {
		struct edge *edge = &s->edges[i];

		edge->least -= curve_at(s, curve_of(s, s->fitted, edge->late), edge->time) -
			       curve_at(s, curve_of(s, s->fitted, edge->early), edge->time);
	}
	for (size_t i = 0; i < (size_t)s->nclocks * (s->buckets + 1); i++)
		s->curves[i] += s->fitted[i];
}

static int straighten(struct solver *s, size_t pieces)
{
	struct fit f = { .pieces = pieces,
			 .diagonal = calloc(pieces + 2, sizeof(double)),
			 .beside = calloc(pieces + 2, sizeof(double)),
			 .right = calloc(pieces + 2, sizeof(double)) };
	int error = f.diagonal && f.beside && f.right ? 0 : -ENOMEM;

	memset(s->fitted, 0, (size_t)s->nclocks * (s->buckets + 1) * sizeof(*s->fitted));
	for (uint32_t n = 0; n < s->nclocks && !error; n++)
		if (n != s->reference && !fit_curve(s, n, &f, curve_of(s, s->fitted, n)))
			memset(curve_of(s, s->fitted, n), 0, (s->buckets + 1) * sizeof(*s->fitted));
	if (!error)
		take_curves(s);
	free(f.diagonal);
	free(f.beside);
	free(f.right);
	return error;
}

static int find_without_outliers(struct solver *s)
{
	bool any = true;
	int error = 0;

	for (int pass = 0; pass < PASSES && !error && s->slack && any; pass++) {
		error = outliers_drop(s->edges, s->nedges, s->width, &any);
		if (!error && any)
			find_solution(s);
	}
	return error;
}

/* --- the whole ----------------------------------------------------------------------------- */

static int by_bucket(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static void add_edges(struct solver *s, const struct bounds *b)
{
	for (size_t i = 0; i < b->room; i++) {
		const struct bound *bound = &b->slots[i];

		if (!bound->used || (bound->probe != NO_INDEX && b->loose[bound->probe]))
			continue;
		s->edges[s->nedges++] = (struct edge){ .late = bound->late,
						       .early = bound->early,
						       .doubtful = bound->probe != NO_INDEX,
						       .least = (double)bound->least,
						       .time = (double)(bound->time - b->start) / s->width };
	}
	if (s->nedges)
		qsort(s->edges, s->nedges, sizeof(*s->edges), by_bucket);
	for (size_t i = 0, k = 0; k <= s->buckets; k++) {
		while (i < s->nedges && s->edges[i].time < (double)k)
			i++;
		s->first[k] = i;
	}
	s->first[s->buckets] = s->nedges;
}

static void take_solution(const struct solver *s, struct solution *to)
{
	for (uint32_t n = 0; n < s->nclocks; n++) {
		double before = 0;

		to->known[n] = is_known(s, n, 0);
		for (uint32_t k = 0; k < s->buckets; k++) {
			size_t from = vertex(s, n, k), at = (size_t)n * s->buckets + k;
			double add = curve_at(s, curve_of(s, s->curves, n), k + 0.5) + middle(s, from);

			to->add[at] = add;
			to->unsure[at] = (s->high[from] - s->low[from]) / 2 + s->slack;
			to->known[n] &= is_known(s, n, k);
			if (k && fabs(add - before) / s->width > to->slope)
				to->slope = fabs(add - before) / s->width;
			before = add;
		}
	}
}

static int open_solver(struct solver *s, const struct merge *m, const struct bounds *b)
{
	size_t vertices = m->nclocks * (size_t)b->buckets;

	*s = (struct solver){ .nclocks = m->nclocks,
			      .buckets = b->buckets,
			      .width = (double)b->width,
			      .edges = calloc(b->count + 1, sizeof(*s->edges)),
			      .first = calloc(b->buckets + 1, sizeof(*s->first)),
			      .low = calloc(vertices, sizeof(*s->low)),
			      .high = calloc(vertices, sizeof(*s->high)),
			      .curves = calloc(vertices + m->nclocks, sizeof(*s->curves)),
			      .fitted = calloc(vertices + m->nclocks, sizeof(*s->fitted)) };
	if (!s->edges || !s->first || !s->low || !s->high || !s->curves || !s->fitted)
		return -ENOMEM;
	add_edges(s, b);
	return 0;
}

int bounds_solve(const struct merge *m, const struct bounds *b, struct solution *solution)
{
	size_t vertices = m->nclocks * (size_t)b->buckets;
	struct solver s;
	int error = open_solver(&s, m, b);

	*solution = (struct solution){ .add = calloc(vertices, sizeof(*solution->add)),
				       .unsure = calloc(vertices, sizeof(*solution->unsure)),
				       .known = calloc(m->nclocks, sizeof(*solution->known)) };
	if (!error && (!solution->add || !solution->unsure || !solution->known))
		error = -ENOMEM;
	for (size_t round = 0; round <= LEVELS && !error; round++) {
		if (merge_is_stopped(m))
			error = -EINTR;
		find_solution(&s);
		if (s.slack && round && !error)
			error = find_without_outliers(&s);
		if (round == LEVELS || (!s.slack && s.slope == 0) || pieces[round] * PIECE_LEAST > s.buckets)
			break;
		if (!error)
			error = straighten(&s, pieces[round]);
	}
	if (!error)
		take_solution(&s, solution);
	free(s.edges);
	free(s.first);
	free(s.low);
	free(s.high);
	free(s.curves);
	free(s.fitted);
	return error;
}

void solution_free(struct solution *solution)
{
	free(solution->add);
	free(solution->known);
	free(solution->unsure);
	*solution = (struct solution){ 0 };
}
