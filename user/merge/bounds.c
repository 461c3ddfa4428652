/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bounds.c - what the recordings say of each other's clocks: what cannot lie.
 *
 * A receive does not end before its send has begun. Nobody leaves a barrier before the last has come, or an operation
 * in which all get something from all; nobody has what the root gives before that has come, and the root does not have
 * what others give before they have. Of a meeting it is enough to compare each clock with that of who came last, in
 * both directions: all others are further away.
 *
 * Some operations of all are not what they seem: in a scan the first waits for nobody. Where members on one clock have
 * left before others came, what such an operation says is not used.
 *
 * The time is cut into buckets, and of each bucket, two clocks and direction the tightest bound is kept. So memory
 * grows with the pairs of clocks that have to do with each other. Where there are too many, buckets become longer.
 */
#include "merge/bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/relations.h"

#define BUCKETS_MOST 2048
#define BUCKETS_LEAST 16
#define VERTICES (1u << 19)             /* clocks x buckets, about */
#define BOUNDS_MOST (1u << 20)          /* kept */
#define LEAST_MOST (1000000000000000ll) /* ns: whatever is further off is none */
#define LOOKS 4096

struct clock_side {
	uint64_t first_end, last_start;
	bool there;
};

struct reading {
	const struct merge *merge;
	struct bounds *bounds;
	uint32_t *clocks;         /* by thread of the whole */
	struct clock_side *sides; /* by clock: of one meeting */
	uint32_t *present;
	uint64_t looks;
};

/* --- keeping --------------------------------------------------------------------- */

static struct bound *slot_of(const struct bounds *b, const struct bound *wanted)
{
	uint64_t hash = (uint64_t)wanted->late << 32 | wanted->early;
	size_t at;

	hash = (hash ^ ((uint64_t)wanted->bucket << 40) ^ wanted->bucket ^ (uint64_t)wanted->probe << 17) *
	       0x9e3779b97f4a7c15ull;
	for (at = (hash ^ hash >> 31) & (b->room - 1); b->slots[at].used; at = (at + 1) & (b->room - 1)) {
		const struct bound *bound = &b->slots[at];

		if (bound->late == wanted->late && bound->early == wanted->early && bound->bucket == wanted->bucket &&
		    bound->probe == wanted->probe)
			break;
	}
	return &b->slots[at];
}

static void put(struct bounds *b, const struct bound *bound)
{
	struct bound *slot = slot_of(b, bound);

	if (slot->used && slot->least >= bound->least)
		return;
	b->count += !slot->used;
	*slot = *bound;
	slot->used = true;
}

static int rebuild(struct bounds *b, size_t room)
{
	struct bounds larger = *b;

	larger.room = room;
	larger.count = 0;
	larger.slots = calloc(room, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < b->room; i++) {
		if (!b->slots[i].used)
			continue;
		b->slots[i].bucket = (b->slots[i].time - b->start) / b->width;
		put(&larger, &b->slots[i]);
	}
	free(b->slots);
	*b = larger;
	return 0;
}

static int make_room(struct bounds *b)
{
	if (2 * (b->count + 1) <= b->room)
		return 0;
	if (b->count < BOUNDS_MOST || b->buckets <= 1)
		return rebuild(b, b->room ? 2 * b->room : 1024);
	b->width *= 2;
	b->buckets = (b->buckets + 1) / 2;
	return rebuild(b, b->room);
}

/* early began then, and late was not over before. */
static int note(struct reading *r, uint32_t late, uint64_t end, uint32_t early, uint64_t start, uint32_t probe)
{
	struct bounds *b = r->bounds;
	struct bound bound = { .late = late, .early = early, .probe = probe, .least = (int64_t)(start - end) };
	uint64_t time = end / 2 + start / 2;
	int error = make_room(b);

	if (bound.least > LEAST_MOST || bound.least < -LEAST_MOST)
		return error;
	bound.time = time < b->start ? b->start : time;
	if (bound.time >= b->start + b->width * b->buckets)
		bound.time = b->start + b->width * b->buckets - 1;
	bound.bucket = (bound.time - b->start) / b->width;
	if (!error)
		put(b, &bound);
	return error;
}

/* --- reading ------------------------------------------------------------------------ */

static int look(struct reading *r)
{
	return ++r->looks % LOOKS == 0 && merge_is_stopped(r->merge) ? -EINTR : 0;
}

static void count(struct reading *r, uint32_t clock, bool violated)
{
	r->bounds->of[clock]++;
	r->bounds->violated[clock] += violated;
}

static int note_message(void *context, const struct related_call *sends, const struct related_call *receives,
			uint64_t bytes)
{
	struct reading *r = context;
	uint32_t late = r->clocks[receives->thread], early = r->clocks[sends->thread];
	bool violated = receives->end < sends->start;

	if (late == early)
		return look(r);
	r->bounds->messages++;
	count(r, late, violated);
	count(r, early, violated);
	return note(r, late, receives->end, early, sends->start, NO_INDEX) ?: look(r);
}

/* What each clock says of a meeting. How many there are. */
static size_t find_sides(struct reading *r, const struct meeting *meeting)
{
	size_t npresent = 0;

	for (unsigned i = 0; i < meeting->ncalls; i++) {
		const struct related_call *call = &meeting->calls[i];
		struct clock_side *side = &r->sides[r->clocks[call->thread]];

		if (!side->there) {
			*side = (struct clock_side){ call->end, call->start, true };
			r->present[npresent++] = r->clocks[call->thread];
			continue;
		}
		if (call->end < side->first_end)
			side->first_end = call->end;
		if (call->start > side->last_start)
			side->last_start = call->start;
	}
	return npresent;
}

/* All wait for all. */
static int note_common(struct reading *r, size_t npresent, uint32_t probe)
{
	uint32_t last = r->present[0];
	bool any = false;
	int error = 0;

	for (size_t i = 1; i < npresent; i++)
		if (r->sides[r->present[i]].last_start > r->sides[last].last_start)
			last = r->present[i];
	for (size_t i = 0; i < npresent && !error; i++) {
		uint32_t clock = r->present[i];
		const struct clock_side *side = &r->sides[clock];

		if (clock == last)
			continue;
		any |= side->first_end < r->sides[last].last_start;
		count(r, clock, side->first_end < r->sides[last].last_start);
		error = note(r, clock, side->first_end, last, r->sides[last].last_start, probe)
				?: note(r, last, r->sides[last].first_end, clock, side->last_start, probe);
	}
	count(r, last, any);
	return error;
}

/* All wait for the root, or the root for all. */
static int note_rooted(struct reading *r, const struct meeting *meeting, size_t npresent)
{
	const struct related_call *root = &meeting->calls[meeting->root];
	uint32_t at = r->clocks[root->thread];
	bool gives = meeting->state == WAIT_LATE_BROADCAST, any = false;
	int error = 0;

	for (size_t i = 0; i < npresent && !error; i++) {
		uint32_t clock = r->present[i];
		const struct clock_side *side = &r->sides[clock];
		bool violated = gives ? side->first_end < root->start : root->end < side->last_start;

		if (clock == at)
			continue;
		any |= violated;
		count(r, clock, violated);
		error = gives ? note(r, clock, side->first_end, at, root->start, meeting->probe)
			      : note(r, at, root->end, clock, side->last_start, meeting->probe);
	}
	count(r, at, any);
	return error;
}

static int note_meeting(void *context, const struct meeting *meeting)
{
	struct reading *r = context;
	bool common = meeting->state == WAIT_AT_BARRIER || meeting->state == WAIT_AT_NXN;
	bool rooted = meeting->root >= 0 &&
		      (meeting->state == WAIT_LATE_BROADCAST || meeting->state == WAIT_EARLY_REDUCE);
	size_t npresent;
	int error = 0;

	if (meeting->in_halves || !meeting->ncalls || (!common && !rooted))
		return look(r);
	npresent = find_sides(r, meeting);
	for (size_t i = 0; common && i < npresent; i++)
		if (r->sides[r->present[i]].first_end < r->sides[r->present[i]].last_start)
			r->bounds->loose[meeting->probe] = true;
	if (npresent > 1 && !r->bounds->loose[meeting->probe]) {
		r->bounds->meetings++;
		error = rooted ? note_rooted(r, meeting, npresent)
			       : note_common(r, npresent,
					     meeting->state == WAIT_AT_BARRIER ? NO_INDEX : meeting->probe);
	}
	for (size_t i = 0; i < npresent; i++)
		r->sides[r->present[i]].there = false;
	return error ?: look(r);
}

/* --- the whole -------------------------------------------------------------------------- */

static void find_clocks(struct reading *r)
{
	const struct merge *m = r->merge;

	for (size_t i = 0; i < m->ninputs; i++)
		for (size_t t = 0; t < m->inputs[i].d->nthreads; t++)
			r->clocks[m->inputs[i].part.first_thread + t] = m->inputs[i].clock;
}

static void cut_time(struct bounds *b, const struct merge *m)
{
	uint64_t length = m->d.run.end > m->d.run.start ? m->d.run.end - m->d.run.start : 1;

	b->buckets = VERTICES / m->nclocks;
	if (b->buckets > BUCKETS_MOST)
		b->buckets = BUCKETS_MOST;
	if (b->buckets < BUCKETS_LEAST)
		b->buckets = BUCKETS_LEAST;
	b->start = m->d.run.start;
	b->width = length / b->buckets + 1;
}

static int read_relations(struct reading *r, struct recording *whole, uint64_t doubt)
{
	const struct relations_ops ops = { .message = note_message, .meeting = note_meeting, .context = r };
	struct relations *relations = relations_new(whole);
	struct relations_counts counts = { 0 };
	int error;

	if (!relations)
		return -ENOMEM;
	relations_doubt_clocks(relations, doubt);
	error = relations_read(relations, &ops, &counts, NULL);
	r->bounds->unmatched = counts.alone || counts.incomplete;
	relations_free(relations);
	return error;
}

int bounds_read(struct merge *m, struct recording *whole, uint64_t doubt, struct bounds *b)
{
	struct reading r = { .merge = m, .bounds = b };
	int error = -ENOMEM;

	*b = (struct bounds){ .of = calloc(m->nclocks, sizeof(*b->of)),
			      .violated = calloc(m->nclocks, sizeof(*b->violated)),
			      .loose = calloc(m->d.nprobes + 1, sizeof(*b->loose)) };
	r.clocks = calloc(m->d.nthreads + 1, sizeof(*r.clocks));
	r.sides = calloc(m->nclocks, sizeof(*r.sides));
	r.present = calloc(m->nclocks, sizeof(*r.present));
	if (b->of && b->violated && b->loose && r.clocks && r.sides && r.present) {
		find_clocks(&r);
		cut_time(b, m);
		error = read_relations(&r, whole, doubt);
	}
	free(r.clocks);
	free(r.sides);
	free(r.present);
	return error;
}

void bounds_free(struct bounds *b)
{
	free(b->slots);
	free(b->of);
	free(b->violated);
	free(b->loose);
	*b = (struct bounds){ 0 };
}
