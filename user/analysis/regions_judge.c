/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions_judge.c - what becomes of a region that is over: the sums of its place, and of its threads.
 */
#include "analysis/regions.h"

#include <errno.h>
#include <string.h>

#include "util/array.h"

#define REGIONS_MOST 16384
#define MEMBERS_MOST 262144

/* --- the rows ----------------------------------------------------------------- */

int region_number(struct regions *s, uint32_t process, const struct span *span, uint32_t *region)
{
	uint32_t site = span->site < s->nsites ? s->same_site[span->site] : NO_INDEX;
	uint64_t key = index_key(process << 1 | (site == NO_INDEX), site == NO_INDEX ? span->probe : site);
	const struct index_slot *known = index_known(&s->by_place, key);
	struct index_slot *slot;

	*region = known ? known->value : NO_INDEX;
	if (known)
		return 0;
	if (s->nregions == REGIONS_MOST) {
		s->beyond++;
		return 0;
	}
	if (array_one_more(&s->regions, &s->regions_room, s->nregions, sizeof(*s->regions)))
		return -ENOMEM;
	slot = index_find(&s->by_place, key);
	if (!slot)
		return -ENOMEM;
	s->regions[s->nregions] = (struct region){
		.process = process, .site = site, .probe = span->probe, .share = NO_INDEX, .chunk = NO_INDEX
	};
	*region = slot->value = s->nregions++;
	return 0;
}

/* *member: NULL: there are too many. 0 or -ENOMEM. */
static int member_of(struct regions *s, uint32_t region, uint32_t thread, struct region_member **member)
{
	uint64_t key = index_key(region, thread);
	const struct index_slot *known = index_known(&s->by_member, key);
	struct index_slot *slot;

	*member = known ? &s->members[known->value] : NULL;
	if (known || s->nmembers == MEMBERS_MOST)
		return 0;
	if (array_one_more(&s->members, &s->members_room, s->nmembers, sizeof(*s->members)))
		return -ENOMEM;
	slot = index_find(&s->by_member, key);
	if (!slot)
		return -ENOMEM;
	*member = &s->members[s->nmembers];
	**member = (struct region_member){ .region = region, .thread = thread };
	slot->value = s->nmembers++;
	return 0;
}

static void note_worst(struct region *region, const struct done_share *first, uint64_t until)
{
	struct finding_instance one = { first->end, until, first->thread };
	unsigned at = region->nworst;

	while (at && region->worst[at - 1].end - region->worst[at - 1].start < until - first->end)
		at--;
	if (at == REGIONS_WORST)
		return;
	if (region->nworst < REGIONS_WORST)
		region->nworst++;
	memmove(&region->worst[at + 1], &region->worst[at], (region->nworst - 1 - at) * sizeof(one));
	region->worst[at] = one;
}

static uint64_t work_of(const struct done_share *share)
{
	uint64_t lasted = share->end - share->start, waits = share->waits + share->locks;

	return lasted > waits ? lasted - waits : 0;
}

static int add_to_members(struct regions *s, uint32_t region, const struct region_time *time, uint64_t last)
{
	int error = 0;

	for (size_t i = 0; i < time->ndone && !error; i++) {
		const struct done_share *share = &time->done[i];
		struct region_member *member;

		error = member_of(s, region, share->thread, &member);
		if (error || !member)
			continue;
		member->came++;
		member->last += share->end == last;
		member->share += share->end - share->start;
		member->work += work_of(share);
		member->waited += last - share->end;
		member->waits += share->waits;
		member->locks += share->locks;
		member->single += share->single;
		member->chunks += share->chunks;
	}
	return error;
}

/* All of it was seen. */
static int judge(struct regions *s, uint32_t number, const struct region_time *time)
{
	struct region *region = &s->regions[number];
	struct region_sums *sums = &region->sums;
	uint64_t share = 0, longest = 0, work = 0, most_work = 0, n = time->ndone, even;
	const struct done_share *first = &time->done[0], *last = &time->done[0];

	for (size_t i = 0; i < n; i++) {
		const struct done_share *one = &time->done[i];

		share += one->end - one->start;
		work += work_of(one);
		raise_to(&longest, one->end - one->start);
		raise_to(&most_work, work_of(one));
		first = one->end < first->end ? one : first;
		last = one->end > last->end ? one : last;
		sums->waits += one->waits;
		sums->locks += one->locks;
		sums->single += one->single;
		sums->chunks += one->chunks;
		sums->asks += one->asks;
		sums->asking += one->asking;
		region->chunk = one->asks ? one->chunk : region->chunk;
	}
	for (size_t i = 0; i < n; i++)
		sums->waited += last->end - time->done[i].end;
	even = longest - share / n < most_work - work / n ? longest - share / n : most_work - work / n;
	if (!sums->judged++ || n < sums->least_threads)
		sums->least_threads = n;
	raise_to(&sums->most_threads, n);
	sums->lasted += time->lasted;
	sums->shares += n;
	sums->share += share;
	sums->work += work;
	sums->longest += longest;
	sums->mean += share / n;
	sums->most += most_work;
	sums->mean_work += work / n;
	sums->uneven += even;
	sums->overhead += time->lasted > longest ? time->lasted - longest : 0;
	if (last->end > first->end)
		note_worst(region, first, last->end);
	return add_to_members(s, number, time, last->end);
}

int region_account(struct regions *s, uint32_t number, const struct region_time *time)
{
	struct region_sums *sums = &s->regions[number].sums;

	sums->times++;
	sums->time += time->lasted;
	if (!time->whole)
		sums->incomplete++;
	else if (!time->own)
		sums->unseen++;
	else if (time->ndone < 2)
		sums->alone++;
	else
		return judge(s, number, time);
	return 0;
}
