/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grouping.h - by what calls are summed up: gaspbpf report --by. Private to user/analysis.
 */
#ifndef GASPBPF_ANALYSIS_GROUPING_H
#define GASPBPF_ANALYSIS_GROUPING_H

enum grouped_by { BY_THREAD, BY_RANK, BY_NODE, BY_EVENT, BY_LINE, BY_LOCK, BY_PEER, BY_PHASE, GROUPED_BYS };

#define GROUPING_MOST 4

/* One inside the other, the first outermost. */
struct grouping {
	enum grouped_by by[GROUPING_MOST];
	unsigned count;
};

/* "thread", "rank", ... */
const char *grouped_by_name(enum grouped_by by);
/* "rank,event": each name once. 0 or -EINVAL. */
int grouping_parse(struct grouping *grouping, const char *text);

#endif
