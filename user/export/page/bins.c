/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bins.c - the short calls of one lane, by time.
 *
 * A call counts in the bin that it begins in. Its time is in all the bins that it lies in, but for calls inside another
 * short call, whose time that one has already. What lies before the first bin or behind the last is in these.
 */
#include "export/page/bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define SHARE_MOST 255 /* all of a bin's time */

static uint32_t bin_of(const struct bin_times *times, uint64_t time)
{
	uint64_t since = time > times->start ? time - times->start : 0;

	if (since >= times->length)
		return times->nbins - 1;
	return (unsigned __int128)since * times->nbins / times->length;
}

/* The first ns of it. */
static uint64_t begin_of(const struct bin_times *times, uint32_t bin)
{
	return times->start + (uint64_t)(((unsigned __int128)times->length * bin + times->nbins - 1) / times->nbins);
}

/* The last bin has all that comes. */
static uint64_t end_of(const struct bin_times *times, uint32_t bin)
{
	return bin + 1 < times->nbins ? begin_of(times, bin + 1) : UINT64_MAX;
}

static int add_event_time(struct lane_bins *b, uint32_t event, uint64_t time)
{
	for (size_t i = 0; i < b->nevents; i++) {
		if (b->events[i].event == event) {
			b->events[i].time += time;
			return 0;
		}
	}
	if (array_one_more(&b->events, &b->room, b->nevents, sizeof(*b->events)))
		return -ENOMEM;
	b->events[b->nevents++] = (struct event_time){ event, time };
	return 0;
}

/* Of the latest call, what lies in the open bin. */
static int add_time(struct lane_bins *b)
{
	uint64_t until = b->bin_end < b->end ? b->bin_end : b->end, time;

	if (until <= b->told)
		return 0;
	time = until - b->told;
	b->told = until;
	b->groups[b->group] += time;
	return add_event_time(b, b->event, time);
}

static uint32_t longest_event(const struct lane_bins *b)
{
	size_t longest = 0;

	for (size_t i = 1; i < b->nevents; i++)
		if (b->events[i].time > b->events[longest].time)
			longest = i;
	return b->nevents ? b->events[longest].event : b->event;
}

static unsigned share_of_bin(const struct lane_bins *b, const struct bin_times *times, uint64_t time)
{
	uint64_t length = begin_of(times, b->bin + 1) - begin_of(times, b->bin);
	double share = length ? (double)time / length * SHARE_MOST + 0.5 : SHARE_MOST;

	return share < 1 ? 1 : share > SHARE_MOST ? SHARE_MOST : (unsigned)share;
}

/* Of the open bin, if it has anything. */
static int put_bin(struct lane_bins *b, const struct bin_times *times)
{
	struct buffer *piece;
	uint8_t shares[1 + 2 * PAGE_GROUPS] = { 0 };
	int error;

	if (!b->count && !b->nevents)
		return 0;
	error = spool_room(times->spool, &b->heap, &piece);
	if (error)
		return error;
	for (unsigned i = 0; i < PAGE_GROUPS; i++) {
		if (!b->groups[i])
			continue;
		shares[1 + 2 * shares[0]] = i;
		shares[2 + 2 * shares[0]] = share_of_bin(b, times, b->groups[i]);
		shares[0]++;
	}
	buffer_put_varint(piece, b->bin - b->next);
	buffer_put_varint(piece, b->count);
	buffer_put_varint(piece, longest_event(b));
	buffer_put(piece, shares, 1 + 2 * shares[0]);
	b->next = b->bin + 1;
	b->count = b->nevents = 0;
	memset(b->groups, 0, sizeof(b->groups));
	return piece->failed ? -ENOMEM : 0;
}

static void open_bin(struct lane_bins *b, const struct bin_times *times, uint32_t bin)
{
	b->bin = bin;
	b->bin_end = end_of(times, bin);
}

/* This bin is the open one: those before it have all that they get. */
static int go_to(struct lane_bins *b, const struct bin_times *times, uint32_t bin)
{
	int error;

	if (!b->bin_end)
		open_bin(b, times, 0);
	error = add_time(b);
	while (b->bin < bin && !error) {
		error = put_bin(b, times);
		open_bin(b, times, b->told < b->end ? b->bin + 1 : bin);
		if (!error)
			error = add_time(b);
	}
	return error;
}

int bins_add(struct lane_bins *b, const struct bin_times *times, const struct short_call *call)
{
	int error = call->start < b->bin_end ? 0 : go_to(b, times, bin_of(times, call->start));

	if (error)
		return error;
	b->count++;
	if (call->start < b->end)
		return 0; /* inside the latest one */
	error = add_time(b);
	b->told = call->start > times->start ? call->start : times->start;
	b->end = call->end;
	b->event = call->event;
	b->group = call->group;
	if (!b->nevents && !error)
		error = add_event_time(b, call->event, 0);
	return error;
}

int bins_end(struct lane_bins *b, const struct bin_times *times)
{
	struct buffer *piece;
	int error = go_to(b, times, times->nbins - 1);

	if (!error)
		error = put_bin(b, times);
	if (!error)
		error = spool_room(times->spool, &b->heap, &piece);
	if (error)
		return error;
	buffer_put_varint(piece, times->nbins - b->next);
	return piece->failed ? -ENOMEM : 0;
}

void bins_free(struct lane_bins *b)
{
	heap_free(&b->heap);
	free(b->events);
}
