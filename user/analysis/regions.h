/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions.h - what the files of the analysis of regions share (regions*.c). Private to user/analysis.
 *
 * One thread begins a *region* (MARK_TEAM), in which each thread of a team has its *share* (MARK_SHARE), that of the
 * one who begins it included; it ends when all are done. So whoever is done with its share waits there for the last.
 *
 * The *work* of a share is what of it is not in calls that wait, for a barrier or a lock. Imbalance is told of work, as
 * POP's load balance is: 1 - mean / most. What even shares would give is (most - mean) in each region: of the whole
 * shares or of the work in them, whichever is less, so that waits inside, of which others tell (locks, meetings), are
 * not told here again.
 */
#ifndef GASPBPF_ANALYSIS_REGIONS_H
#define GASPBPF_ANALYSIS_REGIONS_H

#include "analysis/analysis.h"
#include "analysis/index.h"

#define REGIONS_WORST 3

/* Of all times that a region was met. All times ns. */
struct region_sums {
	uint64_t times, time;     /* and from call to return, all together */
	uint64_t alone;           /* of these: with one thread */
	uint64_t unseen;          /* the share of the one who began it was not seen */
	uint64_t incomplete;      /* calls were lost, measurement was off, or it did not come to its end */
	uint64_t judged, lasted;  /* the others, of which all that follows is; and from call to return */
	uint64_t shares;          /* how many */
	uint64_t share, work;     /* in them */
	uint64_t longest, mean;   /* of each time the longest share, and the mean one; all together */
	uint64_t most, mean_work; /* likewise of work */
	uint64_t uneven;          /* what even shares would give: see the top */
	uint64_t waited;          /* from the end of each share to that of the last one */
	uint64_t overhead;        /* from call to return, without the longest share */
	uint64_t waits, locks;    /* in the shares, in calls that wait: for others, or messages; for a lock */
	uint64_t single;          /* in blocks that one thread of the team runs */
	uint64_t chunks;          /* pieces of loops that were handed out */
	uint64_t asks, asking;    /* calls that ask for one, and ns in them */
	uint64_t least_threads, most_threads;
};

/* One of a process. */
struct region {
	uint32_t process, site; /* the first site of the same instruction; NO_INDEX: not known */
	uint32_t probe;         /* of the call that begins it */
	uint32_t share;         /* probe of its shares; NO_INDEX: none was seen */
	uint64_t function;      /* what the shares call, as far as they say; 0 */
	uint32_t chunk;         /* probe of a call that asks for pieces of a loop in it; NO_INDEX: none was seen */
	uint32_t row;           /* at last */
	struct region_sums sums;
	struct finding_instance worst[REGIONS_WORST]; /* waits at its end, the longest first */
	unsigned nworst;
};

/* What a thread did in one of them. */
struct region_member {
	uint32_t region, thread;
	uint64_t came, last; /* times that it had a share; that it was the last to be done */
	uint64_t share, work, waited, waits, locks, single; /* ns */
	uint64_t chunks;
};

/* From the end of a region to the begin of the next one, outside of all. ns */
struct serial {
	uint32_t after, before; /* regions */
	uint64_t times, time, longest;
	uint64_t waits; /* in calls that wait, which is no work */
};

/* A thread that begins regions, while it is in none of them. ns */
struct region_beginner {
	uint32_t thread;
	uint64_t first, last; /* when its first one began, when its last one ended */
	uint64_t times;
	uint64_t serial, waits; /* between them, where that was seen; in calls that wait */
	uint64_t unseen;        /* ns between them of which it was not seen whether there were others */
	uint64_t idle;          /* time of the others meanwhile, by the number that was in the region before */
	uint32_t threads;       /* in the last one */
};

/* --- what is going on: regions.c and regions_serial.c alone look into these --- */

struct region_thread {
	struct open_share *share;
	struct open_region *begun;
	uint64_t joined;     /* number of the region that it has had a share of last */
	uint32_t beginner;   /* index + 1; 0: none */
	uint32_t after;      /* the region that it has begun last, outside of all; NO_INDEX: none, or not known */
	uint64_t since;      /* ns: and when that was over */
	uint64_t waits;      /* ns since then in calls that wait */
	unsigned waiting;    /* such calls that it is in, one in the other */
	uint64_t wait_start; /* of the outermost */
	bool wait_lock;
};

struct region_process {
	struct open_region *open; /* the latest first */
	uint64_t off;             /* ns: when measurement was switched off last */
	uint64_t lost;            /* ns: up to here calls were lost */
};

/* The same one of all processes. */
struct region_row {
	uint32_t site, probe, share;
	size_t first, count; /* in regions.by_row */
	struct region_sums sums;
};

struct regions {
	const struct definitions *d;
	uint32_t *same_site;
	size_t nsites;
	struct region_facts *facts;
	size_t nfacts;
	struct region_thread *threads;
	size_t nthreads;
	struct region_process *processes;
	size_t nprocesses;
	struct open_region *free_regions;
	struct open_share *free_shares;
	uint64_t number; /* of regions so far */
	size_t next_control;

	struct region *regions;
	size_t nregions, regions_room;
	struct index by_place; /* process and site or probe */
	struct region_member *members;
	size_t nmembers, members_room;
	struct index by_member; /* region and thread */
	struct serial *serials;
	size_t nserials, serials_room;
	struct index by_serial; /* the two regions */
	struct region_beginner *beginners;
	size_t nbeginners, beginners_room;
	uint64_t beyond;     /* regions that are not told apart, as there are too many */
	uint64_t with_tasks; /* regions in which tasks were made */
	uint64_t orphans;    /* shares of which it is not known what region they are of */
	uint64_t sampled;    /* calls that tell of regions and became no span, by intention */
	bool out;            /* for a while no such calls were observed */

	/* At last: */
	struct region_row *rows; /* what is waited for most first */
	size_t nrows;
	uint32_t *by_row; /* regions */
};

/* One that is over. */
struct done_share {
	uint32_t thread;
	uint64_t start, end, waits, locks, single, chunks, asks, asking;
	uint32_t chunk; /* probe of a call that asks for one; where there were asks */
};

/* A region that is over. */
struct region_time {
	const struct done_share *done;
	size_t ndone;
	uint64_t lasted; /* ns */
	bool whole;      /* all of it was seen, as far as is known */
	bool own;        /* and the share of who began it */
};

/* What it does between its regions but waiting: ns. */
static inline uint64_t serial_work(const struct region_beginner *beginner)
{
	return beginner->serial > beginner->waits ? beginner->serial - beginner->waits : 0;
}

static inline void raise_to(uint64_t *maximum, uint64_t value)
{
	*maximum = value > *maximum ? value : *maximum;
}

/* Is it known all the time which thread is in which region? */
static inline bool regions_all_seen(const struct regions *s)
{
	return !s->sampled && !s->out;
}

/* regions_judge.c: the number of the region that this call of the process begins; NO_INDEX: there are too many. 0 or
 * -ENOMEM. */
int region_number(struct regions *s, uint32_t process, const struct span *span, uint32_t *region);
/* 0 or -ENOMEM. */
int region_account(struct regions *s, uint32_t region, const struct region_time *time);

/* regions_serial.c: the thread begins the region, and was in none. 0 or -ENOMEM. */
int region_serial_end(struct regions *s, uint32_t thread, uint32_t region, uint64_t time);
/* It was over at this time; shares: how many it had. */
void region_serial_begin(struct regions *s, uint32_t thread, uint32_t region, size_t shares, uint64_t time);

/* regions_rows.c: the same regions of all processes become rows; and what is worth a finding. 0 or -ENOMEM. */
int regions_make_rows(struct regions *s);
int regions_find(const struct regions *s, struct report *r);
/* Some text for the place of a region: "job.c:12 in work", "main._omp_fn.0", into text, which is returned. */
char *region_label(const struct regions *s, uint32_t site, uint32_t probe, uint32_t share, char *text, size_t room);
/* "after job.c:12 in work, before job.c:19 in work", likewise. */
char *serial_place(const struct regions *s, const struct serial *serial, char *text, size_t room);
/* The longest of the process; NULL: there is none. */
const struct serial *serial_longest(const struct regions *s, uint32_t process);
/* In percent. */
double region_imbalance(const struct region_sums *sums);
/* The member of that region that is the last one to be done more often than by chance; NULL: there is none. */
const struct region_member *region_last(const struct regions *s, uint32_t region);
/* The members of that region begin here, the most often last first; *count: how many. */
const struct region_member *region_members(const struct regions *s, uint32_t region, size_t *count);

/* regions_chunks.c: are its loops handed out in too small pieces? */
bool region_chunks_are_small(const struct regions *s, const struct report *r, const struct region *region);
int region_tell_chunks(const struct regions *s, struct report *r, const struct region *region);

/* regions_print.c */
void regions_print(void *state, const struct printer *p);
void regions_json(void *state, const struct report *r, struct json *j);

#endif
