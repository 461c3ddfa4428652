/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * relations.h - the second door of user/simulate: which calls of a recording belong together, and who waited for whom.
 *
 * A simulation has to know that before it moves anything. Here nothing is moved: the recording is read as it is, and
 * what each thread did is told in an order in which nothing comes before what it waited for. So whoever keeps what a
 * thread did lately can look up, at each wait, what the one was doing that was waited for.
 *
 * All times ns, as recorded.
 */
#ifndef GASPBPF_RELATIONS_H
#define GASPBPF_RELATIONS_H

#include "recording/recording.h"

/* Scalasca's patterns, and two more: of locks, and of those who are told by others that they may go on. */
enum wait_state {
	WAIT_LATE_SENDER,    /* of a receive, for the call that sends */
	WAIT_LATE_RECEIVER,  /* of a send that does not end before the receive has begun */
	WAIT_AT_BARRIER,     /* for the last that comes */
	WAIT_AT_NXN,         /* the same in an operation in which all get something from all */
	WAIT_LATE_BROADCAST, /* for the root */
	WAIT_EARLY_REDUCE,   /* of the root, and of those who stay in the call, for the last that comes */
	WAIT_FOR_LOCK,       /* for who has it */
	WAIT_AT_FENCE,       /* of one-sided transfers, for the last that comes */
	WAIT_LATE_POST,      /* for who has not opened its memory yet */
	WAIT_EARLY_WAIT,     /* for the last who accesses the memory that one has opened */
	WAIT_FOR_PROGRESS,   /* for any call of the one whose memory is accessed */
	WAIT_LATE_NOTIFY,    /* for the call that tells it: it sets a variable, or is the first half of a barrier */
	WAIT_STATES
};

/* Where one asks again and again until something has come, that is one call: the last, that begins with the first. */
struct related_call {
	uint32_t thread, probe, site; /* site: index, or NO_INDEX */
	uint64_t start, end;
	uint64_t last; /* ... and here the last begins; 0: there is only one */
};

/* A call by what it is and where it is called. Both NO_INDEX: there is none, or nothing is known of it. */
struct called {
	uint32_t probe, site;
};

/*
 * A thread ran code of its own, and calls that are of no interest to others and short (of memory, tests, tries): from
 * one call that may be to the next, or to where another function of the user's or task begins or ends.
 */
struct related_work {
	uint32_t thread;
	uint32_t inside; /* the probe of the innermost function of the user's or task around it; NO_INDEX: none */
	bool known;      /* false: calls may be missing, or it was not observed */
	bool waits;      /* for others of its team, as told next: no work at all */
	struct called after, before;
	uint64_t start, end;
};

/*
 * The thread was not needed any more, and goes on at the end of this call, since another one of its team let it, at the
 * call's start: that one began a region of several threads, and here it is about to begin its share; or here is the end
 * of the region, and that one's share was the last of it. The call is the region's.
 */
struct gone_on {
	struct related_call call;
	uint32_t of; /* thread */
};

struct waited {
	enum wait_state state;
	uint64_t until; /* in the call that waits, which began to wait with its start */
	/* The call that it waited for: began at `until`; of a lock: gave it back then. */
	struct related_call of;
	struct related_call taken; /* WAIT_FOR_LOCK: the call that had taken it */
	uint64_t accessed;         /* WAIT_EARLY_WAIT: the end of its last access; 0: not known */
};

/* One barrier or collective operation, with all that take part. */
struct meeting {
	enum wait_state state; /* of those who wait in it */
	uint32_t probe;        /* of one of its calls */
	uint64_t group;        /* the same for all operations of the same members */
	const struct related_call *calls;
	unsigned ncalls;
	unsigned last;  /* which of them came last */
	int64_t root;   /* which of them; -1: none, or not known */
	bool in_halves; /* begun here, waited for by other calls */
};

/* What is known of a whole recording. */
struct relations_counts {
	uint64_t messages, meetings, hand_overs; /* put together; the last of locks */
	uint64_t teams;                          /* times that a thread went on since another of its team let it */
	uint64_t alone;                          /* sends and receives without the other side */
	uint64_t incomplete; /* calls of collective operations whose others are not known, or not in the recording */
	uint64_t lossy;      /* processes with calls that are missing: none of theirs was put together */
	uint64_t untold;     /* calls that may wait for one-sided transfers or a notification: for whose is not known */
};

/* POP's efficiencies (efficiency.c), of the threads that have to do with others; below 0: makes no sense. */
struct efficiencies {
	uint64_t time, ideal; /* ns: as recorded, and on the ideal network */
	unsigned threads;
	double parallel, load_balance, communication, serialisation, transfer;
};

/* Each may be NULL; each returns 0, or -errno to stop. */
struct relations_ops {
	int (*work)(void *context, const struct related_work *work);
	/* A call, that waited for somebody; NULL: for nobody, as far as is known. */
	int (*call)(void *context, const struct related_call *call, const struct waited *waited);
	/* A message, after the call in which it was received: that may be one that waits for it. bytes: 0: not known,
	 * or nobody measures. */
	int (*message)(void *context, const struct related_call *sends, const struct related_call *receives,
		       uint64_t bytes);
	/* Before all calls of it. */
	int (*meeting)(void *context, const struct meeting *meeting);
	/* The thread may let others of its team go on: what it did until then has been told. */
	int (*pass)(void *context, uint32_t thread, uint64_t time);
	int (*go_on)(void *context, const struct gone_on *gone_on);
	void *context;
	bool measures; /* message() is to be told the bytes: that takes some time */
};

/* Of one recording: what is found out by a first reading is kept for the next. */
struct relations;
/* The recording is still the caller's, and must outlive it. NULL: out of memory. */
struct relations *relations_new(struct recording *recording);
void relations_free(struct relations *relations);
/*
 * Its threads may have had clocks that differ: whoever was observed from its start takes part in what the order of its
 * calls says, whatever the times say. doubt: ns; by so much times may be wrong where nothing but times tells.
 */
void relations_doubt_clocks(struct relations *relations, uint64_t doubt);

/* Reads the recording, twice the first time. Both results may be NULL. 0 or -errno. */
int relations_read(struct relations *relations, const struct relations_ops *ops, struct relations_counts *counts,
		   struct efficiencies *efficiencies);
enum relieved {
	RELIEVE_WORK,  /* between two calls: `after` and `before`, inside of `inside` */
	RELIEVE_CALL,  /* `after` is the call, or `sites` has it */
	RELIEVE_LOCK,  /* who takes a lock at one of `sites` never waits for its holder */
	RELIEVE_TIME,  /* whatever a thread does by itself in one of `times` */
	RELIEVE_MEMORY /* calls that get and free memory */
};

/*
 * How much earlier the last call had ended if this thread, or all, had never taken longer for this than `most`, and of
 * that the part `less` less. Sites are compared by same_site[], which has for each site the first one of the same
 * instruction.
 */
struct relief {
	uint32_t thread; /* NO_INDEX: all */
	enum relieved what;
	uint32_t inside;
	struct called after, before;
	const struct called *also_after; /* RELIEVE_WORK: after one of these, too */
	size_t nalso;
	uint64_t most;         /* ns; UINT64_MAX: as long as it takes */
	double less;           /* 0 to 1 */
	const double *less_of; /* the same by thread, of as many; NULL: `less` is meant */
	size_t nthreads;
	const uint32_t *same_site;
	const bool *sites; /* by site; NULL: `after` is meant */
	size_t nsites;
	const struct relief_time {
		uint64_t start, end; /* ns; by start, and they do not overlap */
		double less;         /* 0 to 1: of this one */
	} * times;
	size_t ntimes;
};

#define RELIEFS_MOST 3

/* Each by itself, in one simulation; gains: ns of each. At most RELIEFS_MOST. 0 or -errno. */
int relations_relieve(struct relations *relations, const struct relief *reliefs, size_t count, uint64_t *gains);

/* All of them at once, as many as there are; gain: ns. 0 or -errno. */
int relations_relieve_together(struct relations *relations, const struct relief *reliefs, size_t count, uint64_t *gain);

/* Whether a call of this kind could be told with a wait: no need to read where no probe has one. */
bool relations_possible(const struct definitions *d);
/* The same of one probe. */
bool relations_possible_of(const struct def_probe *probe);

#endif
