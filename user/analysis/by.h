/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * by.h - all calls summed up by what the user wants: what by.c and by_print.c share. Private to user/analysis/by*.c.
 */
#ifndef GASPBPF_ANALYSIS_BY_H
#define GASPBPF_ANALYSIS_BY_H

#include "analysis/analysis.h"
#include "analysis/grouping.h"

#define BY_UNKNOWN UINT64_MAX      /* of a key: which one is not known */
#define BY_NONE (UINT64_MAX - 1)   /* it is none: in no phase */
#define BY_NOBODY (UINT64_MAX - 2) /* a peer that stands for nobody */
#define BY_FUNCTION (1ull << 32)   /* a line: that is no site, but the function of this probe */

/* All times ns. */
struct by_sums {
	uint64_t calls, total, self;
	uint64_t bytes, known_bytes, unknown_bytes; /* the last two: calls */
	bool timed, estimated;
};

/* What one thread has of a group. */
struct by_member {
	uint32_t group, thread;
	struct inclusive inclusive;
	struct by_sums sums;
};

struct by_group {
	uint64_t key[GROUPING_MOST];  /* by grouping.by: an index of the definitions, an event, a rank, ... */
	uint64_t self[GROUPING_MOST]; /* ns: of all groups that begin with the same keys, so many + 1 of them */
	struct by_sums sums;
	/* At the end: the processes that have any of it, and who of them has the least and the most self time. */
	uint32_t processes, least_process, most_process;
	uint64_t least, most;
};

struct by {
	const struct report *r;
	struct grouping grouping;
	bool by_calls; /* the calls were read once more; else these are the sums that the report has */
	struct by_group *groups;
	size_t ngroups, groups_room;
	struct index group_index;
	struct by_member *members;
	size_t nmembers, members_room;
	struct index member_index;
	uint32_t *lines;             /* by site: the first of the same line */
	uint32_t *functions;         /* by probe: of shares of regions, the first of the same function; else NO_INDEX */
	void *locks, *communication; /* states of these analyses, which know what calls name */
	struct by_sums others;       /* calls that have no lock or no peer */
	struct by_sums beyond;       /* calls for which there was no room */
};

/* by_labels.c: what the key means, for people. Into text, which is returned. */
char *by_label(const struct by *s, enum grouped_by by, uint64_t key, char *text, size_t room);

/* by_print.c */
void by_print(void *state, const struct printer *p);
void by_put(void *state, const struct report *r, struct json *j);

#endif
