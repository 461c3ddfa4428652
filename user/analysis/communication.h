/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication.h - what the files of the analysis `communication` share. Private to user/analysis.
 *
 *	communication.c            who sends how much to whom
 *	communication_runs.c       how: many small messages
 *	communication_habits.c     how: waits that overlap nothing
 *	communication_sums.c       what is made of it at the end, and the findings
 *	communication_print.c      the section of the text
 *	communication_json.c       the key of the JSON
 */
#ifndef GASPBPF_COMMUNICATION_H
#define GASPBPF_COMMUNICATION_H

#include <uthash.h>

#include "analysis/analysis.h"
#include "recording/communicators.h"

/* What a call does with the memory of the rank that it names, or sends there. */
enum traffic { TRAFFIC_SENT, TRAFFIC_PUT, TRAFFIC_GOT, TRAFFIC_ATOMIC, TRAFFICS };

extern const struct analysis analysis_communication;
extern const char *const traffic_names[TRAFFICS];

#define SIZES 65                /* column i > 0: of 2^(i-1) bytes up to less than 2^i; 0: of none */
#define SMALL 1024              /* bytes: a message of at most so many is small ... */
#define RUN_LEAST 4             /* ... and at least so many in succession are a run of them, ... */
#define TOGETHER (64 << 10)     /* ... which could go in messages of so many bytes */
#define QUICK 20000             /* ns: who sends a small message, and takes longer, has waited */
#define BETWEEN 5000            /* ns: of exchanges and collectives in a run, beyond the time that the next one takes */
#define WITH_ALL (NO_INDEX - 1) /* instead of a pair: of collective operations */
#define CYCLE_MOST 16           /* calls from one message of a run to the next, at most */
#define IDLE_PERCENT 5          /* a wait overlapped nothing where the thread did less of its own than so much of it */

struct flow {
	uint64_t operations, bytes, unknown; /* unknown: operations of which the bytes are not known */
};

/* What a process has done that names a rank of its job. */
struct comm_pair {
	uint32_t process, rank;
	struct flow flow[TRAFFICS];
	uint64_t time; /* ns, in these calls */
	/* At the end: */
	uint32_t target; /* process; NO_INDEX: it is not in the recording */
	struct flow all;
};

struct comm_process {
	struct flow collective;   /* of its calls */
	struct flow nobody;       /* to no rank at all, as the program wanted it */
	struct flow unknown;      /* to a rank that is not known */
	struct flow received;     /* received by calls that do nothing else, or also send */
	uint64_t unknown_senders; /* of these: the sender is not known at the call's end */
	/* At the end: */
	struct flow out, in;     /* in: by the calls of the others and its own that name it */
	struct flow own, others; /* one-sided: of its own part, of those of the others */
	uint64_t in_time;        /* ns in the calls that name it */
};

/* Calls from one place that belong to the small messages of another. */
struct comm_with {
	uint32_t place;
	uint64_t calls, time; /* ns */
};

/* Calls of one event from one place. */
struct comm_place {
	uint32_t event, site, process;
	uint64_t calls, below; /* below: inside of other communication, so no program's own */
	/* small messages in runs */
	uint64_t runs, messages, bytes, together; /* together: messages that would do */
	uint64_t time;                            /* ns: in these calls */
	uint64_t quick;                           /* ns: in those of them that did not wait, without the probe's part */
	uint64_t shortest;                        /* ns: of all small ones, likewise */
	uint32_t pair;                            /* whom they went to; NO_INDEX: several */
	bool mutual;         /* exchanges, collective operations: who calls them waits for others */
	bool atomic;         /* operations that bring something back */
	uint64_t with_quick; /* ns: in those calls that belong to them, and did not wait */
	struct comm_with with[CYCLE_MOST];
	uint32_t nwith;
	/* waits for something begun before by the same thread */
	uint64_t waits, wait_time; /* ns */
	uint64_t idle, idle_time;  /* those that overlapped nothing */
	uint32_t begun_event;      /* what such a wait was for, the last; NO_INDEX: none */
};

/* In which sum an operation was counted. */
enum comm_sum { IN_PAIR, IN_BEYOND, IN_UNKNOWN, IN_NOBODY, IN_RECEIVED, IN_COLLECTIVE, IN_NONE };

/* What was counted, and may turn out to be inside of another communication call: then it was not the program's. */
struct comm_entry {
	uint64_t begin;  /* ns */
	uint64_t around; /* accounted_call.around */
	uint64_t time;   /* ns */
	uint32_t depth;
	uint32_t pair, place; /* pair: valid for IN_PAIR */
	uint8_t in;           /* enum comm_sum */
	uint8_t traffic;
	uint8_t size; /* column of sizes; SIZES: none */
	bool unknown_sender;
	struct flow flow;
};

#define ENTRIES_MOST 256

/* Small messages in succession, with no other communication of this depth of calls between them but what belongs to
 * them, and that is the same from each one to the next. */
struct comm_run {
	uint32_t place, pair;
	uint64_t messages, bytes, time, quick;
	uint64_t end;    /* ns: of the last one */
	uint64_t deeper; /* ns: when the first call inside of something began, since the last call; UINT64_MAX: none */
	uint64_t since;  /* ns: what was begun up to then belongs to no run */
	uint64_t turns;  /* times that the first message of a cycle has come */
	uint64_t busy;   /* ns: in the calls since the last time */
	uint64_t with_quick;
	struct comm_step {
		uint32_t place, pair; /* pair: NO_INDEX: no message */
		uint64_t calls, time;
	} cycle[CYCLE_MOST]; /* what comes after the first message of it */
	uint32_t ncycle, at; /* of these; so many have come since the last time */
};

#define RUN_DEPTHS 4

struct comm_thread {
	uint64_t busy; /* ns in communication calls so far */
	struct comm_entry *entries;
	size_t nentries, room;
	uint64_t forgotten; /* ns: when the last of those began that there was no room for */
	struct comm_run runs[RUN_DEPTHS];
};

/* Something that was begun, until a wait ends it. Its handle will be used again. */
struct comm_request {
	struct {
		int64_t handle;
		uint32_t process, zero;
	} key;
	bool open;
	uint32_t thread, event;
	uint64_t end, busy; /* ns: of the call that began it; the thread's at that time */
	UT_hash_handle hh;
};

/* Which values of a probe's calls to ask: indices; -1: none. */
struct comm_probe {
	bool looked;
	bool parallel;                 /* it is of a runtime whose ranks name each other */
	bool begins;                   /* something that a wait ends */
	bool names_comm;               /* its ranks are those of a communicator */
	int16_t to, from;              /* whom it sends or puts to, or what it names; whom it gets from, of a copy */
	int16_t index;                 /* the first that tells which of its requests are done */
	uint32_t floor;                /* ns: of each duration, still to be taken off */
	uint32_t site;                 /* where its last call came from; NO_INDEX: no call had a site */
	uint32_t place;                /* the place of that */
	struct prepared_value *values; /* all of them */
	uint32_t nrequests;            /* values that are requests that it is given: */
	uint16_t *requests;
};

/* Communication from one line, whoever made it. */
struct comm_habit {
	uint32_t event, begun_event;
	char *place; /* as people call it */
	size_t processes;
	uint32_t process, pair; /* the first process; whom to, NO_INDEX: several */
	bool mutual, atomic;
	uint32_t first; /* place of it, of several */
	uint32_t to;    /* rank: all go there; NO_INDEX: there are several */
	uint64_t runs, messages, bytes, together, time, quick, shortest, gain;
	/* the calls that belong to them, by event and place as people call it; and how long in all */
	struct comm_with *with; /* place: one of them */
	size_t nwith;
	uint64_t with_time, with_quick;
	struct finding_seen *seen; /* of the finding */
	uint64_t waits, wait_time, idle, idle_time;
};

struct communication {
	const struct definitions *d;
	struct comm_index *comms;
	struct comm_probe *probes;
	size_t nprobes;
	struct comm_thread *threads;
	size_t nthreads;
	struct comm_process *processes;
	size_t nprocesses;
	struct index pair_index, place_index;
	struct comm_pair *pairs;
	size_t npairs, pairs_room;
	struct comm_place *places;
	size_t nplaces, places_room;
	struct comm_request *requests;
	struct window_comms windows;
	struct flow beyond;    /* of pairs that are not kept apart */
	uint64_t sizes[SIZES]; /* operations */
	uint64_t size_bytes[SIZES];
	uint64_t waits_unknown;   /* waits for what nobody saw begin, or another thread began */
	uint64_t nested_too_many; /* operations that may be counted twice */
	/* At the end: */
	struct flow all, collective;
	uint64_t missing;   /* operations that are not on the timeline */
	uint64_t described; /* calls that began messages which were described before: nothing is known of these */
	uint32_t ranks;     /* of the largest job */
	uint32_t *by_bytes; /* pairs, the heaviest first */
	size_t nby_bytes;
	struct comm_habit *small, *idle;
	size_t nsmall, nidle;
	uint32_t hot; /* process; NO_INDEX: none stands out */
	uint64_t hot_operations;
};

static inline void flow_add(struct flow *to, const struct flow *from)
{
	to->operations += from->operations;
	to->bytes += from->bytes;
	to->unknown += from->unknown;
}

static inline void flow_take(struct flow *from, const struct flow *part)
{
	from->operations -= part->operations;
	from->bytes -= part->bytes;
	from->unknown -= part->unknown;
}

/* The number of the value of the call; false: not known, or not given. */
static inline bool comm_number(const struct comm_probe *probe, const struct span *span, uint32_t value, int64_t *number)
{
	const struct sent_words sent = span_words(span);

	return prepared_number(&probe->values[value], &sent, number);
}

/* Whom a call names, of those that communicate: its rank in the job. */
#define PEER_UNKNOWN (-1)
#define PEER_NOBODY (-2) /* it stands for nobody */
#define PEER_NONE (-3)   /* the call names nobody at all */
/* state: of analysis_communication, which need not be told of the call. To be asked of all calls, since some say what
 * others mean. 0 or -ENOMEM. */
int communication_peer(void *state, const struct accounted_call *call, int64_t *rank);

/* communication_runs.c. */
/* A call from the place; pair: the one whose message of so many bytes it is, NO_INDEX: it is none. duration: ns,
 * without the probe's part. */
void runs_note(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
	       uint32_t place, uint32_t pair, int64_t bytes, uint64_t duration);
/* The thread's calls in succession end here. */
void runs_break(struct communication *c, struct comm_thread *thread);

/* communication_habits.c. */
/* The same of any call. 0 or -ENOMEM. */
int habits_note(struct communication *c, const struct accounted_call *call, const struct comm_probe *probe,
		uint32_t place, uint32_t pair, int64_t bytes);
/* The call waits for something that its thread began after this time, and for nothing else that is known. */
bool habits_waits_since(const struct communication *c, const struct accounted_call *call,
			const struct comm_probe *probe, uint64_t since);
void habits_free(struct communication *c);

/* communication_sums.c */
int communication_sum_up(struct communication *c, struct report *r);
/* The process's rank, or, of what is none, its name. Into text, which is returned. */
char *communication_name(const struct communication *c, uint32_t process, uint32_t rank, char *text, size_t room);

/* communication_print.c, communication_json.c */
void communication_print(void *state, const struct printer *p);
void communication_put(void *state, const struct report *r, struct json *j);

#endif
