/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * set.c - sets the clocks by each other.
 *
 * First by CLOCK_REALTIME, which the recordings have at their starts and ends. Then the spans are put together for a
 * while, to see what that leaves open (bounds.c), and what is still to be added is worked out (solve.c) and added. That
 * is done again until no bound is violated, for where clocks were far off, receives may have been taken for those of
 * other sends. The last time it is only counted what is violated.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "merge/bounds.h"
#include "simulate/relations.h"
#include "util/files.h"
#include "util/log.h"

#define ROUNDS 4
#define REALTIME_DOUBT 20000000 /* ns: by so much CLOCK_REALTIME of two machines may differ */
#define STEEPEST 0.4            /* what is added never grows or falls faster: times keep their order */
#define REAL_DRIFT 0.0005       /* no clock drifts more: it was set */
#define EVEN 0.5                /* ns: a knot that is nearer to the line of its neighbours is none */
#define SETTLED 100             /* ns: by so much the clocks drift in a bucket, at most */

/* --- by CLOCK_REALTIME -------------------------------------------------------------- */

/* What CLOCK_REALTIME is ahead of a recording's clock, at its start or its end. */
static int64_t ahead(const struct def_run *run, bool at_end)
{
	return (int64_t)(at_end && run->end_realtime ? run->end_realtime - run->end : run->start_realtime - run->start);
}

/* Is it a time of the reference's clock, which began with its boot? */
static bool fits(uint64_t time, int64_t add)
{
	int64_t sum;

	return time < RECORDING_TIME_MOST && !__builtin_add_overflow((int64_t)time, add, &sum) && sum > 0 &&
	       (uint64_t)sum < RECORDING_TIME_MOST;
}

static int set_by_realtime(struct merge *m, struct node_clock *clock)
{
	const struct def_run *run = &m->inputs[clock->first].d->run, *reference = &m->inputs[m->clocks[0].first].d->run;
	int64_t first = (int64_t)((uint64_t)ahead(run, false) - (uint64_t)ahead(reference, false));
	int64_t last = (int64_t)((uint64_t)ahead(run, true) - (uint64_t)ahead(reference, true));
	double grown = (double)last - (double)first, length = run->end > run->start ? run->end - run->start : 0;
	struct correction *c = &clock->correction;

	clock->known_by = CLOCK_ANCHORS;
	if (!run->start_realtime || !reference->start_realtime)
		return 0;
	if (!fits(run->start, first) || !fits(run->end, first)) {
		log_error(
			"%s: was recorded before the machine of %s was started, or its CLOCK_REALTIME is wrong by far: "
			"name the earliest first, or say --keep-clocks",
			log_safe(m->inputs[clock->first].path), log_safe(m->inputs[m->clocks[0].first].path));
		return -EINVAL;
	}
	c->whole = first;
	if (!(fabs(grown) >= 1) || !(fabs(grown) < REAL_DRIFT * length))
		return 0;
	c->knots = calloc(2, sizeof(*c->knots));
	if (!c->knots)
		return -ENOMEM;
	c->knots[0] = (struct knot){ run->start, 0 };
	c->knots[1] = (struct knot){ run->end, grown };
	c->nknots = 2;
	return 0;
}

/* --- adding to what is added ------------------------------------------------------------ */

/* Knots of what is still to be added, in corrected times. */
static double value_at(const struct knot *knots, size_t count, uint64_t time)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (knots[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || low == count)
		return knots[low ? low - 1 : 0].add;
	return knots[low - 1].add +
	       (knots[low].add - knots[low - 1].add) *
		       ((double)(time - knots[low - 1].time) / (double)(knots[low].time - knots[low - 1].time));
}

static double added(const struct correction *c, uint64_t time)
{
	return c->nknots ? value_at(c->knots, c->nknots, time) : 0;
}

/* The time that is corrected to this one. */
static uint64_t uncorrected(const struct correction *c, uint64_t time)
{
	uint64_t raw = time - (uint64_t)c->whole;

	/* What is added changes slowly. */
	for (int i = 0; i < 8; i++)
		raw = time - (uint64_t)c->whole - (uint64_t)llround(added(c, raw));
	return raw;
}

static int by_time(const void *a, const void *b)
{
	const struct knot *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Leaves out knots that are on the way from one to another anyway, and whatever would turn times around. */
static size_t thin_out(struct knot *knots, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		double most;

		if (kept && knots[i].time <= knots[kept - 1].time)
			continue;
		if (kept) {
			most = STEEPEST * (double)(knots[i].time - knots[kept - 1].time);
			knots[i].add = fmin(fmax(knots[i].add, knots[kept - 1].add - most), knots[kept - 1].add + most);
		}
		knots[kept++] = knots[i];
	}
	return kept;
}

/* Douglas and Peucker, with a stack of its own: the lines may be as many as the knots. */
static int find_needed(const struct knot *knots, size_t count, bool *needed)
{
	size_t *stack = calloc(2 * count + 2, sizeof(*stack)), n = 0;

	if (!stack)
		return -ENOMEM;
	needed[0] = needed[count - 1] = true;
	stack[n++] = 0;
	stack[n++] = count - 1;
	while (n) {
		size_t right = stack[--n], left = stack[--n], worst = left;
		double most = EVEN;

		for (size_t i = left + 1; i < right; i++) {
			const struct knot ends[] = { knots[left], knots[right] };
			double off = fabs(value_at(ends, 2, knots[i].time) - knots[i].add);

			if (off > most) {
				most = off;
				worst = i;
			}
		}
		if (worst == left)
			continue;
		needed[worst] = true;
		stack[n++] = left;
		stack[n++] = worst;
		stack[n++] = worst;
		stack[n++] = right;
	}
	free(stack);
	return 0;
}

static int straighten(struct knot *knots, size_t *count)
{
	bool *needed = calloc(*count + 1, sizeof(*needed));
	size_t kept = 0;
	int error = needed ? find_needed(knots, *count, needed) : -ENOMEM;

	for (size_t i = 0; i < *count && !error; i++)
		if (needed[i])
			knots[kept++] = knots[i];
	free(needed);
	if (!error)
		*count = kept;
	return error;
}

/* more: in corrected times, at least one. */
static int add_knots(struct correction *c, const struct knot *more, size_t nmore)
{
	struct knot *knots = calloc(c->nknots + nmore + 1, sizeof(*knots));
	size_t count = 0;
	int error;

	if (!knots)
		return -ENOMEM;
	for (size_t i = 0; i < c->nknots; i++)
		knots[count++] = (struct knot){
			c->knots[i].time, c->knots[i].add + value_at(more, nmore, correction_apply(c, c->knots[i].time))
		};
	for (size_t i = 0; i < nmore; i++) {
		uint64_t raw = uncorrected(c, more[i].time);

		knots[count++] = (struct knot){ raw, added(c, raw) + more[i].add };
	}
	qsort(knots, count, sizeof(*knots), by_time);
	count = thin_out(knots, count);
	error = straighten(knots, &count);
	if (error) {
		free(knots);
		return error;
	}
	free(c->knots);
	c->knots = knots;
	c->nknots = count;
	return 0;
}

/* --- by bounds ----------------------------------------------------------------------------- */

/* The middle of each bucket, and the two ends, where the slope of the last two goes on. */
static size_t make_knots(struct knot *knots, const struct bounds *b, const double *add)
{
	uint32_t last = b->buckets - 1;
	double first = b->buckets > 1 ? add[0] - (add[1] - add[0]) / 2 : add[0];
	double end = b->buckets > 1 ? add[last] + (add[last] - add[last - 1]) / 2 : add[last];
	size_t count = 0;

	knots[count++] = (struct knot){ b->start, first };
	for (uint32_t k = 0; k <= last; k++)
		knots[count++] = (struct knot){ b->start + k * b->width + b->width / 2, add[k] };
	knots[count++] = (struct knot){ b->start + b->buckets * b->width, end };
	return count;
}

static double largest(const struct bounds *b, const double *unsure)
{
	double most = 0;

	for (uint32_t k = 0; k < b->buckets; k++)
		most = fmax(most, unsure[k]);
	return most;
}

static int add_solution(struct merge *m, const struct bounds *b, const struct solution *solution)
{
	struct knot *knots = calloc(b->buckets + 2, sizeof(*knots));
	int error = knots ? 0 : -ENOMEM;

	for (size_t n = 1; n < m->nclocks && !error; n++) {
		const double *unsure = &solution->unsure[n * b->buckets];

		m->clocks[n].known_by = solution->known[n] ? CLOCK_BOUNDS : CLOCK_ANCHORS;
		m->clocks[n].unsure = solution->known[n] ? (uint64_t)ceil(largest(b, unsure)) : 0;
		error = add_knots(&m->clocks[n].correction, knots,
				  make_knots(knots, b, &solution->add[n * b->buckets]));
	}
	free(knots);
	return error;
}

/* All of them, as the clocks are now, in a file that nobody sees. */
static int write_whole(struct merge *m, int fd)
{
	struct recording_writer *writer;
	int own = dup(fd), error = own < 0 ? -errno : merge_join(m), result;

	if (error) {
		if (own >= 0)
			close(own);
		return error;
	}
	error = recording_create(&writer, own, RECORDING_UNNAMED, &m->d);
	if (error)
		return error;
	error = merge_spans(m, writer);
	result = recording_finish(writer);
	return error ?: result;
}

static int read_bounds(struct merge *m, uint64_t doubt, struct bounds *b)
{
	struct recording *whole;
	int fd = file_temporary(), error;

	if (fd < 0)
		return fd;
	error = write_whole(m, fd);
	if (!error)
		error = recording_open_fd(&whole, fd, RECORDING_UNNAMED);
	if (!error) {
		error = bounds_read(m, whole, doubt, b);
		recording_close(whole);
	}
	close(fd);
	return error;
}

static bool is_violated(const struct merge *m, const struct bounds *b)
{
	uint64_t violated = 0;

	for (size_t n = 0; n < m->nclocks; n++) {
		m->clocks[n].bounds = b->of[n];
		m->clocks[n].violated = b->violated[n];
		violated += b->violated[n];
	}
	return violated;
}

/* *settled: another round would find nothing new. */
static int solve(struct merge *m, const struct bounds *b, bool *settled)
{
	struct solution solution;
	int error = bounds_solve(m, b, &solution);

	if (!error)
		error = add_solution(m, b, &solution);
	*settled = !b->unmatched && solution.slope * (double)b->width < SETTLED;
	solution_free(&solution);
	return error;
}

static int set_by_bounds(struct merge *m)
{
	bool settled = false;
	int error = 0;

	for (int round = 0; round < ROUNDS && !error; round++) {
		struct bounds bounds = { 0 };

		log_status("setting the clocks");
		error = read_bounds(m, round ? 0 : REALTIME_DOUBT, &bounds);
		if (!error && (!bounds.count || (!is_violated(m, &bounds) && settled) || round + 1 == ROUNDS))
			round = ROUNDS;
		else if (!error)
			error = solve(m, &bounds, &settled);
		bounds_free(&bounds);
	}
	log_status("%s", "");
	return error;
}

/* A recording without processes or threads of several machines has none that could say anything. */
int clocks_set(struct merge *m)
{
	int error = 0;

	for (size_t n = 1; n < m->nclocks && !error; n++)
		error = set_by_realtime(m, &m->clocks[n]);
	if (error || m->nclocks < 2 || !m->ninputs || m->inputs[0].d->run.only_sums)
		return error;
	return set_by_bounds(m);
}
