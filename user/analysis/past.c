/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * past.c - what each thread did lately.
 *
 * How far back one has to look is not known beforehand: the thread that waits may be far behind the one that it waits
 * for, as the schedule lets each go as far as it can. What ended before all threads' present is not asked for any more
 * and goes first when room is needed. A thread that stands still forever would keep all of it, so there is a limit;
 * what was forgotten because of it is unknown.
 */
#include "analysis/past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64
#define PIECES_MOST (1u << 16) /* of one thread; a power of two, as all rooms are */
#define CHAIN_MOST 32	       /* who waits for who waits for ... */

struct piece {
	uint64_t start, end;  /* ns */
	struct called call;   /* DOING_CALL, DOING_WAIT; else .probe: inside */
	uint32_t of;	      /* DOING_WAIT: the thread that it waited for */
	struct called of_call; /* and its call */
	uint32_t doing;
};

struct past {
	struct piece *pieces; /* a ring: the n-th is at (first + n) & (room - 1) */
	size_t first, count, room;
	uint64_t present; /* ns: what it did until then is known */
};

struct pasts {
	const struct definitions *d;
	struct past *all;
	size_t count;
};

struct pasts *pasts_new(const struct definitions *d)
{
	struct pasts *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->d = d;
	p->count = d->nthreads;
	p->all = calloc(p->count + 1, sizeof(*p->all));
	if (p->all)
		return p;
	free(p);
	return NULL;
}

void pasts_free(struct pasts *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		free(p->all[i].pieces);
	free(p->all);
	free(p);
}

static struct piece *piece_at(const struct past *past, size_t n)
{
	return &past->pieces[(past->first + n) & (past->room - 1)];
}

/* --- feeding ------------------------------------------------------------------ */

static void forget_old(struct pasts *p, struct past *past)
{
	uint64_t needed = UINT64_MAX;

	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].present && p->all[i].present < needed)
			needed = p->all[i].present;
	while (past->count > 1 && piece_at(past, 1)->end <= needed) { /* the last of them says what was before */
		past->first++;
		past->count--;
	}
	if (past->count == PIECES_MOST) {
		past->first += PIECES_MOST / 2;
		past->count -= PIECES_MOST / 2;
	}
}

/* NULL: out of memory. */
static struct piece *add(struct pasts *p, struct past *past)
{
	size_t room = past->room ? 2 * past->room : FIRST_ROOM;
	struct piece *larger;

	if (past->room && past->count < past->room)
		return piece_at(past, past->count++);
	forget_old(p, past);
	/* Where little went, it would be looked for again at once. */
	if (past->room < PIECES_MOST && past->count >= past->room / 2) {
		larger = malloc(room * sizeof(*larger));
		if (!larger)
			return NULL;
		for (size_t i = 0; i < past->count; i++)
			larger[i] = *piece_at(past, i);
		free(past->pieces);
		past->pieces = larger;
		past->first = 0;
		past->room = room;
	}
	return piece_at(past, past->count++);
}

static struct piece *last_of(const struct past *past)
{
	return past->count ? piece_at(past, past->count - 1) : NULL;
}

static int put(struct pasts *p, uint32_t thread, const struct piece *piece)
{
	struct past *past = &p->all[thread];
	struct piece *last = last_of(past), *place;

	past->present = piece->end;
	if (piece->start >= piece->end)
		return 0;
	if (last && last->doing == piece->doing && last->end == piece->start && piece->doing != DOING_CALL &&
	    piece->doing != DOING_WAIT && last->call.probe == piece->call.probe) {
		last->end = piece->end;
		return 0;
	}
	place = add(p, past);
	if (!place)
		return -ENOMEM;
	*place = *piece;
	return 0;
}

int past_work(struct pasts *p, uint32_t thread, uint64_t start, uint64_t end, uint32_t inside, bool known)
{
	const struct piece piece = {
		.start = start,
		.end = end,
		.call = { known ? inside : NO_INDEX, NO_INDEX },
		.of = NO_INDEX,
		.doing = known ? DOING_WORK : DOING_UNKNOWN,
	};

	return put(p, thread, &piece);
}

/* A part of the program's work, as far as others are concerned. */
static bool is_small(enum role role)
{
	return role == ROLE_ALLOC || role == ROLE_FREE || role == ROLE_TEST || role == ROLE_TRY;
}

int past_call(struct pasts *p, const struct related_call *call, const struct waited *waited)
{
	struct piece *last = last_of(&p->all[call->thread]);
	struct piece piece = {
		.start = call->start,
		.end = call->end,
		.call = { call->probe, call->site },
		.of = NO_INDEX,
		.doing = DOING_CALL,
	};
	int error = 0;

	if (!waited && is_small(p->d->probes[call->probe].role)) {
		piece.doing = DOING_WORK;
		piece.call = (struct called){ last && last->doing == DOING_WORK ? last->call.probe : NO_INDEX,
					      NO_INDEX };
		return put(p, call->thread, &piece);
	}
	if (waited) {
		piece.end = waited->until;
		piece.doing = DOING_WAIT;
		piece.of = waited->of.thread;
		piece.of_call = (struct called){ waited->of.probe, waited->of.site };
		error = put(p, call->thread, &piece);
		piece.start = waited->until;
		piece.end = call->end;
		piece.of = NO_INDEX;
		piece.doing = DOING_CALL;
	}
	return error ? error : put(p, call->thread, &piece);
}

/* --- blame ---------------------------------------------------------------------- */

static const struct called nowhere = { NO_INDEX, NO_INDEX };

/* How many of its pieces began before that time. */
static size_t begun_before(const struct past *past, uint64_t time)
{
	size_t low = 0, high = past->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (piece_at(past, middle)->start < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_call(const struct piece *piece)
{
	return piece->doing == DOING_CALL || piece->doing == DOING_WAIT;
}

static struct called neighbour(const struct past *past, size_t n, bool there)
{
	return there && is_call(piece_at(past, n)) ? piece_at(past, n)->call : nowhere;
}

struct blame {
	const struct pasts *pasts;
	past_told *told;
	void *context;
};

static int tell_unknown(const struct blame *b, uint32_t thread, uint64_t ns, bool passed_on)
{
	const struct deed deed = { thread, DOING_UNKNOWN, NO_INDEX, nowhere, nowhere, nowhere };

	return ns ? b->told(b->context, &deed, ns, passed_on) : 0;
}

/* What the thread did from `from` to `to`, when it began the call `next`. */
static int blame(const struct blame *b, uint32_t thread, uint64_t from, uint64_t to, struct called next, unsigned chain)
{
	const struct past *past = &b->pasts->all[thread];
	int error = 0;

	for (size_t i = begun_before(past, to); i-- && to > from && !error;) {
		const struct piece *piece = piece_at(past, i);
		uint64_t start = piece->start > from ? piece->start : from, end = piece->end < to ? piece->end : to;
		struct deed deed = { thread, piece->doing, NO_INDEX, nowhere, nowhere, nowhere };

		if (end <= from)
			break;
		error = tell_unknown(b, thread, to - end, chain > 0);
		to = start;
		if (error)
			break;
		if (piece->doing == DOING_WAIT && chain < CHAIN_MOST) {
			error = blame(b, piece->of, start, end, piece->of_call, chain + 1);
			continue;
		}
		if (is_call(piece)) {
			deed.call = piece->call;
		} else if (piece->doing == DOING_WORK) {
			deed.inside = piece->call.probe;
			deed.after = neighbour(past, i - 1, i > 0);
			deed.before = i + 1 < past->count ? neighbour(past, i + 1, true) : next;
		}
		error = b->told(b->context, &deed, end - start, chain > 0);
	}
	return error ? error : tell_unknown(b, thread, to - from, chain > 0);
}

int past_blame(const struct pasts *p, uint64_t from, const struct waited *waited, past_told *told, void *context)
{
	const struct blame b = { p, told, context };
	struct called next = { waited->of.probe, waited->of.site };

	return waited->until > from ? blame(&b, waited->of.thread, from, waited->until, next, 0) : 0;
}
