/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * told.h - what several nodes tell of their processes, as one: the second door of user/top, for a job on many nodes.
 *
 * Each node hands over what it sees at each look (told_hand_over()). Who has started them takes that
 * (told_take()), joins the latest of all nodes (told_join()), and shows it by a struct top that has no live.
 *
 * Who came last, and which locks are waited for, is not told: that would be known among the ranks of one node only. But
 * who waits least for the others is known of all (top_line_last()).
 */
#ifndef GASPBPF_TOLD_H
#define GASPBPF_TOLD_H

#include "account/account.h"
#include "top/top.h"
#include "util/buffer.h"

/* One process, in the order of the joined definitions. */
struct told_process {
	bool seen, fresh; /* some call of it was; it is known what it does now */
	struct live_figures now, all;
	struct live_call in;       /* probe: of the joined definitions */
	struct live_event *events; /* likewise; where calls come from is not told */
	size_t nevents;
	bool has_earlier;
	struct top_earlier earlier;
};

/* A node, as it is shown. */
struct told_node {
	const char *name;
	struct buffer look;  /* what it has told last; nothing: not yet */
	uint64_t looks;      /* how many it has told */
	const char *trouble; /* why it is not known what it sees now; NULL: it is */
};

struct top_told {
	struct definitions d;
	struct event_names names;       /* the number of each is its probe's in d */
	struct told_process *processes; /* as many as d has */
	size_t room, threads, alive;
	uint64_t now, interval, since; /* ns */
	uint64_t spans, lost, summed, skipped;
	uint64_t cpu; /* of gaspbpf on all nodes: 1/1000 of one CPU */
	struct told_node *nodes;
	size_t nnodes;
};

/* The look of this node, as bytes. */
void told_hand_over(struct buffer *bytes, const struct top *top);
/* Takes whole looks out of what a node has handed over; the last one counts. False: there was none. */
bool told_take(struct told_node *node, struct buffer *handed);
/* Joins the looks of told->nodes. One that is not whole becomes its node's trouble. 0 or -ENOMEM. */
int told_join(struct top_told *told);
/* Points top to it, with what it says of all. */
void told_show(struct top *top, const struct top_told *told);
void told_free(struct top_told *told);

#endif
