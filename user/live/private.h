/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of user/live share.
 */
#ifndef GASPBPF_LIVE_PRIVATE_H
#define GASPBPF_LIVE_PRIVATE_H

#include <uthash.h>

#include "live/live.h"
#include "meaning/value.h"

/* What is needed of a probe for every call, worked out once. */
struct live_probe {
	struct accounted_probe is;
	bool ready;
	bool ranks;     /* of a runtime whose threads are the ranks of a job */
	bool meets;     /* threads meet in it */
	int32_t object; /* index of the value that says which barrier or communicator; -1: none */
	bool comm;      /* it is a communicator */
	int32_t lock;   /* index of the value that is the lock; -1: none */
};

struct live_state {
	struct live_thread is;
	uint64_t since;           /* ns; from when on it is observed */
	uint64_t cost;            /* ns; as the capture told it last */
	struct nesting nesting;   /* of the interval that is open */
	uint64_t missing[GROUPS]; /* ns of it, estimated: calls that became no span */
	struct live_figures open; /* the interval that is open */
	uint32_t *by_event;       /* by event: place in is.events, plus 1 */
	size_t nby_event, events_room;
	size_t first_call, ncalls; /* of live.calls: those in progress */
	bool alive;                /* the capture has it */
	bool rest;                 /* calls of it end after the look */
	bool begins, shares;       /* regions of a team: it has begun some; it has had shares of those of others */
};

/* A call in progress as it was seen. */
struct live_open {
	struct span span;
	bool ended; /* its span has come since */
};

struct live_process {
	bool seen;
	struct live_figures now, all;
	struct live_figures ended; /* since the start, of threads that have ended */
	struct live_event *events; /* likewise, of those that are told of no more; in no order */
	size_t nevents, events_room;
};

struct live {
	struct capture_session *capture;
	const struct definitions *d;
	const struct model_set *models;
	uint64_t began, from, now; /* ns; `from` to `now` is the interval told of */
	uint64_t start;            /* ns; of the interval that is open */
	uint64_t until; /* ns; a look goes on: spans that end later are kept in `later`. UINT64_MAX: none does */

	struct live_probe *probes;
	size_t probes_room, nprobes;
	struct event_names events;
	struct live_state **states;
	size_t nstates, states_room; /* by thread definition; NULL: never met, or over */
	struct live_state **shown;
	size_t nshown, shown_room;
	struct live_process *processes;
	size_t nprocesses, processes_room;
	struct live_open *calls;
	size_t ncalls, calls_room; /* in progress at the look, by thread */
	struct span *later;
	size_t nlater, later_room;
	struct def_sum *sums;
	size_t nsums, sums_room; /* as they were at the last look */
	int err;

	struct team *teams; /* by key */
	struct live_meeting *meetings;
	size_t nmeetings, meetings_room;
	bool by_parent;     /* there are several jobs: ranks are those of one parent */
	struct lock *locks; /* by key */
	struct live_lock *waited;
	size_t nwaited, waited_room;
};

/* The number of value `index` of a call; false: unknown. */
bool live_value(const struct live *live, const struct span *span, int32_t index, int64_t *number);
/* live.probes[probe], worked out; NULL: out of memory. */
const struct live_probe *live_learn(struct live *live, uint32_t probe);

/* account.c */
/* The thread's state, a new one where there is none; NULL: out of memory. */
struct live_state *live_state_of(struct live *live, uint32_t thread);
void live_free_state(struct live_state *s); /* NULL is fine */
/* The thread's row of an event, which this probe is of; NULL: out of memory. */
struct live_event *live_event_row(struct live_state *s, uint32_t event, uint32_t probe);
/* From here on (ns) it is known what the thread does. */
void live_see(struct live *live, struct live_state *s, uint64_t start);
/* A call, or what there is of it up to the look; ended: it is over. Calls inside it come first. 0 or -ENOMEM. */
int live_account(struct live *live, const struct span *span, bool ended);
/* What only the end of a call tells. 0 or -ENOMEM. */
int live_count(struct live *live, const struct span *span);

/* teams.c: a call of a probe that meets; ended: it has, else it is in progress at the look. 0 or -ENOMEM. */
int teams_take(struct live *live, const struct live_probe *probe, const struct span *span, bool ended);
/* The calls in progress are about to be told. */
void teams_begin_look(struct live *live);
/* All is told. last: no more comes. 0 or -ENOMEM. */
int teams_end_look(struct live *live, bool last);
void teams_free(struct live *live);

/* locks.c: a call that acquires or releases; part: ns of it in the interval; ended as above. 0 or -ENOMEM. */
int locks_take(struct live *live, const struct live_probe *probe, const struct span *span, uint64_t part, bool ended);
void locks_begin_look(struct live *live);
int locks_end_look(struct live *live);
void locks_free(struct live *live);

#endif
