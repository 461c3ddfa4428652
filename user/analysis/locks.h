/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks.h - what the files of the analysis of locks share (locks*.c). Private to user/analysis.
 *
 * A thread *holds* a lock from the end of the call that takes it to the start of the call that gives it back. A call
 * that takes a lock was *contended* if another thread's hold of that lock ended within it: so it was waited for,
 * however long that took. The whole call counts as the wait then. Nothing is said of calls within which no hold ended:
 * they may have been short, or the holder was not seen.
 */
#ifndef GASPBPF_ANALYSIS_LOCKS_H
#define GASPBPF_ANALYSIS_LOCKS_H

#include "analysis/analysis.h"
#include "recording/lock_calls.h"

#define LOCKS_MOST 65536       /* that are told apart; those beyond by their call sites only */
#define LOCK_PARTS_MOST 262144 /* rows of who and where */

/* --- figures of a lock, of a class of locks ------------------------------- */

/* All are sums, but those from WAIT_MAX on, which are maxima. ns where nothing else is said. */
enum lock_figure {
	LOCK_ACQUIRED,     /* calls that took it */
	LOCK_CONTENDED,    /* calls, of these and of those that are not over */
	LOCK_WAIT,         /* in the contended calls */
	LOCK_BEHIND,       /* of that: while another thread held it */
	LOCK_UNCONTENDED,  /* in the other calls that took it */
	LOCK_UNFINISHED,   /* calls: still waiting when the observation, or the thread, ended */
	LOCK_FAILED,       /* calls that did not take it */
	LOCK_FAILED_WAIT,  /* in these */
	LOCK_SPIN,         /* likewise, with the time between one and the same thread's next if that came soon */
	LOCK_HOLDS,        /* that were seen from their start to their end */
	LOCK_HOLD,         /* in these */
	LOCK_RELEASED,     /* times that nobody held it any more */
	LOCK_HANDED,       /* of these: somebody waited already */
	LOCK_HELD,         /* in which some thread held it */
	LOCK_BUSY,         /* in which some thread held it or was in a call to take it */
	LOCK_NESTED,       /* calls that took it again by who had it */
	LOCK_LENT,         /* waits that gave it back meanwhile */
	LOCK_BY_OTHER,     /* times that another thread than the one that took it gave it back */
	LOCK_UNSEEN_START, /* times that it was given back of which it was not seen who had taken it, when */
	LOCK_UNSEEN_END,   /* holds during which calls of the holder were lost, or measurement was off */
	LOCK_HELD_AT_END,  /* holds that were not over when the observation ended */
	LOCK_WAIT_MAX,
	LOCK_HOLD_MAX,
	LOCK_UNCONTENDED_MAX,
	LOCK_HOLDERS, /* threads that held it at one time */
	LOCK_FIGURES
};

struct lock_sums {
	uint64_t of[LOCK_FIGURES];
};

void lock_sums_add(struct lock_sums *to, const struct lock_sums *from);

/* --- who and where ---------------------------------------------------------- */

enum lock_part_kind {
	PART_SITE,   /* a: site of the call that takes the lock */
	PART_THREAD, /* a: thread */
	PART_PAIR    /* thread a held it, taken at site c, while thread b waited at site d */
};

struct lock_part_key {
	uint32_t lock, kind, a, b, c, d;
};

struct lock_part {
	struct lock_part_key key;
	uint64_t acquired, contended, wait, wait_max; /* pair: contended counts holds, wait is the time of the two */
	uint64_t holds, hold, hold_max, failed;
	uint64_t blamed; /* ns that others waited while it was held by this thread, taken at this site */
};

void lock_part_add(struct lock_part *to, const struct lock_part *from);

/* --- locks --------------------------------------------------------------------- */

struct lock_key {
	uint64_t value;
	uint32_t process; /* NO_INDEX: the job's */
	uint32_t job;     /* of the job's: their parent, where there are several jobs; else 0 */
	uint32_t model;   /* the first probe of its model */
	uint32_t event;   /* the first probe of its kind, where locks have no name of their own; else NO_INDEX */
	int32_t peer;     /* whose of the ranks; -1: has none */
	uint64_t element; /* of an array of locks */
	bool apart;       /* false: one of those that are not told apart, and value is a site */
};

struct lock_hold {
	struct lock_hold *next; /* of the lock */
	struct lock_hold *next_of_thread, *previous_of_thread;
	uint32_t lock, thread;
	uint32_t site, depth;
	uint64_t since;
	bool known; /* since when */
};

struct lock_attempt {
	struct lock_attempt *next, *previous; /* of the lock, the latest last */
	struct lock_attempt *next_of_thread;
	uint32_t lock, thread, site;
	uint64_t start, charged, behind;
};

struct lock {
	struct lock_key key;
	uint32_t probe;       /* of the first call that took it */
	uint32_t class, site; /* at last; where it is taken most often, NO_INDEX: not known */
	struct lock_hold *holds;
	struct lock_attempt *first, *last;
	uint32_t nholds;
	uint64_t at;           /* ns; HELD and BUSY are counted up to here */
	uint64_t last_release; /* ns; by whoever */
	uint64_t longest_held; /* ns; of a class: what one of its locks was held, and busy, at most */
	uint64_t longest_busy;
	uint32_t locks; /* of a class; 1 */
	struct lock_sums sums;
};

struct lock_thread {
	struct lock_hold *holds;
	struct lock_attempt *attempts;
	uint32_t failed_lock; /* where its last call failed to take a lock; NO_INDEX: it did not */
	uint64_t failed_end;
};

/* What calls of a probe do, worked out once. */
struct lock_facts {
	bool ready;
	enum lock_does does;
	bool job;    /* its locks may be those of all ranks */
	bool named;  /* which lock it is, one of its values says */
	bool always; /* it has the lock where it returns */
	uint32_t model, event;
	const struct value *lock, *peer, *index;
	struct prepared_value prepared, prepared_peer, prepared_index;
};

struct locks {
	const struct definitions *d;
	struct lock_facts *facts;
	size_t nfacts;
	struct index by_name; /* first probes of models and of families of events */
	uint32_t nlearnt;     /* probes that are in it */
	struct lock_thread *threads;
	size_t nthreads;
	struct lock *locks;
	size_t nlocks, locks_room;
	struct index by_key;
	struct lock_part *parts;
	size_t nparts, parts_room;
	struct index by_part;
	uint32_t *sites; /* the first that is the same place; NO_INDEX: not looked for yet */
	size_t nsites;
	struct index by_place;
	uint64_t *off; /* ns, by process: when measurement was switched off last */
	size_t noff, next_control;
	struct lock_hold *free_holds;
	struct lock_attempt *free_attempts;
	bool several_jobs;
	uint64_t sampled;      /* calls of such functions that became no span, by intention: who holds is not known */
	uint64_t unknown_lock; /* calls of which it was not known which lock they were for */
	uint64_t beyond;       /* calls for locks that are not told apart */
	uint64_t left_out;     /* ns of waits for which there was no room in parts */
	int error;             /* -ENOMEM: a part could not be made; else NULL for one means that there are too many */
	/* At last: */
	struct lock *classes; /* by wait */
	size_t nclasses;
	struct lock_part *class_parts; /* key.lock is a class */
	size_t nclass_parts;
	size_t *order; /* of the locks, by wait */
	uint64_t wall; /* ns: how long the job was observed */
};

/* locks_name.c */
const struct lock_facts *lock_facts_of(struct locks *s, uint32_t probe); /* NULL: out of memory */
/* The lock that the call is for; NO_INDEX: not known. 0 or -ENOMEM. */
int lock_of_call(struct locks *s, const struct lock_facts *facts, const struct span *span, uint32_t *lock);
/* Of sites that are one line the first; NO_INDEX where there is none. */
uint32_t lock_site(struct locks *s, uint32_t site);
/* The row of that key. NULL: there is no room. */
struct lock_part *lock_part_of(struct locks *s, const struct lock_part_key *key);
struct lock_part *lock_site_part(struct locks *s, uint32_t lock, uint32_t site);
struct lock_part *lock_thread_part(struct locks *s, uint32_t lock, uint32_t thread);
/* Are there several jobs, whose ranks have the same numbers? */
bool lock_jobs_repeat(const struct definitions *d);

/* locks_held.c */
/* Counts the lock's time up to now (ns). */
void lock_advance(struct lock *lock, uint64_t time);
/* The thread has it from now on, taken at this site; known: since when. 0 or -ENOMEM. */
int lock_take(struct locks *s, uint32_t number, uint32_t thread, uint32_t site, uint64_t time, bool known);
/* The thread gives it back; all: as often as it has taken it. */
void lock_give_back(struct locks *s, uint32_t number, uint32_t thread, uint64_t time, bool all);
/* What became of the hold was not seen after this time. */
void lock_forget_hold(struct locks *s, struct lock_hold *hold, uint64_t time);
/* Likewise all holds of the lock that began before measurement was off. */
void lock_forget_old(struct locks *s, struct lock *lock);
/* An attempt ends without the lock: who has it has kept it out until now. */
void lock_charge_in_vain(struct locks *s, uint32_t number, struct lock_attempt *a, uint64_t time);

/* locks_classes.c: locks of one call site become a class, and all is sorted. 0 or -ENOMEM. */
int lock_classes_make(struct locks *s, const struct report *r);
/* What is worth a sentence. 0 or -ENOMEM. */
int lock_findings(struct locks *s, struct report *r);
/* The class's rows of that kind begin here; *count: how many. */
const struct lock_part *lock_rows(const struct lock_part *parts, size_t nparts, uint32_t lock, enum lock_part_kind kind,
				  size_t *count);
/* "lock 0x7f00 of GASP_PTHREAD_MUTEX_LOCK": what the lock, or the class, is called. */
char *lock_label(const struct locks *s, const struct lock *lock, char *text, size_t room);

/* locks_print.c */
void locks_print(void *state, const struct printer *p);
void locks_json(void *state, const struct report *r, struct json *j);

#endif
