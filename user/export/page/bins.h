/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bins.h - the short calls of one lane, by time. Private to user/export/page.
 *
 * Calls come in the order of their starts, and those of a lane nest. So one bin at a time is open, and what is known of
 * it goes into the lane's heap as soon as a call begins behind it.
 */
#ifndef GASPBPF_EXPORT_PAGE_BINS_H
#define GASPBPF_EXPORT_PAGE_BINS_H

#include "export/page/page.h"

#define PAGE_GROUPS 8 /* groups of the report, at most */

struct event_time {
	uint32_t event;
	uint64_t time; /* ns */
};

struct lane_bins {
	struct heap heap;
	uint32_t bin;                 /* the open one */
	uint64_t bin_end;             /* ns: where the next one begins; 0: none is open */
	uint32_t next;                /* the first of which nothing is in the heap */
	uint64_t count;               /* of the open bin: calls that begin in it */
	uint64_t groups[PAGE_GROUPS]; /* ns of it */
	struct event_time *events;
	size_t nevents, room;
	uint64_t told, end;    /* ns: up to where the time of the latest call is in bins, and when it ends */
	uint32_t event, group; /* its */
};

/* Whose the bins of a lane are. */
struct bin_times {
	uint64_t start, length; /* ns: of all */
	uint32_t nbins;
	struct spool *spool;
};

struct short_call {
	uint64_t start, end; /* ns */
	uint32_t event, group;
};

/* 0 or -errno, as spool_room(). */
int bins_add(struct lane_bins *bins, const struct bin_times *times, const struct short_call *call);
/* No more calls come. */
int bins_end(struct lane_bins *bins, const struct bin_times *times);
void bins_free(struct lane_bins *bins);

#endif
