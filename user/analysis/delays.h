/* SPDX-License-Identifier: BSD-2-Clause */
/* delays.h - what is kept of who is waited for, and when that is worth a finding. Private to user/analysis. */
#ifndef GASPBPF_DELAYS_H
#define GASPBPF_DELAYS_H

#include "analysis/analysis.h"
#include "analysis/index.h"
#include "analysis/past.h"
#include "analysis/people.h"
#include "analysis/quickest.h"

#define WORST 5

struct suffered {
	uint64_t direct, passed_on; /* ns */
	struct called in;           /* of one thread: where it waited last, directly if it did */
};

/* What a thread does at one place, also where nobody waits. */
struct delay {
	struct deed deed;
	uint64_t times, lasted;   /* how often it did that; ns */
	double squares;           /* of how long it lasted, ns^2 */
	struct quickest quickest; /* work; of one of the table */
	double blamed;            /* of the ns in which one waited for it at a time, ns^2 */
	struct suffered all;
	uint64_t waits;                       /* calls that waited for it, in part or in whole */
	uint64_t last;                        /* the last of these */
	struct finding_instance worst[WORST]; /* of these, the longest first */
	unsigned nworst;
	struct people waiting;
	struct index by_victim; /* thread -> place in suffered */
	struct suffered *suffered;
	size_t nsuffered, room;
	struct finding_seen *seen; /* in whose calls; ns */
	size_t nseen, seen_room;
	struct delay **parts; /* those that it is made of, the most first; NULL: it is one of the table */
	size_t nparts;
	bool in_group; /* it is told together with what others do */
};

/* Several threads of which one finding tells. */
struct delay_group {
	struct people who;
	struct delay *sum; /* of all that do the same */
};
#define GROUPS_MOST 4

struct delays {
	const struct definitions *d;
	uint32_t *same_site;
	struct same_sites sites;
	struct deeds deeds;
	struct pasts *pasts;
	struct delay **table; /* by the deed's number; NULL: that was not done */
	size_t room;
	struct delay **sorted; /* those for which somebody waited, the most first */
	size_t nsorted;
	struct delay **told; /* the same, as delays_join() has joined them */
	size_t ntold;
	struct delay_group groups[GROUPS_MOST];
	size_t ngroups;
	double *taken;      /* ns by thread that its code had not: it waited for a processor, or was in probes */
	double *taken_most; /* the same, if it lost all that it was queued */
	struct suffered all;
	uint64_t waits;
	uint32_t waiting;       /* the thread that waits now, */
	uint64_t since;         /* and since when, */
	struct called waits_in; /* in which call */
	struct relations_counts counts;
};

static inline uint64_t suffered_sum(const struct suffered *suffered)
{
	return suffered->direct + suffered->passed_on;
}

static inline uint64_t delay_all(const struct delay *delay)
{
	return suffered_sum(&delay->all);
}

/* ns; 0: it was not done. */
static inline double delay_mean(const struct delay *delay)
{
	return delay->times ? (double)delay->lasted / delay->times : 0;
}

/* Of so many times that took so long in all; ns^2. */
double delay_variance(double times, double lasted, double squares);
/* Of how long it lasts each time; ns. */
double delay_deviation(const struct delay *delay);

/* What the other threads take for the same. */
struct others {
	unsigned threads;
	bool only_alike;              /* nobody does the same, these do what is like it */
	double times, mean, variance; /* ns */
	double blame;                 /* ns: what is waited for each of them there, on average */
	double taken;                 /* ns: what was taken from each of them, on average */
};

/* delays_joined.c: makes s->told of s->sorted. 0 or -ENOMEM. */
int delays_join(struct delays *s);
/* The parts, the first of which gives it its name, as one. To be freed by delay_free(); NULL: out of memory. */
struct delay *delays_sum(const struct delays *s, struct delay *const *parts, size_t count);
/* Of one of s->told. */
struct others delay_others_of_all(const struct delays *s, const struct delay *of);

/* What all threads do that do the same. */
struct same_work {
	struct delay **rows;
	size_t threads;
	struct delay *sum; /* of the rows; its deed is that of the first one */
	double taken;      /* from all of them, ns */
};

/* delays_same.c: as one of s->sorted does, unless what one before it does is the same: then there are no threads. To be
 * freed also where it fails. 0 or -ENOMEM. */
int same_work_of(const struct delays *s, size_t number, struct same_work *work);
void same_work_free(struct same_work *work);
/* What those take that do the same as this one of its rows. */
struct others same_work_others(const struct delays *s, const struct same_work *work, const struct delay *row);
/* A group of those whose sum this is, which becomes the group's, if s->ngroups < GROUPS_MOST. 0 or -ENOMEM. */
int delays_add_group(struct delays *s, struct delay **sum, struct delay_group **group);

/* delays_find.c: what all findings of who is waited for have; times: what is counted, for the reader. */
struct finding delay_finding(const struct delay *delay, const char *kind, const char *times);
/* delays_find.c: adds findings of who is late. 0 or -ENOMEM. */
int delays_find_late(struct delays *s, struct report *r);
/* "after a.c:10 or b.c:20, before a.c:30": where its parts begin. */
void delay_place(const struct delays *s, const struct delay *delay, enum place_in in, char *text, size_t room);
/* delays_uneven.c: adds findings where several threads take longer for the same than the others. 0 or -ENOMEM. */
int delays_find_uneven(struct delays *s, struct report *r);
/* delays_turns.c: adds a finding where in each step another one is late. 0 or -ENOMEM. */
int delays_find_turns(struct delays *s, struct report *r);

/* delays.c */
int delays_by_time(const void *a, const void *b); /* of struct delay *, the most first */
void delay_free(struct delay *delay);
void delay_note_worst(struct delay *delay, const struct finding_instance *one);
/* So long others waited in calls of that probe. 0 or -ENOMEM. */
int delay_see(struct delay *delay, uint32_t probe, uint64_t ns);
/* What this thread waits for it; a new one has waited in no call yet. NULL: out of memory. */
struct suffered *delay_suffered_by(struct delay *delay, uint32_t thread);

/* delays_clear.c */
bool delay_takes_more(const struct delay *delay, const struct others *others);
/* Clearly, each time on average. */
bool delay_takes_longer(const struct delay *delay, const struct others *others);
struct others delay_others(const struct delays *s, const struct delay *of);
/* More than chance. */
/* By which test that is so, for the reader; NULL: it may be chance. */
const char *delay_is_clear(const struct delays *s, const struct delay *delay, const struct others *others);

/* delays_own.c */
/* Makes s->taken and s->taken_most, which the others here need. 0 or -ENOMEM. */
int delays_find_taken(struct delays *s, const struct report *r);
/* It took longer since it had no processor, or since its calls are observed. */
bool delay_is_taken(const struct delays *s, const struct delay *delay, const struct others *others);

/* What it takes in hardly any of many times less than, and half of the others in one of four at most; ns. */
struct delay_quickest {
	uint64_t its, others;
};
/* Is it longer also where it had a processor, by that? Then also into quick. */
bool delay_is_never_as_quick(const struct delays *s, const struct delay *delay, struct delay_quickest *quick);
/* "99 times of 100 at least 1.2 ms ...". Into text, which is returned. */
#define QUICKEST_ROOM 200
const char *delay_quickest_text(const struct delay_quickest *quick, char *text, size_t room);
/* Those of the rows that take longer than all others that do the same, by what they do, the most waited for first; into
 * `longer`, which has room for all. How many. */
size_t delays_longer(const struct delays *s, const struct same_work *work, struct delay **longer);

#endif
