/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * payload.c - what a call moved.
 *
 * A model says what a call moves in several ways (docs/models.md, Payload): bytes, or a count of elements whose size is
 * another value, a datatype's, or fixed; each for what is sent, what is received, or with no side named. Several values
 * may mean the same, and the first that is known counts. Which values those are, and in which order they are asked,
 * follows from the probe alone. So that is worked out once, as a plan; a call is then a handful of reads from one small
 * piece of memory. A report makes millions of them, of thousands of probes.
 */
#include <stdlib.h>

#include "meaning/value.h"

#define SIDES 3 /* enum side */

/* What is asked for one side: ranges of plan->values. */
struct payload_side {
	bool spoken;   /* some value speaks of this side */
	bool has_size; /* the size of an element is a value, known or not */
	uint32_t bytes, counts, sizes, end;
};

struct payload_plan {
	struct payload_side sides[SIDES];
	struct prepared_value values[];
};

/* The side of a value that names none. */
static enum side side_of(enum role role, enum side side)
{
	if (side != SIDE_NONE)
		return side;
	if (role == ROLE_PUT || role == ROLE_SET || role == ROLE_SEND)
		return SIDE_SEND;
	if (role == ROLE_GET || role == ROLE_RECV)
		return SIDE_RECV;
	return SIDE_NONE;
}

struct probed_values {
	enum role role;
	const struct value *values;
	size_t count;
};

/* Adds all values of this meaning and side at `at`; where they end. */
static uint32_t add(struct payload_plan *plan, uint32_t at, const struct probed_values *from, enum meaning meaning,
		    enum side side)
{
	for (size_t i = 0; i < from->count; i++) {
		if (from->values[i].meaning == meaning && side_of(from->role, from->values[i].side) == side)
			value_prepare(&plan->values[at++], &from->values[i]);
	}
	return at;
}

/* The values that tell an element's bytes: @size or @type of the side, else of none. */
static uint32_t add_sizes(struct payload_plan *plan, uint32_t at, const struct probed_values *from, enum side side)
{
	const enum meaning meanings[] = { MEANING_SIZE, MEANING_TYPE };
	const enum side sides[] = { side, SIDE_NONE };

	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < 2; j++) {
			uint32_t end = add(plan, at, from, meanings[i], sides[j]);

			if (end > at)
				return end;
		}
	return at;
}

struct payload_plan *payload_plan_new(enum role role, const struct value *values, size_t nvalues)
{
	const struct probed_values from = { role, values, nvalues };
	struct payload_plan *plan;
	uint32_t at = 0;

	if (nvalues > UINT32_MAX / 8)
		return NULL;
	/* A value has one meaning, so it is asked at most once for each side. */
	plan = calloc(1, sizeof(*plan) + SIDES * nvalues * sizeof(*plan->values));
	if (!plan)
		return NULL;
	for (enum side side = 0; side < SIDES; side++) {
		struct payload_side *s = &plan->sides[side];

		s->bytes = at;
		s->counts = at = add(plan, at, &from, MEANING_BYTES, side);
		s->sizes = at = add(plan, at, &from, MEANING_COUNT, side);
		s->spoken = at > s->bytes;
		if (s->sizes > s->counts)
			at = add_sizes(plan, at, &from, side);
		s->end = at;
		s->has_size = s->end > s->sizes;
	}
	return plan;
}

void payload_plan_free(struct payload_plan *plan)
{
	free(plan);
}

enum side payload_side(const struct payload_plan *plan)
{
	bool sends = plan->sides[SIDE_SEND].spoken, receives = plan->sides[SIDE_RECV].spoken;

	if (plan->sides[SIDE_NONE].spoken || sends == receives)
		return SIDE_NONE;
	return sends ? SIDE_SEND : SIDE_RECV;
}

/* The first known number of a range; NULL: none is known. */
static const struct prepared_value *first_known(const struct payload_plan *plan, uint32_t at, uint32_t end,
						const struct sent_words *sent, int64_t *number)
{
	for (; at < end; at++) {
		const struct prepared_value *v = &plan->values[at];

		if (v->plain ? prepared_read(v, sent, number) : prepared_number(v, sent, number))
			return v;
	}
	return NULL;
}

/* What went one way; -1: unknown. */
static int64_t amount(const struct payload_plan *plan, const struct payload_side *s, const struct sent_words *sent)
{
	const struct prepared_value *counted;
	int64_t bytes, count, size, product;

	if (first_known(plan, s->bytes, s->counts, sent, &bytes) && bytes >= 0)
		return bytes;
	counted = first_known(plan, s->counts, s->sizes, sent, &count);
	if (!counted || count < 0)
		return -1;
	if (!s->has_size)
		size = counted->element ? (int64_t)counted->element : -1;
	else if (!first_known(plan, s->sizes, s->end, sent, &size))
		return -1;
	if (size < 0 || __builtin_mul_overflow(count, size, &product))
		return -1;
	return product;
}

struct payload payload_read(const struct payload_plan *plan, const struct sent_words *sent)
{
	const struct payload_side *sends = &plan->sides[SIDE_SEND], *receives = &plan->sides[SIDE_RECV];
	struct payload p = { -1, -1, -1 };

	if (sends->spoken)
		p.sent = amount(plan, sends, sent);
	if (receives->spoken)
		p.received = amount(plan, receives, sent);
	if (plan->sides[SIDE_NONE].spoken)
		p.bytes = amount(plan, &plan->sides[SIDE_NONE], sent);
	else if (!sends->spoken || !receives->spoken)
		p.bytes = sends->spoken ? p.sent : p.received;
	else if (p.sent < 0 || p.received < 0 || __builtin_add_overflow(p.sent, p.received, &p.bytes))
		p.bytes = -1;
	return p;
}

struct payload value_payload(enum role role, const struct value *values, size_t nvalues, const uint64_t *words,
			     unsigned nwords, uint32_t unread, bool returned)
{
	struct payload_plan *plan = payload_plan_new(role, values, nvalues);
	const struct sent_words sent = { words, nwords < GB_SLOTS ? nwords : GB_SLOTS, unread, returned };
	struct payload p = { -1, -1, -1 };

	if (plan)
		p = payload_read(plan, &sent);
	payload_plan_free(plan);
	return p;
}

/* --- for the kernel ---------------------------------------------------- */

/* One side's numbers, behind those that are there. False: there is no room for them. */
static bool add_side(struct gb_amounts *a, const struct payload_plan *plan, enum side side, unsigned *used)
{
	const struct payload_side *s = &plan->sides[side];

	if (s->end - s->bytes > GB_NUMBERS - *used)
		return false;
	a->side[a->sides].bytes = *used;
	a->side[a->sides].counts = *used + s->counts - s->bytes;
	a->side[a->sides].sizes = *used + s->sizes - s->bytes;
	a->side[a->sides].end = *used + s->end - s->bytes;
	for (uint32_t i = s->bytes; i < s->end; i++)
		a->number[(*used)++] = value_number(plan->values[i].value);
	a->sides++;
	return true;
}

void payload_amounts(enum role role, const struct value *values, size_t nvalues, struct gb_amounts *a)
{
	struct payload_plan *plan = payload_plan_new(role, values, nvalues);
	unsigned used = 0;
	bool fits = plan;

	*a = (struct gb_amounts){ 0 };
	if (plan && plan->sides[SIDE_NONE].spoken)
		fits = add_side(a, plan, SIDE_NONE, &used);
	for (enum side side = SIDE_SEND; plan && !plan->sides[SIDE_NONE].spoken && side <= SIDE_RECV; side++)
		if (plan->sides[side].spoken)
			fits = fits && add_side(a, plan, side, &used);
	if (!fits)
		*a = (struct gb_amounts){ 0 };
	payload_plan_free(plan);
}
