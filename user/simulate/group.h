/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - what group.c and participants.c share. Private to user/simulate.
 */
#ifndef GASPBPF_SIMULATE_GROUP_H
#define GASPBPF_SIMULATE_GROUP_H

#include <uthash.h>

#include "recording/communicators.h"
#include "recording/job_ranks.h"
#include "simulate/made.h"
#include "simulate/parts.h"

#define FIRST_INSTANCES 16 /* of a group: a power of two */
#define FIRSTS 32          /* operations of a member by which members are aligned */
#define PLACES_MOST (1u << 20)
#define RECENT_COMMS 32 /* a power of two */

enum scope { SCOPE_COMM, SCOPE_OBJECT, SCOPE_NONE };

/* What an operation says about its group, and who says it. Compared as bytes: no padding. */
struct place_key {
	uint32_t scope, model;
	uint64_t value; /* of the communicator or object; where there is none, the function; made.c: one of ours */
	uint32_t process, thread;
};

struct first {
	uint64_t start, end;
	uint32_t func;
};

/* All operations of one thread that say the same. */
struct place {
	UT_hash_handle hh;
	struct place_key key;
	uint64_t value;                 /* key.value, or that of the communicator that it turned out to be */
	const struct def_comm *members; /* of the communicator; NULL: not told */
	uint64_t count;
	int64_t self;   /* rank in the communicator; -1: not told */
	bool ambiguous; /* some of its operations may be in other places */
	bool by_handle; /* nothing is known of its communicator but a handle, which is another one elsewhere */
	struct group *group;
	uint32_t team; /* of places that say nothing: which one (participants.c) */
	unsigned member;
	unsigned nfirsts;
	struct first *firsts;
};

struct member {
	uint32_t process, thread; /* thread NO_INDEX: all of the process */
	unsigned seat;            /* its index before members were sorted */
	int64_t self;             /* rank in the group; -1: unknown */
	uint64_t count;           /* operations in the recording */
	uint64_t skip;            /* of those, before the first that all have */
	uint64_t next;            /* fed so far */
	unsigned nfirsts;
	struct first firsts[FIRSTS];
};

struct group {
	struct group *next;
	uint64_t number;
	struct place_key key; /* process and thread only where the group is within one process */
	struct member *members;
	unsigned *seats; /* where each is now that was there before they were sorted; NULL but then */
	size_t nmembers, members_room;
	bool reliable;
	bool ranked;       /* self is set for all members */
	uint64_t complete; /* instances that all members have */
	uint64_t size;     /* members, as the communicator has them; 0: not told */
	/* In progress, by number: `room` is a power of two, the n-th is at n & (room - 1). NULL: there is none. */
	struct instance **instances;
	uint64_t first, beyond; /* all have numbers from the one on to before the other */
	size_t room;
	uint32_t comm; /* number for plug-ins; CPF_NONE: none */
};

struct groups {
	struct place *places; /* uthash */
	struct group *list;
	struct job_ranks *ranks;
	struct comm {
		UT_hash_handle hh;
		struct place_key key; /* thread and process 0 */
		uint32_t number;
		const char *name;    /* NULL: none */
		struct group *group; /* NULL: no operation of all of it was seen */
	} * comms;
	struct comm **comm_numbers; /* by number */
	const char **comm_names;
	size_t ncomms, comms_room;
	struct comm_index *index;
	struct made_comms made;
	struct place **last; /* by thread: the place of its last operation */
	struct named {       /* by thread: what it named last, and whether that is a handle only (made.h) */
		uint64_t value;
		bool known, by_handle;
	} * named;
	bool whole;          /* the first reading was done */
	bool posts;          /* the first reading has told more than this (posts_note()): it cannot be left out */
	uint64_t slow_sends; /* ns of sends that took long (posts_send_is_slow()) */
	struct recent {      /* communicators, by a few bits of their values */
		uint64_t value;
		uint32_t model;
		struct comm *comm; /* NULL: none */
	} recent[RECENT_COMMS];
};

/*
 * The value of a communicator: its number and, as the two halves of a split have one number, its first member's rank in
 * the job, where that is told and not 0.
 */
#define COMM_NUMBER(value) ((uint32_t)(value))
#define COMM_FIRST(value) ((value) >> 32)

/* participants.c: makes groups of the places that the first reading found. 0 or -ENOMEM. */
int members_find(struct sim *sim);

#endif
