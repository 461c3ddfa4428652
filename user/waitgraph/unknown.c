/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unknown.c - ranks that wait for another one, and which one is not known: a message whose peer could not be read, a
 * request, a word in memory.
 *
 * Where the others are tells enough all the same, as long as all ranks of the job are in sight. Who sends needs
 * somebody that receives: where each rank is in a call that does not, all of them wait for ever; the same of receiving.
 * Where all ranks wait for requests and messages, and have since before anybody looked, nobody is left to begin what
 * they wait for. And where only a few ranks do not wait, it is these that the others wait for. A request that was made
 * before may be what the other side needs, and is not seen, and a long message may be on its way: so all this is
 * likely, and never certain.
 */
#include <stdlib.h>
#include <string.h>

#include "waitgraph/private.h"

/* Has every rank of the job its party, and is it known of each where it is? */
static bool sees_all_ranks(const struct graph *g)
{
	long seen = 0;

	for (size_t i = 0; i < g->count; i++) {
		const struct party *p = &g->parties[i];

		if (!p->stands_for_rank || p->rank < 0)
			continue;
		if (p->elsewhere || p->uncaught || p->stopped)
			return false;
		seen++;
	}
	return g->ranks > 1 && seen == g->ranks;
}

/* May the party be, or come to be, the other side of a call of this role? Whoever waits for something else is not
 * before that has come. */
static bool may_answer(const struct party *p, enum role role)
{
	if (p->left || p->helper || p->rank < 0)
		return false;
	if (!p->waits)
		return true;
	switch (p->role) {
	case ROLE_SEND:
		return role != ROLE_SEND;
	case ROLE_RECV:
		return role != ROLE_RECV;
	case ROLE_BARRIER:
	case ROLE_COLLECTIVE:
	case ROLE_ACQUIRE:
	case ROLE_EXIT:
		return false;
	default:
		return true;
	}
}

/* All ranks that wait in calls of this role, if nobody is there that could answer any of them. */
static void look_at_one_sided(struct graph *g, enum role role, size_t *which)
{
	struct diagnosis *finding;
	bool unknown = false;
	size_t count = 0;
	FILE *out;

	for (size_t i = 0; i < g->count; i++) {
		const struct party *p = &g->parties[i];

		if (may_answer(p, role))
			return;
		if (p->waits && p->role == role && p->stands_for_rank) {
			which[count++] = i;
			unknown |= p->by_another;
		}
	}
	/* Whose peers are known has been looked at: they are on the way to a deadlock, or wait for one that has left.
	 */
	if (!unknown)
		return;
	finding = add_finding(g, FINDING_DEADLOCK, which, count, count);
	if (finding)
		finding->likely = true;
	out = begin_text(finding);
	if (!out)
		return;
	fprintf(out, "deadlock (likely) of %zu: ", count);
	put_names(out, g, which, count, "and");
	fprintf(out, " wait%s in %s", count == 1 ? "s" : "", g->parties[which[0]].event);
	put_place(out, &g->parties[which[0]]);
	fprintf(out, ", and no %s %s", g->unit, role == ROLE_SEND ? "receives" : "sends");
	fclose(out);
}

/* All that wait in the same call as this one, unless they were told with one before it. */
static void put_alike(FILE *out, const struct graph *g, const size_t *all, size_t count, size_t first, size_t *which)
{
	const struct party *p = &g->parties[all[first]];
	size_t alike = 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(g->parties[all[i]].event, p->event))
			continue;
		if (i < first)
			return;
		which[alike++] = all[i];
	}
	fputs(first ? "; " : "", out);
	put_names(out, g, which, alike, "and");
	fprintf(out, " wait%s in %s", alike == 1 ? "s" : "", p->event);
	put_place(out, p);
}

/* All ranks wait for messages, or for what they have begun before, some of them for nobody knows what: none is left to
 * begin anything. */
static void look_at_all_waiting(struct graph *g, size_t *which)
{
	size_t *all = calloc(g->count + 1, sizeof(*all)), count = 0;
	struct diagnosis *finding;
	bool unknown = false;
	FILE *out;

	g->failed |= !all;
	for (size_t i = 0; all && i < g->count; i++) {
		const struct party *p = &g->parties[i];

		if (p->left || p->helper || p->rank < 0)
			continue;
		if (!p->stands_for_rank || !p->waits || !p->in_vain ||
		    !(p->for_message || p->role == ROLE_SEND || p->role == ROLE_RECV)) {
			free(all);
			return;
		}
		unknown |= p->for_message;
		all[count++] = i;
	}
	finding = unknown ? add_finding(g, FINDING_DEADLOCK, all, count, count) : NULL;
	if (finding)
		finding->likely = true;
	out = begin_text(finding);
	if (out) {
		fprintf(out, "deadlock (likely) of %zu: ", count);
		for (size_t i = 0; i < count; i++)
			put_alike(out, g, all, count, i, which);
		fprintf(out,
			"; no %s is left to send or receive anything else: only a message that is on its way already "
			"could end it",
			g->unit);
		fclose(out);
	}
	free(all);
}

/* Most ranks wait for somebody, in the same call as the first of them, and some do not wait at all. */
static void look_at_few(struct graph *g, size_t first, size_t *which)
{
	const struct party *p = &g->parties[first];
	size_t waiting = 0, count;
	struct diagnosis *finding;
	FILE *out;

	for (size_t i = 0; i < g->count; i++) {
		const struct party *other = &g->parties[i];

		if (!other->by_another || strcmp(other->event, p->event))
			continue;
		if (i < first)
			return; /* told */
		which[waiting++] = i;
	}
	count = waiting;
	for (size_t i = 0; i < g->count; i++)
		if (g->parties[i].stands_for_rank && (!g->parties[i].waits || g->parties[i].role == ROLE_EXIT))
			which[count++] = i;
	if (count == waiting || count - waiting > waiting)
		return;
	finding = add_finding(g, FINDING_ABSENT, which, count, waiting);
	if (finding)
		finding->likely = true;
	out = begin_text(finding);
	if (!out)
		return;
	put_names(out, g, which, waiting, "and");
	fprintf(out, " wait%s in %s", waiting == 1 ? "s" : "", p->event);
	put_place(out, p);
	fprintf(out, ", for whom is not known; %zu of %ld %s not wait: ", count - waiting, g->ranks,
		count - waiting == 1 ? "does" : "do");
	put_absents(out, g, p, which + waiting, count - waiting);
	fclose(out);
}

void look_at_unknown(struct graph *g, size_t *which)
{
	if (!sees_all_ranks(g))
		return;
	look_at_one_sided(g, ROLE_SEND, which);
	if (!g->failed)
		look_at_one_sided(g, ROLE_RECV, which);
	if (!g->failed)
		look_at_all_waiting(g, which);
	for (size_t i = 0; !g->failed && i < g->count; i++)
		if (g->parties[i].by_another)
			look_at_few(g, i, which);
}
