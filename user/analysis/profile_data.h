/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_data.h - what the files of the profile share. Private to user/analysis.
 */
#ifndef GASPBPF_PROFILE_DATA_H
#define GASPBPF_PROFILE_DATA_H

#include "account/account.h"
#include "analysis/index.h"
#include "analysis/profile.h"
#include "analysis/told.h"
#include "meaning/value.h"
#include "recording/labels.h"

/* Where the time of a thread goes, as the report has it. */
struct share {
	const char *name;
	unsigned groups; /* bit i: enum group */
};

#define SHARES 8
extern const struct share report_shares[SHARES];
uint64_t share_of(const struct share *share, const uint64_t group[GROUPS]); /* ns */

/*
 * Sums over calls. All times ns. A profile's own hold the calls on the timeline; those of a report all calls, also
 * those that became no span (missing_calls.c): of them more or less is known, and the last three members are what it
 * may be all together.
 */
struct tally {
	/* What every span changes stands first, close together; so does the start of struct row. */
	uint64_t calls;
	uint64_t timed;    /* calls whose duration is known */
	uint64_t total;    /* inclusive; a call inside a call of the same event is not counted again */
	uint64_t self;     /* without the time of probed calls inside; of calls on the timeline */
	uint64_t time;     /* sum of all durations: mean = time / timed */
	uint64_t min, max; /* valid where timed is not 0 */
	uint64_t bytes, sent, received;
	uint64_t known_bytes, known_sent, known_received; /* calls that the three sums hold */
	uint64_t unknown_bytes;                           /* calls that moved data whose amount is unknown */
	uint64_t lost, summed, skipped;                   /* of the calls, not on the timeline: struct def_sum */
	uint64_t off;                                     /* measurement was switched off inside */
	uint64_t unwound;                                 /* left by longjmp or an exception */
	uint64_t tails;  /* ended in a jump to another function, whose time is not part of theirs */
	uint64_t ended;  /* the thread or program ended inside */
	uint64_t open;   /* in progress when the observation ended */
	uint64_t deep;   /* nested too deep: the duration is unknown */
	uint64_t alone;  /* their return was left alone: the duration is unknown */
	uint64_t untold; /* part of `time`: of lost and summed calls, of which it is not known what they contain */
	uint64_t likely_total; /* total, and what the skipped calls will have taken, by the mean of the others */
	uint64_t likely_self; /* self, and as large a part of the other calls' time as it is of that of the calls on the
				 timeline */
	uint64_t bucket[GB_BUCKETS]; /* timed calls by duration (wire.h) */
};

/* The column of a histogram that a duration (ns) belongs to. */
static inline unsigned bucket_of(uint64_t duration)
{
	unsigned bucket = duration ? 63 - __builtin_clzll(duration) : 0;

	return bucket < GB_BUCKETS ? bucket : GB_BUCKETS - 1;
}

/* One event on one thread. */
struct row {
	uint32_t thread, event;
	struct inclusive inclusive;
	uint64_t object; /* MEANING_BARRIER of the first call, see findings */
	bool has_object, several_objects;
	struct tally tally;
};

/* One event called from one place. */
struct site_row {
	uint32_t site, event;
	uint64_t calls, total;
	/* around.h */
	uint32_t around;      /* the site_row that most are around it, and one more; 0: none that was seen */
	uint32_t votes, seen; /* Boyer and Moore's count of that, and how often one was seen */
	bool apart;           /* some of its calls are in no call of a runtime, or in those of another event */
};

struct call_values;
struct made_analysis;

/* calls.c: NULL: out of memory; to be freed. */
struct call_values *call_values_new(const struct def_probe *def);

/* The words that its values are read from. */
static inline struct sent_words span_words(const struct span *span)
{
	return (struct sent_words){ span->words, span->nwords, span->unread, span->reason == GB_END_RETURN };
}

struct time_range {
	uint64_t start, end; /* ns */
};

/* The regions of one process in which several threads had their shares (workers.c). */
struct team_regions {
	uint64_t count;
	uint64_t first;            /* ns: when the first of them began */
	uint64_t waited;           /* ns, by those who began regions, in those of which their share was seen */
	struct time_range *unseen; /* those without a share that was seen */
	size_t nunseen, room;
};

/* What a thread's outermost calls tell of its part in such regions. */
struct team_part {
	bool calls;             /* some are of a runtime that has such regions */
	bool begins;            /* it has begun regions itself, none of its shares being around them: */
	uint64_t begun;         /* ns: when the first of these began */
	bool shares;            /* some are shares of a region that another thread has begun: */
	uint64_t from;          /* ns: when the first of these began */
	uint64_t before;        /* ns in calls before that */
	uint64_t in_shares;     /* ns */
	struct covered covered; /* when it was in one of them */
};

#define AROUND_DEPTHS 4

struct profiled_thread {
	struct nesting nesting;
	struct team_part team;
	/* The last call that has ended in each depth, since one in the depth above it has: index of its site_row, and
	 * one more; 0: none. around.h */
	uint32_t inside[AROUND_DEPTHS];
	uint64_t first, last; /* ns: first start and last end seen */
	uint64_t spans, lost;
	uint64_t cost; /* ns; what its spans' probes took from it */
	uint64_t lost_from,
		lost_to; /* ns: around all gaps; valid where any were lost. lost_to UINT64_MAX: up to the end */
};

/* What is needed of a probe for every span, worked out once. */
struct probe_facts {
	struct accounted_probe is;
	uint32_t cost;  /* ns; what a call costs its thread */
	uint32_t floor; /* ns; to be taken off each duration */
	int16_t object; /* index of the value that says which barrier; -1: none */
	bool ready;
	bool nests;                 /* the program's own work, or what may contain that */
	bool of_teams;              /* its model has regions in which several threads have their shares */
	uint64_t told;              /* bit i: struct profile's analyses[i] wants its calls */
	struct call_values *values; /* of those calls (calls.c); NULL where nobody is told */
};

/* Calls of one name and model; several probes may be one event. */
struct event_state {
	uint32_t probe; /* the first one seen */
	enum role role;
	uint32_t inner; /* the event of its inner calls; NO_INDEX: none were seen */
	bool is_inner;  /* ... and this is one: its calls count beside the program's, never among them */
	bool rooted;    /* one thread is special in each call */
	bool moves;
};

struct profile {
	struct profiled_thread *threads;
	size_t nthreads;
	struct probe_facts *probes;
	size_t nprobes;
	struct event_state *events;
	size_t nevents, events_room;
	struct row *rows;
	size_t nrows, rows_room;
	struct site_row *sites;
	size_t nsites, sites_room;
	struct index row_index, site_index;
	struct team_regions *regions; /* by process */
	size_t nregions;
	uint32_t tells_shares; /* the image of a runtime whose own functions tell of all shares but, maybe, that of who
				  begins the region; NO_INDEX: none */
	struct event_names names; /* the number of each is its index in events */
	const struct made_analysis *analyses;
	size_t nanalyses;
	uint64_t spans, lost;
	bool subtract_floor;
	uint64_t last; /* ns: the last end seen */
};

/* The event of a probe, also where no call of it was seen. NO_INDEX: out of memory. */
uint32_t profile_event(struct profile *profile, const struct definitions *d, uint32_t probe);
/* Where in profile->rows the calls of an event on a thread are; NO_INDEX: there are none. */
uint32_t profile_find_row(const struct profile *profile, uint32_t thread, uint32_t event);

/* Sums for a report. */
struct report_thread {
	uint32_t thread, process;
	uint64_t wall; /* ns: how long its process was observed */
	uint64_t group[GROUPS];
	uint64_t outside; /* ns: in no probed call; in none on the timeline where some are missing there */
	/* ns, likewise: of a worker between its shares of regions (workers.c; at last it is in GROUP_WAIT), and where
	 * it was not seen whether it was in one. */
	uint64_t idle, unseen;
	/* The same with the missing calls, estimated by tally.likely_self. What is idle is in GROUP_WAIT here. */
	uint64_t likely_group[GROUPS], likely_outside, likely_unseen;
	uint64_t spans, lost, summed, skipped; /* together: all its calls */
	uint64_t cost;                         /* ns; what all its probes took from it, by the calibration */
	uint64_t system;                       /* ns that it spent in the kernel, probes included; 0: not known */
};

static inline uint64_t sum_groups(const uint64_t *group)
{
	uint64_t sum = 0;

	for (int i = 0; i < GROUPS; i++)
		sum += group[i];
	return sum;
}

struct report_event {
	uint32_t event; /* never one of inner calls */
	struct tally tally;
	const struct tally *inner; /* its inner calls; NULL: none were seen */
	uint64_t
		out; /* ns in which probes of it were out: calls then are not known of. To keep the cost low, or else */
	bool withdrawn; /* at the end of a process, as its model takes part only without a parallel runtime */
};

struct people;

struct finding {
	const char *kind; /* "slow_thread", "hot_event", "team_wait", "unreturned", "unmodelled" */
	char *text;
	uint32_t event, thread; /* NO_INDEX: none */
	bool has_site;
	uint32_t site;   /* where it is in the program: tells findings of one kind apart (digest.c) */
	uint64_t weight; /* ns: how much time it is about */
	double percent;  /* of the thread's time; 0: not said */
	bool has_gain;
	uint64_t gain; /* ns: what the run would be shorter by without it, simulated, or a bound of that */
	size_t relief; /* report.reliefs[relief - 1] has simulated the gain; 0: none, or not as itself (gains.h) */
	/* Some of what it is about, the worst first: when, and whom it hit. Its owner's. */
	const struct finding_instance *instances;
	size_t ninstances;
	const struct people *culprits, *victims; /* its owner's; NULL: the thread is the only one */
	double level;                            /* that it is chance; 0: what its kind has (findings_evidence.c) */
	const char *test;                        /* which of the tests of its kind it has passed; NULL: all there are */
	/* How often, and how evenly, it happens. */
	struct finding_regularity {
		const char *what;       /* in the plural: "iterations", "waits"; NULL: not said */
		uint64_t times, of;     /* in so many of so many */
		double mean, deviation; /* ns; below 0: not known */
		uint64_t least, most;   /* ns; most 0: not known */
	} regularity;
	uint64_t bound; /* ns of the run: what it would give at most, where no gain is known; 0: no more than its weight
			 */
	const char *section; /* which has more of it; NULL: none */
	/* In calls of which probes others are seen to wait for it, and how long. Its owner's. */
	const struct finding_seen {
		uint32_t probe;
		uint64_t ns;
	} * seen;
	size_t nseen;
	uint32_t cause; /* of a symptom: the finding that it is seen of */
	bool uneven;    /* the event takes much of the time of one thread, little of that of another: */
	struct finding_share {
		uint32_t thread;
		double percent; /* of the time in which the thread was observed */
	} most, least;
};

struct report {
	struct profile *profile;
	const struct definitions *d;
	struct recording *recording; /* NULL: live */
	struct relations *relations; /* of it; NULL: there is none */
	const char *note;            /* of the findings; NULL: none */
	uint64_t simulates;          /* runs of so many calls at most: a simulation takes 1 to 2 us a call */
	int simulation_error;        /* the first; 0: none has failed. Without it gains are not known (gains.h) */
	uint64_t start, end;         /* ns */
	uint64_t calls, delivered, lost, summed, skipped;
	uint64_t wall; /* ns: sum over the threads */
	struct report_event *events;
	size_t nevents;         /* by self, largest first */
	struct tally *by_event; /* by event index */
	struct report_thread *threads;
	size_t nthreads; /* by rank, process and tid; without idle ones */
	struct site_row *sites;
	size_t nsites; /* by total, largest first */
	struct row *rows;
	size_t nrows; /* the profile's, by thread and self */
	struct finding *findings;
	size_t nfindings;
	struct finding *symptoms; /* what shows that there is one of these findings, and would be one without it */
	size_t nsymptoms;
	struct relief *reliefs; /* that gave findings their gains (gains.h) */
	size_t nreliefs, reliefs_room;
	struct together {
		bool known;         /* two of the findings and more have a simulated gain */
		uint64_t sum, gain; /* ns: of their gains, and what they would give together */
	} together;
	struct report_phase {
		const char *name; /* "before", "iterations", "after" */
		uint64_t from, to;
		uint64_t number, iterations; /* the first of them, from 0 on; 0: it has none */
	} * phases;
	size_t nphases;                  /* of the main iterations, in the order of time (phases.c) */
	const struct grouping *grouping; /* what the user wants calls to be summed up by (by.c) */
	bool outs;                       /* probes of some events were out for a while */
	uint64_t regions_told;           /* ns: what threads wait in and between regions, of which findings tell why
					    (regions_rows.c) */
	/* ns in which a thread could have run, had no processor, and lost something by that (queued.c): by thread, and
	 * by definitions.queues[]. scheduling_lost() and scheduling_lost_in() read them. */
	const uint64_t *queue_lost, *queue_lost_in;
	size_t nqueue_lost, nqueue_lost_in;
	const struct vain *vain; /* calls that found nothing (vain.h); NULL: not known */
	bool causes_known;       /* of all waiting it was looked for whom, and why that one is late (delays.c) */
};

/*
 * Adds the calls that became no span to the rows, and what they took to the threads (missing_calls.c): report->rows
 * must have room for one more row for each of d->sums, whose events must be known to the profile. 0 or -ENOMEM.
 */
int report_add_sums(struct report *report);
/* The calls of the event or thread that are not on the timeline. */
static inline uint64_t tally_missing(const struct tally *tally)
{
	return tally->lost + tally->summed + tally->skipped;
}

/* Sums up. 0 or -ENOMEM. */
int report_make(struct report *report, struct profile *profile, const struct definitions *d);
void report_free(struct report *report);
/* steps.c: how long the probes of each event were out; events[] is by event index here. 0 or -ENOMEM. */
int report_find_outs(struct report *report);
/* withdrawn.c: the same of models that were not observed to the end, and are so marked; to be called next. */
void report_find_withdrawn(struct report *report);
/* sites.c: calls from one instruction become one row, whatever process made them; by_line: those from one line. 0 or
 * -ENOMEM. */
int report_join_sites(struct report *report, bool by_line);
void report_sort_sites(struct report *report);

/* slow_threads.c: adds a finding for each thread that the others wait for, as far as means tell. 0 or -ENOMEM. */
int report_find_slow_threads(struct report *report);
/* probe_cost.c: adds a finding where probes take much of the threads' time; who: empty, gets these, and must live as
 * long as the report. 0 or -ENOMEM. */
int report_find_probe_cost(struct report *report, struct people *who);

struct printer;
/* findings_evidence.c: what reporter_explain() promises. */
int findings_explain(const struct printer *printer, unsigned number);
/* findings.c: what an analysis found out (analysis.end), for the section of findings; its text is made here. 0 or
 * -ENOMEM. */
int report_add_finding(struct report *report, const struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The thread's; NULL: not known. */
static inline const struct def_process *report_process(const struct report *r, uint32_t thread)
{
	return thread_process(r->d, thread);
}

/* The first of the thread's rows, which stand together. */
size_t report_first_row(const struct report *report, uint32_t thread);
const char *report_event_name(const struct report *report, uint32_t event);
/* The function that it is of, where each function is a row of its own (MARK_EACH); else NULL. */
const char *report_function(const struct report *report, uint32_t event);
/* Are its bytes those that receives were posted for, of which less may have come? */
bool report_event_posts(const struct report *report, uint32_t event);
/* Is it of calls that begin regions in which several threads have their shares (MARK_TEAM)? */
bool report_begins_regions(const struct report *report, uint32_t event);
/* event_label() of it. */
char *report_event_label(const struct report *report, uint32_t event, char *text, size_t room);

/* workers.c: a region has ended; seen: with the share of the thread that began it; self: ns of the call beside that. 0
 * or -ENOMEM. */
int workers_note_region(struct profile *profile, const struct definitions *d, const struct span *span, bool seen,
			uint64_t self);
/* A call that no other one is around, of a runtime that has regions. 0 or -ENOMEM. */
int workers_note_outermost(struct profiled_thread *thread, const struct probe_facts *facts, const struct span *span,
			   uint64_t duration);
void workers_free(struct profile *profile);
/* Divides row->outside, where the thread is a runtime's own. inside: ns in its calls. */
void workers_divide(const struct report *report, struct report_thread *row, const struct profiled_thread *thread,
		    uint64_t inside);

/* left_out.c: rows and call sites of processes that are no part of the job are dropped. */
void report_leave_out(struct report *report);

#endif
