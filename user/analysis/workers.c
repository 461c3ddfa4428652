/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workers.c - threads that are a runtime's own, and what they do where no call of theirs was seen.
 *
 * The program's own threads work where they are in no observed call. A worker does not: a runtime made it for regions
 * in which several threads take part (MARK_TEAM). It is in its share of a region (MARK_SHARE), or it waits: for the
 * others at the end of the region, and for the next region. So what lies between two shares of a worker is waiting.
 *
 * Which thread is a worker is told by its outermost calls: the share of the thread that began a region lies inside that
 * call, a worker's share in none.
 *
 * Some shares are not seen: those of the first region with a function that had no probe then, and of regions that had
 * begun before. A region in which not even the one who began it had a share that was seen is such a one. In its time,
 * before a worker's first share and after its last one (it may not have been there) it was not seen what it did. Of a
 * worker without any share seen that is all of its time; but where there was one region alone, it is within its share
 * from the first of its calls to the last.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/deeds.h"
#include "analysis/profile_data.h"
#include "util/array.h"

#define REGIONS_MOST 4096 /* of a process, kept apart; the rest become one with the last */

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static int keep_unseen(struct team_regions *regions, const struct span *span)
{
	struct time_range *last = regions->nunseen ? &regions->unseen[regions->nunseen - 1] : NULL;

	if (regions->nunseen == REGIONS_MOST) {
		if (span->end > last->end)
			last->end = span->end;
		return 0;
	}
	if (array_one_more(&regions->unseen, &regions->room, regions->nunseen, sizeof(*regions->unseen)))
		return -ENOMEM;
	regions->unseen[regions->nunseen++] = (struct time_range){ span->start, span->end };
	return 0;
}

int workers_note_region(struct profile *p, const struct definitions *d, const struct span *span, bool seen,
			uint64_t self)
{
	uint32_t process = d->threads[span->thread].process, image = d->probes[span->probe].image;
	struct team_regions *regions;

	if (array_reach(&p->regions, &p->nregions, (size_t)process + 1, sizeof(*p->regions)))
		return -ENOMEM;
	regions = &p->regions[process];
	if (!regions->count++ || span->start < regions->first)
		regions->first = span->start;
	regions->waited += seen ? self : 0;
	if (seen || (image != NO_INDEX && image == p->tells_shares))
		return 0;
	return keep_unseen(regions, span);
}

/*
 * Where calls may overlap in any way, those inside others come as outermost ones, too, and before them: a share inside
 * a share, and a region that the thread begins in its share of another one. Such a region is not held against it once
 * the share around it has come, however many shares of regions like it have come in between.
 */
static void note_begun(struct team_part *part, uint64_t start)
{
	if (!part->begins || start < part->begun)
		part->begun = start;
	part->begins = true;
}

static int note_share(struct team_part *part, const struct nesting *nesting, const struct span *span, uint64_t duration)
{
	uint64_t group[GROUPS] = { 0 }, fresh = duration;

	part->begins &= part->begun < span->start;
	if (nesting->stacked && covered_add(&part->covered, span->start, span->end, &fresh))
		return -ENOMEM;
	part->in_shares += fresh;
	if (part->shares && part->from <= span->start)
		return 0;
	part->shares = true;
	part->from = span->start;
	nesting_groups(nesting, group);
	part->before = less(sum_groups(group), duration);
	return 0;
}

int workers_note_outermost(struct profiled_thread *t, const struct probe_facts *facts, const struct span *span,
			   uint64_t duration)
{
	t->team.calls = true;
	if (facts->is.share)
		return note_share(&t->team, &t->nesting, span, duration);
	if (facts->is.team)
		note_begun(&t->team, span->start);
	return 0;
}

void workers_free(struct profile *p)
{
	for (size_t i = 0; i < p->nregions; i++)
		free(p->regions[i].unseen);
	free(p->regions);
}

/* ns of regions without a share that was seen, between these times. */
static uint64_t unseen_between(const struct team_regions *regions, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < regions->nunseen; i++) {
		uint64_t start = regions->unseen[i].start > from ? regions->unseen[i].start : from;
		uint64_t end = regions->unseen[i].end < to ? regions->unseen[i].end : to;

		sum += less(end, start);
	}
	return sum;
}

/* From its first share to its last call it waits where it is in no call, but for regions that were not seen. */
static void divide_worker(struct report_thread *row, const struct profiled_thread *t,
			  const struct team_regions *regions, uint64_t inside)
{
	uint64_t calls = less(inside, t->team.before);
	uint64_t unseen = less(unseen_between(regions, t->team.from, t->last), less(calls, t->team.in_shares));
	uint64_t idle = less(t->last - t->team.from, calls + unseen);

	row->idle = idle < row->outside ? idle : row->outside;
	row->unseen = row->outside - row->idle;
	row->outside = 0;
}

/* No share of it was seen. */
static void divide_unseen(struct report_thread *row, const struct profiled_thread *t,
			  const struct team_regions *regions, uint64_t inside)
{
	bool one = !regions->count || (regions->count == 1 && t->first >= regions->first);
	uint64_t work = one ? less(t->last - t->first, inside) : 0;

	work = work < row->outside ? work : row->outside;
	row->unseen = row->outside - work;
	row->outside = work;
}

static bool is_worker(const struct report *r, uint32_t process, uint32_t thread)
{
	const struct team_part *team = &r->profile->threads[thread].team;
	bool first = process < r->d->nprocesses && r->d->processes[process].pid == r->d->threads[thread].tid;

	return !first && !team->begins && team->calls;
}

void workers_divide(const struct report *r, struct report_thread *row, const struct profiled_thread *t, uint64_t inside)
{
	static const struct team_regions none;
	const struct profile *p = r->profile;
	const struct team_regions *regions = row->process < p->nregions ? &p->regions[row->process] : &none;

	if (!is_worker(r, row->process, row->thread))
		return;
	if (t->team.shares)
		divide_worker(row, t, regions, inside);
	else
		divide_unseen(row, t, regions, inside);
}

void workers_forget_idle(const struct report *r, struct deed *deed)
{
	uint32_t thread = deed->thread;

	if (deed->doing == DOING_WORK && deed->inside == NO_INDEX && thread < r->profile->nthreads &&
	    r->profile->threads[thread].team.shares && is_worker(r, r->d->threads[thread].process, thread))
		*deed = deed_unknown(thread);
}
