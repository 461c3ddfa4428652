/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waitgraph.h - the door of user/waitgraph: who waits for whom, and whether anybody of them can ever go on.
 *
 * A party is a thread that waits, or a rank that could be waited for. From what each of them waits for follow edges: to
 * who holds its lock, to the peer of its message, to all that have not come to its barrier. A party waits for all it
 * has edges to, so a way round along edges is a deadlock: none of those on it can go on. Who may be woken by somebody
 * not known has no edge.
 */
#ifndef GASPBPF_WAITGRAPH_H
#define GASPBPF_WAITGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "meaning/meaning.h"

#define WAITS_NOBODY (-1)

struct party {
	/* Who it is. */
	pid_t pid, tid;       /* 0: a rank that is not there */
	long rank;            /* -1: none */
	const char *label;    /* "rank 2", "worker-1 (tid 4711)" */
	bool stands_for_rank; /* edges to its rank lead here */
	bool helper;          /* a thread that a library has started for itself */
	bool left;            /* the rank has ended */
	bool elsewhere;       /* the rank is not among those looked at: it may have ended, or run on another machine */
	/* Where it is. */
	char stopped;      /* 'T': by a signal, 't': by a debugger, it does not run until somebody lets it; else 0 */
	bool uncaught;     /* its stack is not known */
	bool waits;        /* in a call, and not moving */
	const char *event; /* of that call; NULL: in none that is known */
	enum role role;
	const char *place; /* "ring.c:33 in exchange"; NULL: unknown */
	/* For what it waits. */
	uint64_t lock;         /* address; 0: none */
	const char *lock_name; /* NULL: its address is its name */
	uint64_t lock_key;     /* the same for all that mean the same lock; 0: `lock` is */
	pid_t holder;          /* thread that has it; 0: not known */
	bool rank_holds;       /* this rank has it, and `holder` says nothing */
	long holder_rank;
	bool joins;       /* `holder` is a thread whose end it waits for */
	long peer;        /* rank of the job that its message comes from or goes to; WAITS_NOBODY */
	bool likely;      /* ... which is not certain */
	bool by_another;  /* only another rank can end it, and which one is not known */
	bool for_message; /* what it waits for is a message that it expects, or an operation that it has begun before */
	bool in_vain;     /* one and the same call, and it has slept in it all the time, or run for long */
	bool gathers;     /* a barrier or collective operation of a group */
	const char *meeting; /* the same for all operations that meet each other; NULL: `event` is */
	bool split;          /* it has come to the meeting before, by another call, and waits for the rest of it */
	bool has_group;      /* of this group; else of one that is not known */
	uint64_t group;
	const int64_t *members; /* ranks of the group; NULL: all of the job */
	size_t nmembers;
	uint64_t barrier;  /* address of a barrier of threads; 0: none */
	unsigned come, of; /* threads that have come to it, and that it needs; `of` 0: not known */
};

enum finding_kind {
	FINDING_STOPPED,  /* these do not run, whatever they wait for */
	FINDING_DEADLOCK, /* these wait for each other */
	FINDING_LEFT,     /* some wait for who has left the program */
	FINDING_ABSENT,   /* some have come to a barrier, others have not */
	FINDING_HELD,     /* a lock that others wait for is held by who does not wait */
	FINDING_LOCK,     /* ranks wait for a lock, and who has it is not known */
	FINDING_KINDS
};

struct diagnosis {
	enum finding_kind kind;
	char *text;      /* one sentence */
	size_t length;   /* of it */
	size_t *parties; /* indices: who is meant; first those that wait */
	size_t nparties, nwaiting;
	bool likely; /* rests on something that is likely only */
};

struct findings {
	struct diagnosis *list;
	size_t count, room;
};

/* The most telling first. unit: what ranks are called; ranks: of the job, 0: not known. 0 or -ENOMEM. */
int waits_find(const struct party *parties, size_t count, const char *unit, long ranks, struct findings *findings);
void findings_free(struct findings *findings);
const char *finding_name(enum finding_kind kind);

struct json;
/* As an object: kind, text, likely; waiting and others, lists of objects that `who` fills, of the party's index. */
void diagnosis_put(struct json *json, const struct diagnosis *finding,
		   void (*who)(struct json *json, const void *context, size_t party), const void *context);

/* --- locks and barriers of threads (lock.c) ------------------------------- */

/* Reads the memory of the process that waits. */
typedef bool (*waits_read)(void *context, uint64_t address, void *bytes, size_t size);

struct lock_state {
	uint64_t address; /* of the object; 0: it is none that is known */
	bool certain;     /* the address is */
	bool is_barrier;
	pid_t holder; /* as the object has it, in the numbers of the process's own PID namespace; 0: nobody, or it does
			 not say */
	unsigned come, of; /* a barrier: threads that wait at it, and that it needs; `of` 0: not known */
};

/*
 * What a thread waits for that is in a function with this prototype ("int pthread_mutex_lock(pthread_mutex_t *mutex)").
 * futex: the address at which it sleeps in the kernel, 0: it does not; argument: the function's first one, by `known`
 * and `certain`.
 */
struct lock_state lock_read(const char *prototype, uint64_t futex, uint64_t argument, bool known, bool certain,
			    waits_read read, void *context);

/* --- locks of ranks (queue.c) --------------------------------------------- */

/* What one rank has at the lock's address. */
struct rank_word {
	bool known;
	bool waits; /* it is known to wait for the lock */
	uint64_t word;
};

/* Which rank has a lock of this layout (model->locks_layout); WAITS_NOBODY: nobody, or it cannot be told. *likely: it
 * is not certain. */
long lock_rank_holder(const char *layout, const struct rank_word *words, size_t ranks, bool *likely);

#endif
