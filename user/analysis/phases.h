/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phases.h - the iterations of a job: what the files of this analysis share. Private to user/analysis/phases*.c.
 *
 * phases.c sees the calls, and notes for each thread and each call site that may be where an iteration begins (a
 * *marker*) how regularly it comes back. phases_found.c chooses among these at the end. phases_changes.c looks for what
 * is out of line in them, and phases_print.c tells it. All times ns.
 */
#ifndef GASPBPF_ANALYSIS_PHASES_H
#define GASPBPF_ANALYSIS_PHASES_H

#include "analysis/analysis.h"
#include "analysis/people.h"

#define STRETCHES_MOST 256 /* of one marker on one thread; fewer where there are many threads */
#define MARKER_SETS 16
#define MARKER_WAYS 4 /* most markers that fall in one set */
#define EARLY 4

/* What a call is as a marker; the first that is good is taken. */
enum marker_kind {
	MARKER_PROGRAM, /* what the program announced, or a function of its own: an iteration begins with it */
	MARKER_MEETING, /* a barrier, a collective, a region of threads: an iteration ends with it */
	MARKER_MESSAGE, /* likewise, where there is none of these */
	MARKER_KINDS,
	NO_MARKER = MARKER_KINDS,
};

struct iteration {
	uint64_t end, lasted;
	uint64_t group[GROUPS]; /* GROUP_COMPUTE: in no observed call */
	uint64_t calls;         /* a sum over the markers in it, the same for the same ones */
	bool alike;             /* the same markers as in others */
};

/* Some iterations, one after the other. */
struct stretch {
	uint64_t iterations, unlike, end, lasted;
	uint64_t group[GROUPS];
	uint64_t shortest;
	uint64_t number; /* of the longest, from 0 on */
	struct iteration longest;
};

struct marker {
	uint32_t event, site;
	uint64_t address;
	enum marker_kind kind;
	uint64_t times;      /* calls */
	unsigned depth;      /* calls around it, at least */
	bool begun;          /* an iteration is under way: */
	uint64_t gaps;       /* those of the thread before it */
	uint64_t since;      /* ns: when it began, */
	uint64_t sum;        /* ... what the sum over all markers was, */
	uint64_t at[GROUPS]; /* ... and the thread's time */
	bool waits;          /* the last whole one is not counted yet: */
	struct iteration last;
	uint64_t usual; /* iteration.calls of most; votes: by how many */
	uint64_t votes;
	uint64_t from;           /* ns: when the first one began */
	uint64_t before[GROUPS]; /* and the thread's time until then */
	uint64_t early[EARLY];   /* ns: when the first ones ended */
	/* All that are counted. */
	uint64_t iterations, alike, alike_time, time, shortest, longest;
	double squares;
	uint64_t broken; /* not counted: calls were lost in them */
	bool too_short;  /* they are no steps of a program: no more are counted */
	struct stretch *stretches;
	size_t nstretches, room;
	uint64_t stride; /* iterations of each stretch but the last */
	/* MARKER_PROGRAM: the last call, which is an iteration, too. */
	uint64_t call_end, call_time[GROUPS];
	uint64_t inside; /* ns in all calls */
};

struct phased_thread {
	struct marker **markers; /* MARKER_SETS x MARKER_WAYS; NULL: none yet */
	uint64_t sum, messages;  /* over all markers that it called; messages: over those of that kind */
	uint64_t *sums;          /* by depth: `sum` after the last call with so many around it, or fewer */
	size_t depths;
	uint64_t gaps;
	uint64_t dropped; /* markers that had no room, or gave theirs to others */
	bool begin_seen, end_seen;
	uint64_t begun,
		ends; /* ns: the end of the first call that sets up a runtime, the start of the last that ends one */
};

/* One of those who have the iterations. */
struct member {
	uint32_t thread;
	struct marker *marker;
	const struct report_thread *row;
	uint64_t skip; /* iterations before the first that all have */
};

/* What was longer, and whose. */
struct blame {
	bool known;
	enum group group;
	struct people who;
	uint64_t longer; /* of the one with the most; ns, of an iteration */
};

/* A part of the run: before the iterations, some of them that are alike, after them. */
struct part {
	const char *name;
	size_t first, count; /* steps */
	uint64_t from, to;   /* ns */
	uint64_t iterations, mean, typical;
	uint64_t time;                      /* ns: of all members */
	uint64_t group[GROUPS];             /* likewise */
	double load_balance, communication; /* below 0: not known */
	double chance;                      /* that the one before differs by chance; 1: there is none before */
	uint64_t number;                    /* of its first iteration */
	struct blame blame;                 /* where it is slower than the one before */
};

struct outlier {
	const struct part *part; /* of the run, that it is in */
	size_t step;
	uint64_t number, end, lasted, typical;
	bool unlike;
	struct blame blame;
};

/* Of all members together: as stretch. */
struct step {
	uint64_t iterations, unlike, end;
	double mean; /* ns, of an iteration */
	uint64_t number, shortest, longest, longest_end;
	bool longest_alike;
	bool out_of_line; /* the longest is an outlier */
};

#define PARTS_MOST 7

/* Threads that have the same iterations. */
struct iterating {
	enum marker_kind kind;
	uint32_t event, site;
	struct member *members;
	size_t nmembers;
	bool common; /* numbered by job: the n-th is the same one for all */
	bool partly; /* other ranks have been there, and have none of them */
	uint64_t iterations, shortest, longest, unlike, broken, missing;
	double mean, variation; /* of a member's; variation: standard deviation / mean */
	struct step *steps;
	size_t nsteps;
	uint64_t stride;
	struct part parts[PARTS_MOST];
	size_t nparts;
	struct outlier *outliers; /* the longest first */
	size_t noutliers;
	uint64_t outliers_cost; /* ns: what they took more than others, of the run */
	unsigned period;        /* most of them are each so-many-th; 0: they are not */
	size_t periodic;        /* so many of them */
	bool begin_seen, end_seen;
};

struct phased_model;

struct phases {
	const struct definitions *d;
	struct phased_thread *threads;
	size_t nthreads;
	uint8_t *kinds; /* by event: 1 + enum marker_kind; 0: not known yet */
	size_t nkinds;
	struct phased_model *models; /* uthash */
	size_t nmodelled;            /* probes that they are known of */
	size_t most;                 /* stretches */
	struct iterating *found;     /* who has most of the time first */
	size_t nfound;
	uint64_t beyond; /* threads with iterations that are in none of these */
};

/* phases.c */
/* Adds the last iteration, which none that follows has added. 0 or -ENOMEM. */
int marker_finish(struct phases *s, uint32_t thread, struct marker *marker);
/* Joins every two stretches. */
void marker_halve(struct marker *marker);

/* phases_found.c: 0 or -ENOMEM. */
int phases_find(struct phases *s, struct report *r);
void iterating_free(struct iterating *it);

/* phases_changes.c: fills parts and outliers. 0 or -ENOMEM. */
int phases_look(const struct phases *s, const struct report *r, struct iterating *it);
/* The stretch of the member that belongs to the step. NULL: it has none. */
const struct stretch *stretch_of(const struct iterating *it, const struct member *member, size_t step);

/* phases_findings.c: 0 or -ENOMEM. */
int phases_tell(const struct phases *s, struct report *r);
/* "rank 2: 61.0 ms more compute". "": not known. Into text, which is returned. */
char *blame_text(const struct phases *s, const struct iterating *it, const struct blame *blame, char *text,
		 size_t room);
/* The marker: "GASP_MPI_BARRIER at ring.c:78 in meet". Into text, which is returned. */
char *iterating_label(const struct phases *s, const struct report *r, const struct iterating *it, char *text,
		      size_t room);

/* phases_ranges.c */
int phases_tell_ranges(void *state, const struct report *r, const struct report_teller *to);

/* phases_print.c */
void phases_print(void *state, const struct printer *p);
void phases_put(void *state, const struct report *r, struct json *j);

#endif
