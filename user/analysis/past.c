/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * past.c - what each thread did lately, and whom that makes wait.
 *
 * **Blame.** Two threads that wait for each other now and then were in step when they last met (in_step.h). What the
 * late one has done since, and more of it than the one that waits, is why it is late. So both pasts from there on are
 * compared, deed by deed, and the wait is divided among what the late one did more of, in the same proportions (Böhme
 * and others, Identifying the Root Causes of Wait States in Large-Scale Parallel Applications). If it waited more, that
 * part belongs to those who caused its waits: each wait keeps the shares in which it was divided, so that this is not
 * looked for again.
 *
 * Each has left that place at its own time; where the late one left later, what kept it there counts, too.
 *
 * Where both have not met yet, or something is not known of either past, the wait is divided by what the late one did
 * while it was waited for. So is the wait for a lock: who has it makes others wait by all that it does with it.
 *
 * **Memory.** How far back one has to look is not known beforehand: the thread that waits may be far behind the one
 * that it waits for, as the schedule lets each go as far as it can. So what is kept of a past is what came after all
 * threads' present, and BACK_MOST pieces before that; where a thread stands still, no more than PIECES_MOST. What is
 * forgotten is unknown.
 */
#include "analysis/past.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/in_step.h"
#include "util/array.h"

#define FIRST_ROOM 64
#define PIECES_MOST (1u << 16) /* of one thread; a power of two, as all rooms are */
#define BACK_MOST 256          /* of each of the two pasts that are compared */
#define CHAIN_MOST 32          /* who waits for who waits for ... */
#define CAUSES_MOST 64         /* of one wait */
#define ORIGINS_MOST 8         /* that are kept of it */
#define KNOWN_SHARE 95         /* percent of a past: to be compared */

/* Whom a wait comes from: the most of it. */
struct origins {
	unsigned count;
	struct origin {
		uint32_t deed;
		double share;
	} of[ORIGINS_MOST];
};

struct piece {
	uint64_t start, end;     /* ns */
	uint32_t deed;           /* NO_INDEX: it waited */
	uint32_t of;             /* then: the thread that it waited for, */
	struct origins *origins; /* and who was to blame */
};

struct past {
	struct piece *pieces; /* a ring: the n-th is at (first + n) & (room - 1) */
	size_t first, count, room;
};

/* Whom one wait comes from, while that is found. */
struct causes {
	unsigned count;
	double all;
	struct cause {
		uint32_t deed;
		bool passed_on;
		double ns;
	} of[CAUSES_MOST];
};

struct pasts {
	struct deeds *deeds;
	struct past *all;
	size_t count;
	struct in_step in_step;
	/* What is compared: the same deeds of different threads have one kind. */
	struct deeds kinds;
	uint32_t *kind_of; /* by deed: 1 + kind; 0: not known yet */
	size_t nkinds_of;
	double *more; /* ns, by kind: how much more the late one did */
	size_t nmore;
	struct causes causes;
};

struct pasts *pasts_new(const struct definitions *d, struct deeds *deeds)
{
	struct pasts *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->deeds = deeds;
	p->count = d->nthreads;
	p->all = calloc(p->count + 1, sizeof(*p->all));
	if (p->all && !in_step_begin(&p->in_step, p->count))
		return p;
	pasts_free(p);
	return NULL;
}

static struct piece *piece_at(const struct past *past, size_t n)
{
	return &past->pieces[(past->first + n) & (past->room - 1)];
}

static void forget_first(struct past *past)
{
	free(piece_at(past, 0)->origins);
	past->first++;
	past->count--;
}

void pasts_free(struct pasts *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->all && i < p->count; i++) {
		while (p->all[i].count)
			forget_first(&p->all[i]);
		free(p->all[i].pieces);
	}
	in_step_free(&p->in_step);
	deeds_free(&p->kinds);
	free(p->kind_of);
	free(p->more);
	free(p->all);
	free(p);
}

/* --- feeding ------------------------------------------------------------------ */

static void forget_old(struct pasts *p, struct past *past)
{
	uint64_t needed = in_step_needed(&p->in_step);

	while (past->count > BACK_MOST && piece_at(past, BACK_MOST)->end <= needed)
		forget_first(past);
	for (size_t i = 0; past->count > PIECES_MOST / 2 && i < PIECES_MOST / 2 && past->room == PIECES_MOST; i++)
		forget_first(past);
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

static inline int put(struct pasts *p, uint32_t thread, const struct piece *piece)
{
	struct past *past = &p->all[thread];
	struct piece *place;

	p->in_step.present[thread] = piece->end;
	if (piece->start >= piece->end)
		return 0;
	place = add(p, past);
	if (!place)
		return -ENOMEM;
	/* One by one: they were written so just before, and a copy of several at once would wait for them. */
	place->start = piece->start;
	place->end = piece->end;
	place->deed = piece->deed;
	place->of = piece->of;
	place->origins = piece->origins;
	return 0;
}

int past_did(struct pasts *p, uint32_t deed, uint64_t start, uint64_t end)
{
	const struct piece piece = { .start = start, .end = end, .deed = deed, .of = NO_INDEX };

	return put(p, p->deeds->all[deed].thread, &piece);
}

int past_meeting(struct pasts *p, const struct meeting *meeting)
{
	return in_step_meeting(&p->in_step, meeting);
}

int past_message(struct pasts *p, const struct related_call *sends, const struct related_call *receives)
{
	return in_step_message(&p->in_step, sends, receives);
}

/* --- both pasts compared ------------------------------------------------------------ */

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

/* Some of the pieces, from the last one on, and how much of each counts. */
struct window {
	const struct past *past;
	uint64_t from, to;
	size_t next; /* piece + 1 */
};

static struct window window_of(const struct past *past, uint64_t from, uint64_t to)
{
	return (struct window){ past, from, to, begun_before(past, to) };
}

/* NULL: there is no more. ns: of it, in the window. */
static const struct piece *window_next(struct window *w, uint64_t *ns)
{
	const struct piece *piece = w->next ? piece_at(w->past, --w->next) : NULL;
	uint64_t start, end;

	if (!piece || piece->end <= w->from)
		return NULL;
	start = piece->start > w->from ? piece->start : w->from;
	end = piece->end < w->to ? piece->end : w->to;
	*ns = end > start ? end - start : 0;
	return piece;
}

#define KIND_WAIT 0 /* all waits are one kind; the others are 1 + that of the deed */

/* NO_INDEX: out of memory. */
static uint32_t kind_of(struct pasts *p, const struct piece *piece)
{
	struct deed kind;
	uint32_t number;

	if (piece->deed == NO_INDEX)
		return KIND_WAIT;
	if (array_reach(&p->kind_of, &p->nkinds_of, (size_t)piece->deed + 1, sizeof(*p->kind_of)))
		return NO_INDEX;
	if (!p->kind_of[piece->deed]) {
		kind = p->deeds->all[piece->deed];
		kind.thread = 0;
		number = deeds_number(&p->kinds, &kind);
		if (number == NO_INDEX)
			return NO_INDEX;
		p->kind_of[piece->deed] = 1 + number;
	}
	return p->kind_of[piece->deed];
}

static bool is_known(const struct pasts *p, const struct piece *piece)
{
	return piece->deed == NO_INDEX || p->deeds->all[piece->deed].doing != DOING_UNKNOWN;
}

/* Whether nearly all of that past can be compared. */
static bool is_whole(const struct pasts *p, struct window w)
{
	uint64_t known = 0, ns;
	const struct piece *piece;

	if (w.to == w.from)
		return true;
	for (size_t i = 0; (piece = window_next(&w, &ns)); i++) {
		if (i == BACK_MOST || !is_known(p, piece))
			return false;
		known += ns;
	}
	return (double)known * 100 >= (double)(w.to - w.from) * KNOWN_SHARE;
}

/* Adds up what was done, by kind. 0 or -ENOMEM. */
static int add_up(struct pasts *p, struct window w, double sign)
{
	const struct piece *piece;
	uint64_t ns;

	while ((piece = window_next(&w, &ns))) {
		uint32_t kind = kind_of(p, piece);

		if (kind == NO_INDEX || array_reach(&p->more, &p->nmore, (size_t)kind + 1, sizeof(*p->more)))
			return -ENOMEM;
		p->more[kind] += sign * ns;
	}
	return 0;
}

static void forget_sums(struct pasts *p, struct window w)
{
	const struct piece *piece;
	uint64_t ns;

	while ((piece = window_next(&w, &ns))) {
		uint32_t kind = piece->deed == NO_INDEX      ? KIND_WAIT
				: piece->deed < p->nkinds_of ? p->kind_of[piece->deed]
							     : KIND_WAIT;
		if (kind < p->nmore)
			p->more[kind] = 0;
	}
}

static void add_cause(struct causes *causes, uint32_t deed, double ns, bool passed_on)
{
	unsigned i = 0;

	while (i < causes->count && (causes->of[i].deed != deed || causes->of[i].passed_on != passed_on))
		i++;
	if (i == CAUSES_MOST || ns <= 0)
		return;
	if (i == causes->count)
		causes->of[causes->count++] = (struct cause){ deed, passed_on, 0 };
	causes->of[i].ns += ns;
	causes->all += ns;
}

/* NO_INDEX: out of memory. */
static uint32_t unknown_deed(struct pasts *p, uint32_t thread)
{
	const struct deed deed = deed_unknown(thread);

	return deeds_number(p->deeds, &deed);
}

static int add_unknown(struct pasts *p, uint32_t thread, double ns, bool passed_on)
{
	uint32_t deed = ns > 0 ? unknown_deed(p, thread) : 0;

	if (deed == NO_INDEX)
		return -ENOMEM;
	add_cause(&p->causes, deed, ns, passed_on);
	return 0;
}

/* A wait is divided as it was when it came by. */
static int add_wait(struct pasts *p, const struct piece *piece, double ns)
{
	if (!piece->origins || !piece->origins->count)
		return add_unknown(p, piece->of, ns, true);
	for (unsigned i = 0; i < piece->origins->count; i++)
		add_cause(&p->causes, piece->origins->of[i].deed, ns * piece->origins->of[i].share, true);
	return 0;
}

/* What of each kind is more, to those who did it. *more: its part of what the late one did of the kind in all. */
static int divide(struct pasts *p, struct window late)
{
	struct window again = late;
	const struct piece *piece;
	uint64_t ns, waits = 0;
	int error = 0;

	while ((piece = window_next(&again, &ns)))
		waits += piece->deed == NO_INDEX ? ns : 0;
	while (!error && (piece = window_next(&late, &ns))) {
		uint32_t kind = kind_of(p, piece);

		if (kind == NO_INDEX)
			return -ENOMEM;
		if (p->more[kind] <= 0)
			continue;
		if (kind == KIND_WAIT) {
			error = add_wait(p, piece, p->more[kind] * ns / waits);
		} else {
			add_cause(&p->causes, piece->deed, p->more[kind], false);
			p->more[kind] = 0; /* all of it is of this deed */
		}
	}
	return error;
}

/* *done: the causes are known. 0 or -ENOMEM. */
static int compare(struct pasts *p, const struct wait *wait, bool *done)
{
	struct window mine, its;
	struct step step = in_step_last(&p->in_step, wait);
	int error;

	if (!step.known)
		return 0;
	if (step.late > step.waiting)
		step.late = step.waiting; /* what kept it there is a part of it */
	mine = window_of(&p->all[wait->waiting], step.waiting, wait->since);
	its = window_of(&p->all[wait->late], step.late, wait->until);
	if (!is_whole(p, mine) || !is_whole(p, its))
		return 0;
	error = add_up(p, its, 1) ?: add_up(p, mine, -1) ?: divide(p, its);
	forget_sums(p, mine);
	forget_sums(p, its);
	*done = p->causes.all > 0;
	return error;
}

/* --- what it did meanwhile --------------------------------------------------------------- */

/* What the thread did from `from` to `to`. */
static int meanwhile(struct pasts *p, uint32_t thread, uint64_t from, uint64_t to, unsigned chain)
{
	struct window w = window_of(&p->all[thread], from, to);
	const struct piece *piece;
	uint64_t ns;
	int error = 0;

	while (to > from && !error && (piece = window_next(&w, &ns))) {
		uint64_t end = piece->end < to ? piece->end : to, start = end - ns;

		error = add_unknown(p, thread, to - end, chain > 0);
		to = start;
		if (error)
			return error;
		if (piece->deed == NO_INDEX && chain < CHAIN_MOST)
			error = meanwhile(p, piece->of, start, end, chain + 1);
		else if (piece->deed == NO_INDEX)
			error = add_unknown(p, piece->of, ns, true);
		else
			add_cause(&p->causes, piece->deed, ns, chain > 0);
	}
	return error ?: add_unknown(p, thread, to - from, chain > 0);
}

/* --- telling -------------------------------------------------------------------------------- */

/* Each its share of the wait: whole ns, and all of it. */
static int tell(const struct causes *causes, uint64_t wait, past_told *told, void *context)
{
	double before = 0;
	uint64_t done = 0;
	int error = 0;

	for (unsigned i = 0; i < causes->count && !error; i++) {
		uint64_t until;

		before += causes->of[i].ns;
		until = i + 1 == causes->count ? wait : (uint64_t)llround(before / causes->all * (double)wait);
		if (until > wait)
			until = wait;
		if (until > done)
			error = told(context, causes->of[i].deed, until - done, causes->of[i].passed_on);
		done = until > done ? until : done;
	}
	return error;
}

static int by_ns(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->deed < y->deed ? -1 : x->deed > y->deed;
}

/* Those who have most of it, as parts of all of theirs. Sorts the causes. NULL: out of memory. */
static struct origins *origins_of(struct causes *causes)
{
	struct origins *origins = calloc(1, sizeof(*origins));
	double all = 0;

	if (!origins)
		return NULL;
	qsort(causes->of, causes->count, sizeof(*causes->of), by_ns);
	for (unsigned i = 0; i < causes->count && i < ORIGINS_MOST; i++) {
		origins->of[origins->count++] = (struct origin){ causes->of[i].deed, causes->of[i].ns };
		all += causes->of[i].ns;
	}
	for (unsigned i = 0; i < origins->count; i++)
		origins->of[i].share /= all;
	return origins;
}

int past_blame(struct pasts *p, const struct related_call *call, const struct waited *waited, past_told *told,
	       void *context)
{
	const struct wait wait = { call->thread, waited->of.thread, call->start, waited->until };
	struct piece piece = { .start = wait.since, .end = wait.until, .deed = NO_INDEX, .of = wait.late };
	bool done = false;
	int error;

	if (wait.until <= wait.since)
		return 0;
	p->causes.count = 0;
	p->causes.all = 0;
	error = waited->state == WAIT_FOR_LOCK ? 0 : compare(p, &wait, &done);
	if (!error && !done) {
		p->causes.count = 0;
		p->causes.all = 0;
		error = meanwhile(p, wait.late, wait.since, wait.until, 0);
	}
	if (!error)
		error = tell(&p->causes, wait.until - wait.since, told, context);
	if (error)
		return error;
	piece.origins = origins_of(&p->causes);
	if (!piece.origins)
		return -ENOMEM;
	error = put(p, wait.waiting, &piece);
	if (error)
		free(piece.origins);
	return error;
}
