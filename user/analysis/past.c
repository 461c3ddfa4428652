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
#define CHAIN_MOST 32          /* who waits for who waits for ... */

struct piece {
	uint64_t start, end; /* ns */
	struct deed deed;
	uint32_t of; /* DOING_WAIT: the thread that it waited for */
};

struct past {
	struct piece *pieces; /* a ring: the n-th is at (first + n) & (room - 1) */
	size_t first, count, room;
	uint64_t present; /* ns: what it did until then is known */
};

struct pasts {
	struct same_sites sites;
	struct past *all;
	size_t count;
};

struct pasts *pasts_new(const struct definitions *d, const struct same_sites *sites)
{
	struct pasts *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sites = *sites;
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

static int put(struct pasts *p, const struct piece *piece)
{
	struct past *past = &p->all[piece->deed.thread];
	struct piece *place;

	past->present = piece->end;
	if (piece->start >= piece->end)
		return 0;
	place = add(p, past);
	if (!place)
		return -ENOMEM;
	*place = *piece;
	return 0;
}

int past_work(struct pasts *p, const struct related_work *work)
{
	const struct piece piece = { work->start, work->end, deed_of_work(&p->sites, work), NO_INDEX };

	return put(p, &piece);
}

int past_call(struct pasts *p, const struct related_call *call, const struct waited *waited)
{
	struct piece piece = { call->start, call->end, deed_of_call(&p->sites, call), NO_INDEX };

	if (waited) {
		struct piece wait = { call->start, waited->until, piece.deed, waited->of.thread };
		int error;

		wait.deed.doing = DOING_WAIT;
		error = put(p, &wait);
		if (error)
			return error;
		piece.start = waited->until;
	}
	return put(p, &piece);
}

/* --- blame ---------------------------------------------------------------------- */

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

struct blame {
	const struct pasts *pasts;
	past_told *told;
	void *context;
};

static int tell_unknown(const struct blame *b, uint32_t thread, uint64_t ns, bool passed_on)
{
	const struct deed deed = deed_unknown(thread);

	return ns ? b->told(b->context, &deed, ns, passed_on) : 0;
}

/* What the thread did from `from` to `to`. */
static int blame(const struct blame *b, uint32_t thread, uint64_t from, uint64_t to, unsigned chain)
{
	const struct past *past = &b->pasts->all[thread];
	int error = 0;

	for (size_t i = begun_before(past, to); i-- && to > from && !error;) {
		const struct piece *piece = piece_at(past, i);
		uint64_t start = piece->start > from ? piece->start : from, end = piece->end < to ? piece->end : to;

		if (end <= from)
			break;
		error = tell_unknown(b, thread, to - end, chain > 0);
		to = start;
		if (!error)
			error = piece->deed.doing == DOING_WAIT && chain < CHAIN_MOST
					? blame(b, piece->of, start, end, chain + 1)
					: b->told(b->context, &piece->deed, end - start, chain > 0);
	}
	return error ? error : tell_unknown(b, thread, to - from, chain > 0);
}

int past_blame(const struct pasts *p, uint64_t from, const struct waited *waited, past_told *told, void *context)
{
	const struct blame b = { p, told, context };

	return waited->until > from ? blame(&b, waited->of.thread, from, waited->until, 0) : 0;
}
