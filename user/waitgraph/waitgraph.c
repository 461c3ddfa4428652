/* SPDX-License-Identifier: BSD-2-Clause */
#include "waitgraph/waitgraph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "waitgraph/hand_over.h"
#include "waitgraph/private.h"

#define NAMED_MOST 6 /* parties that one sentence names */
#define LOCK_ROOM 24

const char *finding_name(enum finding_kind kind)
{
	static const char *const names[FINDING_KINDS] = { "stopped", "deadlock", "left", "absent", "held", "lock" };

	return kind < FINDING_KINDS ? names[kind] : "?";
}

void findings_free(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].text);
		free(findings->list[i].parties);
	}
	free(findings->list);
	memset(findings, 0, sizeof(*findings));
}

/* --- who waits for whom ------------------------------------------------- */

static bool is_member(const struct party *p, long rank)
{
	for (size_t i = 0; p->members && i < p->nmembers; i++)
		if (p->members[i] == rank)
			return true;
	return !p->members;
}

/* Are both in the same operation of the same group? Where a group is not known they may be. */
static bool same_operation(const struct party *a, const struct party *b)
{
	return a->waits && b->waits && a->gathers && b->gathers &&
	       !strcmp(a->meeting ?: a->event, b->meeting ?: b->event) &&
	       (!a->has_group || !b->has_group || a->group == b->group);
}

static bool has_come(const struct graph *g, const struct party *waiting, long rank)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->parties[i].rank == rank && same_operation(waiting, &g->parties[i]))
			return true;
	return false;
}

static bool waits_for(const struct graph *g, const struct party *a, const struct party *b)
{
	if (!a->waits)
		return false;
	if (a->rank_holds)
		return b->stands_for_rank && b->rank == a->holder_rank;
	if (a->holder)
		return b->tid == a->holder; /* which may be a itself: it has the lock already */
	if (a == b || !b->stands_for_rank || b->rank < 0)
		return false;
	if (a->peer != WAITS_NOBODY)
		return a->peer == b->rank;
	return a->gathers && !a->barrier && a->rank >= 0 && b->rank != a->rank && is_member(a, b->rank) &&
	       !has_come(g, a, b->rank);
}

/* --- sentences ---------------------------------------------------------- */

void put_place(FILE *out, const struct party *p)
{
	if (p->place)
		fprintf(out, " (%s)", p->place);
}

static const char *lock_name(const struct party *p, char room[LOCK_ROOM])
{
	if (p->lock_name)
		return p->lock_name;
	snprintf(room, LOCK_ROOM, "0x%llx", (unsigned long long)p->lock);
	return room;
}

/* "rank 1, rank 2 and 3 others" */
void put_names(FILE *out, const struct graph *g, const size_t *which, size_t count, const char *joined)
{
	size_t named = count <= NAMED_MOST ? count : NAMED_MOST - 1;

	for (size_t i = 0; i < named; i++) {
		if (i && i + 1 == count)
			fprintf(out, " %s %s", joined, g->parties[which[i]].label);
		else
			fprintf(out, "%s%s", i ? ", " : "", g->parties[which[i]].label);
	}
	if (named < count)
		fprintf(out, " %s %zu others", joined, count - named);
}

struct diagnosis *add_finding(struct graph *g, enum finding_kind kind, const size_t *which, size_t count,
			      size_t waiting)
{
	struct findings *f = g->findings;
	struct diagnosis *fresh;

	if (array_one_more(&f->list, &f->room, f->count, sizeof(*fresh))) {
		g->failed = true;
		return NULL;
	}
	fresh = &f->list[f->count];
	*fresh = (struct diagnosis){ .kind = kind, .nwaiting = waiting, .parties = calloc(count + 1, sizeof(*which)) };
	if (!fresh->parties) {
		g->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		fresh->parties[fresh->nparties++] = which[i];
		fresh->likely |= i < waiting && g->parties[which[i]].likely;
	}
	f->count++;
	return fresh;
}

FILE *begin_text(struct diagnosis *f)
{
	return f ? open_memstream(&f->text, &f->length) : NULL;
}

/* What a waits for, which is b. */
static void put_reason(FILE *out, const struct party *a, const struct party *b)
{
	char room[LOCK_ROOM];

	if (a->joins)
		fprintf(out, "waits in %s for the end of %s", a->event, b->label);
	else if (a == b)
		fprintf(out, "waits for lock %s that it holds itself", lock_name(a, room));
	else if (a->holder || a->rank_holds)
		fprintf(out, "waits for lock %s that %s holds", lock_name(a, room), b->label);
	else if (a->peer != WAITS_NOBODY)
		fprintf(out, "waits in %s for %s", a->event, b->label);
	else
		fprintf(out, "waits in %s, to which %s has not come", a->event, b->label);
	put_place(out, a);
}

/* --- deadlocks ---------------------------------------------------------- */

static void tell_cycle(struct graph *g, const size_t *way, size_t length)
{
	struct diagnosis *f = add_finding(g, FINDING_DEADLOCK, way, length, length);
	FILE *out = begin_text(f);

	if (!out)
		return;
	fprintf(out, "deadlock%s of %zu: ", f->likely ? " (likely)" : "", length);
	for (size_t i = 0; i < length; i++) {
		const struct party *a = &g->parties[way[i]], *b = &g->parties[way[(i + 1) % length]];

		if (length > NAMED_MOST && i == NAMED_MOST - 2) {
			fprintf(out, "; and so on, %zu more", length - i - 1);
			i = length - 2;
			continue;
		}
		fprintf(out, "%s%s ", i ? "; " : "", a->label);
		put_reason(out, a, b);
	}
	fclose(out);
}

/*
 * Tries all ways from a party; a way that comes back to a party on it is a deadlock. Whoever is on a way to one waits
 * for that one, so each deadlock is told once.
 */
static void follow(struct graph *g, size_t from)
{
	size_t *next = calloc(g->count + 1, sizeof(*next));

	if (!next) {
		g->failed = true;
		return;
	}
	g->length = 0;
	g->way[g->length++] = from;
	g->place[from] = 1;
	while (g->length) {
		size_t at = g->way[g->length - 1], to = next[g->length - 1]++;

		if (to >= g->count) {
			g->place[at] = 0;
			g->done[at] = true;
			next[--g->length] = 0;
			continue;
		}
		if (g->done[to] || !waits_for(g, &g->parties[at], &g->parties[to]))
			continue;
		if (g->place[to]) {
			tell_cycle(g, g->way + g->place[to] - 1, g->length - (g->place[to] - 1));
			for (size_t i = 0; i < g->length; i++) {
				g->place[g->way[i]] = 0;
				g->done[g->way[i]] = true;
			}
			break;
		}
		g->way[g->length] = to;
		next[g->length++] = 0;
		g->place[to] = g->length;
	}
	free(next);
}

/* --- barriers ----------------------------------------------------------- */

/* Is it about to leave the program, while another is not? */
static bool is_leaving(const struct party *p, const struct party *other)
{
	return p->waits && p->role == ROLE_EXIT && other->role != ROLE_EXIT;
}

static const char *stopped_how(const struct party *p)
{
	return p->stopped == 't' ? "stopped by a debugger" : "stopped by a signal";
}

/* Where one is that does not wait for others: "is in no known call (x.c:3 in f)" */
static void put_where(FILE *out, const struct party *p, const char *is_in)
{
	if (p->stopped)
		fprintf(out, "is %s, in %s", stopped_how(p), p->event ?: "no known call");
	else if (p->uncaught)
		fputs("could not be caught anywhere", out);
	else
		fprintf(out, "%s %s", p->event ? is_in : "is in", p->event ?: "no known call");
	put_place(out, p);
}

static void put_absent(FILE *out, const struct graph *g, const struct party *p, const struct party *waiting)
{
	fprintf(out, "%s ", p->label);
	if (p->left) {
		fputs("has left the program", out);
	} else if (p->elsewhere) {
		fputs("is not among the processes looked at", out);
	} else if (p->stopped) {
		put_where(out, p, "");
	} else if (is_leaving(p, waiting)) {
		fprintf(out, "is leaving the program, in %s", p->event);
		put_place(out, p);
	} else if (p->waits) {
		fprintf(out, "waits in %s", p->event);
		if (p->peer != WAITS_NOBODY)
			fprintf(out, " for %s %ld", g->unit, p->peer);
		put_place(out, p);
	} else {
		put_where(out, p, "is on its way, in");
	}
}

/* Nobody knows where it is, so it may have come. */
static bool may_have_come(const struct party *p)
{
	return p->uncaught && !p->stopped;
}

/* Adds those who have not come, or those of whom that is not known, to a list that has `count`. How many it has then.
 */
static size_t add_others(const struct graph *g, const struct party *p, bool unknown, size_t *which, size_t count)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct party *other = &g->parties[i];

		if (other->stands_for_rank && other->rank >= 0 && may_have_come(other) == unknown &&
		    is_member(p, other->rank) && !has_come(g, p, other->rank))
			which[count++] = i;
	}
	return count;
}

void put_absents(FILE *out, const struct graph *g, const struct party *waiting, const size_t *which, size_t count)
{
	for (size_t i = 0; i < count && i < NAMED_MOST; i++) {
		fputs(i ? "; " : "", out);
		put_absent(out, g, &g->parties[which[i]], waiting);
	}
	if (count > NAMED_MOST)
		fprintf(out, "; and %zu others", count - NAMED_MOST);
}

/* One that waits for the rest of a meeting to which it came before: of several others, some may have come, too, and
 * gone on. */
static void put_who_has_not_come(FILE *out, const struct graph *g, const struct party *waiting, const size_t *which,
				 size_t count, size_t all)
{
	if (waiting->split && count > 1)
		fprintf(out, "; of %zu others at least one has not come: ", count);
	else
		fprintf(out, "; %zu of %zu %s not come: ", count, all, count == 1 ? "has" : "have");
	put_absents(out, g, waiting, which, count);
}

/* All that are in the same operation as the first of them, and who is not. */
static void look_at_operation(struct graph *g, size_t first, size_t *which, bool *told)
{
	const struct party *p = &g->parties[first];
	size_t come = 0, absent, all;
	struct diagnosis *finding;
	bool left = false;
	FILE *out;

	for (size_t i = 0; i < g->count; i++) {
		if (g->parties[i].rank < 0 || (i != first && !same_operation(p, &g->parties[i])))
			continue;
		told[i] = true;
		which[come++] = i;
	}
	absent = add_others(g, p, false, which, come) - come;
	all = add_others(g, p, true, which, come + absent);
	if (all == come)
		return;
	for (size_t i = come; i < come + absent; i++)
		left |= g->parties[which[i]].left || is_leaving(&g->parties[which[i]], p);
	finding = add_finding(g, left ? FINDING_LEFT : FINDING_ABSENT, which, absent ? come + absent : all, come);
	if (finding)
		finding->likely |= !absent || (p->split && absent > 1);
	out = begin_text(finding);
	if (!out)
		return;
	put_names(out, g, which, come, "and");
	fprintf(out, " wait%s in %s", come == 1 ? "s" : "", p->event);
	put_place(out, p);
	if (absent)
		put_who_has_not_come(out, g, p, which + come, absent, all);
	if (all > come + absent) {
		fputs("; who could not be caught, and may have come: ", out);
		put_names(out, g, which + come + absent, all - come - absent, "and");
	}
	fclose(out);
}

/* A barrier of the threads of one process. */
static void look_at_barrier(struct graph *g, size_t first, size_t *which, bool *told)
{
	const struct party *p = &g->parties[first];
	size_t come = 0;
	FILE *out;

	for (size_t i = 0; i < g->count; i++) {
		if (g->parties[i].pid != p->pid || g->parties[i].barrier != p->barrier || !g->parties[i].waits)
			continue;
		told[i] = true;
		which[come++] = i;
	}
	if (!p->of || p->come >= p->of)
		return;
	out = begin_text(add_finding(g, FINDING_ABSENT, which, come, come));
	if (!out)
		return;
	put_names(out, g, which, come, "and");
	fprintf(out, " wait%s in %s at barrier 0x%llx: %u of %u threads have come", come == 1 ? "s" : "", p->event,
		(unsigned long long)p->barrier, p->come, p->of);
	fclose(out);
}

/* --- locks, messages ---------------------------------------------------- */

static bool same_lock(const struct party *a, const struct party *b)
{
	return a->lock_key || b->lock_key ? a->lock_key == b->lock_key : a->lock == b->lock;
}

/* Who waits for a thread or rank that does not wait itself. A message that is yet to be sent is no finding, if its
 * sender is there. */
static void look_at_target(struct graph *g, size_t target, size_t *which)
{
	const struct party *to = &g->parties[target], *first = NULL;
	char room[LOCK_ROOM];
	size_t count = 0;
	FILE *out;

	if (to->waits)
		return;
	for (size_t i = 0; i < g->count; i++) {
		const struct party *p = &g->parties[i];

		if ((p->holder || p->rank_holds || p->peer != WAITS_NOBODY) && waits_for(g, p, to) &&
		    (!first || same_lock(p, first))) {
			first = first ?: p;
			which[count++] = i;
		}
	}
	if (!count || (!first->holder && !first->rank_holds && !to->left))
		return;
	which[count] = target;
	out = begin_text(add_finding(g, to->left ? FINDING_LEFT : FINDING_HELD, which, count + 1, count));
	if (!out)
		return;
	put_names(out, g, which, count, "and");
	if (to->left && first->peer != WAITS_NOBODY)
		fprintf(out, " wait%s in %s for %s", count == 1 ? "s" : "", first->event, to->label);
	else if (first->joins)
		fprintf(out, " wait%s in %s for the end of %s", count == 1 ? "s" : "", first->event, to->label);
	else
		fprintf(out, " wait%s for lock %s that %s holds", count == 1 ? "s" : "", lock_name(first, room),
			to->label);
	fputs(", which ", out);
	if (to->left)
		fputs("has left the program", out);
	else if (to->elsewhere)
		fputs("is not among the processes looked at", out);
	else
		put_where(out, to, "is in");
	fclose(out);
}

static bool waits_for_unknown(const struct party *p)
{
	return p->waits && p->role == ROLE_ACQUIRE && p->rank >= 0 && p->lock_key && !p->holder && !p->rank_holds;
}

/* Ranks that wait for a lock of which nobody knows who has it: one of those that do not. */
static void look_at_lock(struct graph *g, size_t first, size_t *which, bool *told)
{
	const struct party *p = &g->parties[first];
	char room[LOCK_ROOM];
	size_t waiting = 0, count;
	FILE *out;

	for (size_t i = 0; i < g->count; i++) {
		if (!waits_for_unknown(&g->parties[i]) || !same_lock(p, &g->parties[i]))
			continue;
		told[i] = true;
		which[waiting++] = i;
	}
	count = waiting;
	for (size_t i = 0; i < g->count; i++) {
		bool waits = false;

		for (size_t k = 0; k < waiting; k++)
			waits |= g->parties[which[k]].rank == g->parties[i].rank;
		if (g->parties[i].stands_for_rank && !waits)
			which[count++] = i;
	}
	out = begin_text(add_finding(g, FINDING_LOCK, which, count, waiting));
	if (!out)
		return;
	put_names(out, g, which, waiting, "and");
	fprintf(out, " wait%s for lock %s", waiting == 1 ? "s" : "", lock_name(p, room));
	put_place(out, p);
	fputs("; who has it is not known", out);
	if (count > waiting) {
		fputs(": ", out);
		put_names(out, g, which + waiting, count - waiting, "or");
	}
	fclose(out);
}

/* --- stopped ------------------------------------------------------------- */

/* All that are stopped in this way; a process whose threads are all stopped is one. */
static void look_at_stopped(struct graph *g, char how, size_t *which)
{
	size_t count = 0;
	FILE *out;

	for (size_t i = 0; i < g->count; i++) {
		const struct party *p = &g->parties[i];

		if (p->stopped == how && (!count || g->parties[which[count - 1]].pid != p->pid))
			which[count++] = i;
	}
	if (!count)
		return;
	out = begin_text(add_finding(g, FINDING_STOPPED, which, count, 0));
	if (!out)
		return;
	put_names(out, g, which, count, "and");
	fprintf(out, " %s %s", count == 1 ? "is" : "are", stopped_how(&g->parties[which[0]]));
	if (how == 'T') {
		fprintf(out, ": to let %s go on, kill -CONT", count == 1 ? "it" : "them");
		for (size_t i = 0; i < count && i < NAMED_MOST; i++)
			fprintf(out, " %d", waits_pid(g->parties[which[i]].pid));
		fputs(count > NAMED_MOST ? " ..." : "", out);
	}
	fclose(out);
}

static int by_weight(const void *a, const void *b)
{
	const struct diagnosis *x = a, *y = b;

	return x->kind != y->kind           ? (x->kind < y->kind ? -1 : 1)
	       : x->nwaiting != y->nwaiting ? (x->nwaiting > y->nwaiting ? -1 : 1)
					    : 0;
}

int waits_find(const struct party *parties, size_t count, const char *unit, long ranks, struct findings *findings)
{
	struct graph g = { .parties = parties, .count = count, .unit = unit, .ranks = ranks, .findings = findings };
	size_t *which = calloc(count + 1, sizeof(*which));
	bool *told = calloc(count + 1, sizeof(*told));

	g.place = calloc(count + 1, sizeof(*g.place));
	g.done = calloc(count + 1, sizeof(*g.done));
	g.way = calloc(count + 1, sizeof(*g.way));
	g.failed = !which || !told || !g.place || !g.done || !g.way;
	for (size_t i = 0; !g.failed && i < count; i++)
		if (parties[i].waits && !g.done[i])
			follow(&g, i);
	for (size_t i = 0; !g.failed && i < count; i++) {
		if (parties[i].waits && parties[i].gathers && !told[i] && parties[i].barrier)
			look_at_barrier(&g, i, which, told);
		else if (parties[i].waits && parties[i].gathers && !told[i] && parties[i].rank >= 0)
			look_at_operation(&g, i, which, told);
		else if (waits_for_unknown(&parties[i]) && !told[i])
			look_at_lock(&g, i, which, told);
		if (!g.failed)
			look_at_target(&g, i, which);
	}
	if (!g.failed)
		look_at_unknown(&g, which);
	for (const char *how = "Tt"; !g.failed && *how; how++)
		look_at_stopped(&g, *how, which);
	if (findings->count)
		qsort(findings->list, findings->count, sizeof(findings->list[0]), by_weight);
	free(which);
	free(told);
	free(g.place);
	free(g.done);
	free(g.way);
	return g.failed ? -ENOMEM : 0;
}
