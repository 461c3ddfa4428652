/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * account.h - the door of user/account: which event a call is of, and whose its time is.
 *
 * Everybody who sums up calls asks here: the report, top, the flight recorder's triggers and the monitor. So that a
 * call is of the same event, and its time goes to the same group, wherever it is told of.
 */
#ifndef GASPBPF_ACCOUNT_H
#define GASPBPF_ACCOUNT_H

#include "recording/recording.h"
#include "util/covered.h"

/* --- groups: what the time of a call is for (groups.c) -------------------- */

enum group {
	GROUP_COMPUTE, /* in no observed call */
	GROUP_BARRIER,
	GROUP_WAIT,
	GROUP_LOCK,
	GROUP_DATA,
	GROUP_COLLECTIVE,
	GROUP_TASK,
	GROUP_ALLOC,
	GROUP_IO,
	GROUP_OTHER, /* in observed calls of other roles */
	GROUPS
};

/* Of a role; never GROUP_COMPUTE. */
enum group group_of_role(enum role role);
/* "compute", "barrier", ... */
const char *group_name(enum group group);
/* Bit i: role i is in the group. */
uint64_t group_roles(enum group group);
/* Bit i: who makes a call of role i waits in it for others to come, to let go or to be done. */
uint64_t roles_that_wait(void);
/* Is all time inside its calls the group's, whatever they are built from? Else they are looked into: tasks, functions
 * of the program. */
static inline bool group_is_opaque(enum group group)
{
	return group != GROUP_TASK && group != GROUP_OTHER && group != GROUP_COMPUTE;
}

/* --- events (events.c) ---------------------------------------------------- */

/* Calls of one name and model are one event, by whatever function they were made. */
struct event_key {
	const char *event;
	const char *model;
	const char *function; /* where each function is an event of its own (MARK_EACH); else NULL */
	bool inner;           /* calls that the runtime makes to itself are another event than the program's */
};

/* The events that are known, numbered from 0 on. Zero: none. */
struct event_names {
	struct event_name *by_key; /* uthash */
	uint32_t count;
};

/* inner: its inner calls. What it points to is the definition's. */
struct event_key event_key_of(const struct def_probe *probe, bool inner);
/* The number of the event: names->count before the call, if it was not known. NO_INDEX: out of memory. */
uint32_t event_names_number(struct event_names *names, const struct event_key *key);
void event_names_free(struct event_names *names);

/* --- probes (probe.c) ----------------------------------------------------- */

/* What every sum over calls needs of a probe, worked out once. */
struct accounted_probe {
	uint32_t event;   /* of event_names */
	uint32_t runtime; /* a number for its model */
	uint8_t group;    /* enum group */
	bool opaque;      /* all time inside is this group's */
	bool inner;       /* calls that the runtime makes to itself */
	bool team, share; /* MARK_TEAM, MARK_SHARE */
	bool stacked; /* threads change stacks within calls of some probe: these overlap in any way, all at depth 0 */
	struct payload_plan *payload; /* NULL: its calls move nothing */
};

/* 0 or -ENOMEM; accounted_probe_free() after either. */
int account_probe(struct accounted_probe *probe, struct event_names *names, const struct definitions *d,
		  uint32_t index);
void accounted_probe_free(struct accounted_probe *probe);
/* Which of its values has this meaning; -1: none. */
int32_t probe_value(const struct def_probe *probe, enum meaning meaning);

/* --- time: of one thread, whose calls come in the order of their ends (nesting.c) --- */

struct finished_calls;

/* Zero: no call yet. */
struct nesting {
	struct finished_calls *finished; /* a stack: those whose surrounding call may still be in progress */
	size_t nfinished, room;
	uint32_t epoch;  /* gaps so far */
	uint64_t order;  /* calls so far */
	uint64_t *ended; /* by depth: `order` when a call of it last ended */
	size_t depths;
	uint64_t group[GROUPS]; /* ns: of calls that no call in progress contains */
	bool shares;            /* has had shares of regions: */
	uint64_t share;         /* ns: when the last of them to end began */
	bool shared;            /* one was inside the call that was added last */
	struct {
		bool leaf; /* it contained none: all its time is `time`, of `kind`; else see `group` */
		enum group kind;
		uint64_t time, group[GROUPS];
	} latest;               /* the call that was added last, with all inside */
	bool stacked;           /* its calls may overlap in any way: */
	struct covered covered; /* when any outermost call was in progress */
};

/* A call, or the part of it that is to be accounted for. */
struct nested_call {
	uint64_t begin;      /* ns: when the call began; what lies inside began later */
	uint64_t start, end; /* ns: the part */
	uint64_t duration;   /* ns: of the part; may be shorter, where the probe's own time is taken off */
	uint32_t depth;
};

/* Calls come with those inside first. *self: ns of it that no call inside has had. 0 or -ENOMEM. */
int nesting_add(struct nesting *nesting, const struct accounted_probe *probe, const struct nested_call *call,
		uint64_t *self);
/* Calls were lost here: they may have contained some that came before. */
void nesting_gap(struct nesting *nesting);
/* Adds the time by group up to now to group[], also of calls whose surrounding call has not ended. */
void nesting_groups(const struct nesting *nesting, uint64_t group[GROUPS]);
/* What the call that was added last, with those inside, has added to that. */
void nesting_latest(const struct nesting *nesting, uint64_t group[GROUPS]);
/* No call around what was added comes any more: all begins anew. */
void nesting_restart(struct nesting *nesting);
void nesting_free(struct nesting *nesting);
void add_groups(uint64_t to[GROUPS], const uint64_t from[GROUPS]);

/* --- inclusive time: of one event on one thread (inclusive.c) -------------- */

struct call_run;

/* Zero: no call yet. */
struct inclusive {
	uint32_t nruns, room;
	struct call_run *runs;
	struct covered covered; /* where calls overlap in any way: when one of these was in progress */
};

/*
 * A call that nesting_add() has just taken. *own: ns by which the event's total grows; a call inside one of the same
 * event is not counted again. 0 or -ENOMEM.
 */
int inclusive_add(struct inclusive *inclusive, const struct nesting *nesting, const struct nested_call *call,
		  uint64_t *own);
void inclusive_free(struct inclusive *inclusive);

#endif
