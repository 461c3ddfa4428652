/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parts.h - what the files of user/simulate share. Private.
 *
 * The recording's events (user/timeline) are fed thread by thread. What a thread does becomes a row of items: calls
 * and, between them, the program's own work. A call that may depend on other threads is an *operation*; what it
 * depends on is found from recorded times and order alone, when it is fed: messages are matched (match.c), collective
 * operations put together (group.c), locks handed on (lock.c). The schedule (schedule.c) then goes through each
 * thread's items as far as all they depend on is reached (op.c), asks the plug-in for ends (end_times.c), and writes
 * the calls at their new times (output.c).
 *
 * What an operation waits for does not depend on times, so several scenarios are computed in one go: what the
 * plug-in says, and, for the efficiencies, the ideal network with the recorded work and with the plug-in's.
 */
#ifndef GASPBPF_SIMULATE_PARTS_H
#define GASPBPF_SIMULATE_PARTS_H

#include "cpf.h"
#include "meaning/answers.h"
#include "meaning/value.h"
#include "simulate/polls.h"
#include "simulate/relations.h"
#include "simulate/simulate.h"
#include "timeline/timeline.h"
#include "util/array.h"

enum scenario { AS_TOLD, IDEAL_BEFORE, IDEAL_AFTER, SCENARIOS };

struct times {
	uint64_t at[SCENARIOS];
};

/* --- what a probe means here (facts.c) --------------------------------- */

enum kind {
	KIND_NEST,  /* not an operation: what is inside counts, too */
	KIND_ALONE, /* nothing to do with other threads */
	KIND_LOCAL, /* a call of a parallel runtime that involves nobody else */
	KIND_SEND,
	KIND_RECV,
	KIND_EXCHANGE,
	KIND_WAIT,       /* completes what was begun before, or waits for something unknown */
	KIND_COLLECTIVE, /* all of a group: collective operations and barriers */
	KIND_NOTIFY,     /* begins a split barrier */
	KIND_ONE_SIDED,
	KIND_ACQUIRE,
	KIND_TRY,
	KIND_RELEASE
};

/* What a call tells others, or is told by them (posts.c). */
enum signal {
	SIGNAL_NONE,
	SIGNAL_WINDOW,   /* makes a window */
	SIGNAL_EXPOSE,   /* the caller's memory is open from here on */
	SIGNAL_BEGIN,    /* of accesses to that of others */
	SIGNAL_TRANSFER, /* such an access */
	SIGNAL_COMPLETE, /* the end of the accesses */
	SIGNAL_EXPOSED,  /* waits for the end of others' accesses */
	SIGNAL_LOCK,     /* of the memory of somebody else */
	SIGNAL_UNLOCK,   /* likewise */
	SIGNAL_NOTIFY,   /* lets somebody go on who waits for an event */
	SIGNAL_STORE,    /* likewise where that is what one waits for */
	SIGNAL_AWAIT,    /* waits for one of these two */
	SIGNAL_WAKE,     /* lets a thread of the same process go on: a condition, a semaphore */
	SIGNAL_SLEEP     /* waits for one of these */
};

struct facts {
	enum kind kind;
	enum role role;
	bool begins; /* returns at once; a wait ends it */
	bool task;   /* pieces of it go to ProcessTask */
	bool sync;   /* a send that waits for its receiver */
	bool test;   /* a wait that may fail */
	bool finds;  /* it ends when there is a message, which another call receives; or ... */
	bool takes;  /* ... takes that, so that the call that receives it needs to know no more than a handle */
	bool taken;  /* a receive of such a one */
	bool pairs;  /* a wait for those that it names, each of which waits for the caller (pairs.c) */
	bool starts; /* messages that were described by other calls (persistent.c) */
	enum { DESCRIBES_NOTHING, DESCRIBES_SEND, DESCRIBES_RECV } describes;
	bool split;        /* a wait that ends what a notify of its model began */
	bool global_locks; /* the same lock in all processes */
	uint64_t family;   /* of calls that name no lock: the number of theirs; 0: they name it, or are about none */
	bool fences;       /* a barrier that ends one-sided transfers */
	bool team, share;  /* a region of several threads; what one of them does of it (teams.c) */
	enum signal signal;
	uint32_t func, model;
	uint32_t fence; /* enum cpf_one_sided_kind */
	bool has_nobody;
	int64_t nobody; /* the rank with which nothing is moved */
	struct answers answers;
	struct payload_plan *payload;
};

/* --- what is simulated -------------------------------------------------- */

struct op;

/*
 * One half of a point-to-point message: the send or the receive. The two live until nobody needs either: each holds
 * counts operations and waits that are still to be simulated.
 */
struct half {
	/* What queues and pairs look at, while it may have left the cache: together. */
	struct half *next, *before; /* in its channel's queue */
	struct half *other;         /* NULL: not matched */
	struct half *peek;          /* on a send: of who waits for it, and does not receive it */
	struct op *waiting;         /* that can go on when the other half is reached */
	uint64_t start;             /* recorded: of the send; of a receive the post */
	uint32_t thread;
	unsigned holds;
	bool is_send, queued;
	bool peeks;                   /* it is no receive, but waits for the message that the next one gets */
	bool pairs;                   /* of facts.pairs: nothing is moved, and both calls are going on together */
	bool alone;                   /* no other half will come */
	bool sync;                    /* a send that does not end before its receiver has come */
	bool begins;                  /* a wait ends it */
	bool completed;               /* a receive whose end is known: its own, or its wait's */
	bool reached;                 /* new_start is final */
	bool asked;                   /* new_end is final */
	bool backwards;               /* on a receive: it ended before it was sent */
	uint32_t func, comm, partner; /* partner: process */
	uint32_t probe, site;
	const struct def_comm *members; /* of the communicator; NULL: not known */
	int32_t tag;
	uint64_t bytes;
	uint64_t end; /* recorded: of the send; of a receive its end */
	struct times new_start, new_end;
};

/* Something begun that a wait ends. */
struct request {
	struct request *next, *before; /* of the process, in the order in which they were begun */
	int64_t handle;
	bool known; /* the handle is */
	uint32_t thread;
	struct half *halves[2];
	struct instance *instance;
	unsigned member;
};

struct group;

struct participant {
	bool fed, reached;
	bool decided; /* new_end is final; one that comes when the others have given up waiting has none */
	uint32_t thread, func, probe, site;
	uint64_t sent, received;
	uint64_t start, end; /* recorded */
	struct times new_start, new_end;
	struct op *op; /* that waits; NULL: it went on (a collective operation that was only begun) */
};

/* One collective operation. */
struct instance {
	struct group *group;
	uint64_t number;
	unsigned expected, fed, reached, users;
	uint32_t func;
	int64_t root;                  /* participant; -1: none or unknown */
	bool done, begun;              /* begun: no one waits in the call itself */
	bool told;                     /* relations.c */
	uint64_t latest, earliest_end; /* recorded: last start, first end */
	/* Of those that are reached. */
	unsigned last;                      /* who came last in the recording; NO_INDEX: nobody has come */
	struct times new_first, new_latest; /* starts; UINT64_MAX and 0: nobody */
	struct participant members[];
};

struct lock;

/* One time that a thread has a lock. */
struct hold {
	struct hold *previous; /* who had it before; NULL: unknown */
	struct lock *lock;
	unsigned users;
	bool settled, released_fed, released;
	uint32_t thread;
	uint64_t taken;   /* recorded end of the acquire */
	uint64_t release; /* recorded start of the release */
	struct related_call takes, gives;
	struct times new_release;
	struct op *next_op;     /* who waits for the release */
	struct hold *next;      /* unsettled ones of the lock */
	struct hold *next_held; /* by the thread */
};

struct post;
struct epoch;

struct op {
	struct op *free;
	enum kind kind;
	bool reached;
	uint32_t thread, func, probe, site;
	uint64_t start, end; /* recorded */
	uint64_t last_start; /* related_call.last */
	struct called asked; /* where there are more: the first of them */
	bool asks;           /* these are told as a call, whatever came of them */
	struct times new_start, new_end;
	int64_t sent, received; /* bytes; -1 unknown */
	struct half *send, *recv;
	struct half **halves;
	size_t halves_room;
	unsigned nhalves; /* of a wait: what it ends */
	struct instance *instance;
	unsigned member;
	struct instance **instances;
	unsigned *members;
	size_t instances_room, members_room;
	unsigned ninstances; /* of a wait */
	uint64_t last;       /* recorded, of a wait: the last start that it waited for */
	struct hold *hold;   /* taken here, or given back here */
	bool unsettled;      /* what it waits for is not known yet (posts.c) */
	struct post *post;   /* what it tells others */
	struct awaited_post {
		struct post *post;
		enum wait_state state;
	} * posts; /* what it waits for */
	unsigned nposts;
	struct op *next_waiting; /* for the same post */
	int64_t target;          /* process; -1 */
	uint64_t lock_number;
	const struct facts *facts;
};

static inline struct related_call op_call(const struct op *op)
{
	return (struct related_call){ op->thread, op->probe, op->site, op->start, op->end, op->last_start };
}

/* Of those that wait for their turn, or to be used again, there are more than the cache holds: asked for in time. (A
 * call that does nothing else would be left out by the compiler.) */
static inline __attribute__((always_inline)) void op_fetch(const struct op *op)
{
	for (size_t at = 0; op && at < sizeof(*op); at += 64)
		__builtin_prefetch((const char *)op + at, 1);
}

enum item_type {
	ITEM_START,
	ITEM_END,
	ITEM_MOMENT,
	ITEM_GAP,
	ITEM_BEGIN,
	ITEM_DONE, /* of an operation */
	ITEM_OFF,
	ITEM_TEAM,  /* the start of a region of several threads */
	ITEM_SHARE, /* of a share of one */
	ITEM_ALONE  /* a whole call that has nothing to do with others, where nothing is written */
};

struct alone {
	uint64_t end; /* recorded */
	uint32_t probe, site;
};

/* In a thread's row; a span, cut to its words, a gap, or what is said of a call alone follows. */
struct item {
	uint64_t time; /* recorded */
	union {
		struct op *op;
		struct team *team;   /* ITEM_TEAM */
		struct share *share; /* ITEM_SHARE */
	};
	uint8_t type, lane;
	uint16_t extra; /* bytes that follow */
};

struct row {
	uint8_t *data;
	size_t head, tail, room;
};

struct open_span {
	struct span span; /* with its new start */
};

struct lane_out {
	struct open_span *open;
	size_t nopen, room;
};

struct sim_thread {
	struct row row;
	struct poll poll;
	bool noting;        /* the first reading is inside of an operation */
	struct op *feeding; /* the operation that the events being fed are inside of */
	unsigned feeding_lane, feeding_level;
	struct hold *held;
	struct instance *notified;
	unsigned notified_member; /* a split barrier that it has begun */
	uint64_t begin;           /* recorded: what is known of it begins */
	uint64_t fed;             /* recorded: so far it has been fed */
	uint64_t first, last;     /* recorded: its first and last event, by the first reading */
	uint64_t slept;           /* ns, recorded: in calls that wait until another thread lets it go on */
	bool fed_any, queued, begun, undecided;
	bool adrift;   /* it has waited for something unknown, so when it is there had others been quicker is unknown */
	struct op *at; /* the operation it is in, or waits in */
	uint64_t old;  /* recorded time up to which it is simulated */
	struct times now; /* the same, new */
	uint32_t *nest;
	size_t nnest, nest_room; /* functions and tasks in progress: probes */
	uint64_t *tasks;
	int64_t *workers; /* and what they are of, as far as told */
	/* teams.c: the regions of several threads, and shares of such, that it is in. */
	struct team_frame {
		size_t level; /* nnest in it */
		struct team *team;
		struct share *share;
	} * frames;
	size_t nframes, frames_room;
	uint64_t last_team; /* recorded: the start of the last region that it begins; 0: it begins none */
	bool for_team;      /* it waits for others of its team */
	struct lane_out lanes[TIMELINE_LANES];
	bool lossy_gap;                /* the next piece of work is not traced */
	bool takes_part;               /* it has operations that depend on others */
	uint64_t useful, useful_after; /* ns */
	struct milestone {
		bool known;
		uint64_t old, useful; /* ns */
		struct times now;
	} set_up, ends; /* relations.c: it has set up its runtime, and is about to end it */
};

/* A time in the definitions, to be moved when the first thread of its process comes there. */
struct moment {
	uint64_t old;
	uint64_t *time;
};

struct sim_process {
	long rank;
	bool from_start;       /* its runtime's beginning was seen */
	uint32_t start_model;  /* and which runtime's, where it was */
	bool lossy;            /* calls are missing: its messages and collective operations cannot be matched */
	bool awaits;           /* some of its calls wait for a notification */
	bool misses_teams;     /* some of its regions of several threads are missing, or shares of these */
	uint32_t first_thread; /* NO_INDEX: none */
	struct request *requests, *last_request;
	size_t nrequests;
	struct moment *marks;
	size_t nmarks, marks_room, next_mark; /* in the order of time */
	uint64_t mark_old, mark_new;
};

struct counts {
	uint64_t calls, ops, messages, collectives, locks;
	uint64_t unmatched_sends, unmatched_recvs, backwards, incomplete, apart, unknown_waits, broken, lossy;
	uint64_t teams;  /* times that a thread went on since another one of its team let it */
	uint64_t untold; /* calls of which posts.c does not know what they wait for */
};

struct teller;
struct waiting_thread;
struct comm;

/* What the first reading has found, for further simulations of the same recording (group.c). */
struct kept_groups {
	struct groups *groups; /* NULL: nothing yet */
	bool *from_start;      /* by process */
	struct kept_thread {
		uint64_t last, last_team;
		bool rests;
	} * threads;
	uint64_t calls;
};

struct sim {
	const struct simulation *options;
	unsigned scenarios;       /* so many are computed, from the first on */
	struct kept_groups *kept; /* NULL: nobody simulates it again */
	struct teller *teller;    /* NULL: nobody wants to know what belongs together (relations.c) */
	bool measures;            /* ... and how much of it; plug-ins always want to */
	bool doubts_clocks;       /* relations_doubt_clocks() */
	uint64_t doubt;           /* ns; likewise */
	struct recording *recording;
	const struct definitions *d;
	struct facts *facts; /* by probe */
	struct cpf_function *functions;
	size_t nfunctions;
	struct sim_thread *threads;
	struct sim_process *processes;
	struct cpf_plugin *plugins[SCENARIOS];
	struct cpf_plugin *original; /* what cpf_create() gave; plugins[AS_TOLD] is a copy of its table */
	struct cpf_setup setup;
	bool foreign; /* plugins[AS_TOLD] comes from a file */
	bool alike;   /* all are the same built-in: scenarios differ by what their threads are relieved of (relations.c)
		       */
	struct progress *progress;
	uint32_t *ready;
	size_t nready;       /* threads */
	bool in_part;        /* only a part of a chunk is fed, */
	uint32_t *undecided; /* and these threads send what somebody may be about to receive */
	size_t nundecided;
	size_t queued_bytes; /* of all rows */
	uint64_t settled;    /* recorded: all that ended before has been fed */
	uint64_t latest;     /* recorded: largest end fed */
	bool all_fed;
	struct op *free_ops;
	struct op alone; /* stands for all that are told as ITEM_ALONE, while they are fed */
	struct half *free_halves;
	struct request *free_requests;
	void *events; /* room for those of a collective operation (end_times_groups.c) */
	size_t events_room;
	/* A heap of those that wait, while somebody has to go on (schedule.c). */
	struct waiting_thread *waiting;
	size_t nwaiting, waiting_room;
	bool giving_way;
	struct matcher *matcher;
	struct described *described; /* messages, by their handles */
	struct groups *groups;
	struct locks *locks;
	struct posts *posts;
	struct teams *teams; /* NULL: nobody wants to know */
	bool misses_posts;   /* some calls are missing: which one somebody waited for cannot be told */
	struct recording_writer *writer;
	struct definitions after;
	struct counts counts;
	int error;
};

/* simulate.c: all but the result and the plug-ins' last words. The recording is open. 0 or -errno. */
int simulation_run(struct sim *sim);
void simulation_close(struct sim *sim);

/* facts.c */
int facts_open(struct sim *sim);
void facts_close(struct sim *sim);
/* The first known number; false: none is known. */
bool fact_number(const struct facts *facts, enum want want, const struct span *span, int64_t *number);
/* A number is known, and it is the one that says "nobody". */
bool fact_is_nobody(const struct facts *facts, enum want want, const struct span *span);
struct sent_words span_words(const struct span *span);
/* Whether what the call asks for has come; where it does not say, it has. */
bool call_found(const struct facts *facts, const struct span *span);
/* Whether the call came to its end. */
static inline bool span_returned(const struct span *span)
{
	return span->reason == GB_END_RETURN || span->reason == GB_END_TAIL;
}

/* group.c: who takes part in what. Reads the whole recording once, unless sim->kept has it. */
int groups_open(struct sim *sim);
/* The communicator that a call is about, as far as it is told. */
struct told_comm {
	const struct def_comm *members; /* NULL: not told */
	const struct comm *known;       /* NULL: it was not met in the first reading, or there is none */
	uint32_t number;                /* for plug-ins; CPF_NONE: unknown */
};
struct told_comm groups_comm(struct sim *sim, const struct facts *facts, const struct span *span);
/* Which process is rank `rank` of the communicator of a call of this process; NO_INDEX: unknown. */
uint32_t groups_process(const struct sim *sim, uint32_t process, const struct told_comm *comm, int64_t rank);
/* The same for a half's communicator. */
uint32_t groups_member(const struct sim *sim, const struct half *half, int64_t rank);
/* The same in a communicator with these members. */
uint32_t groups_process_among(const struct sim *sim, uint32_t process, const struct def_comm *members, int64_t rank);
/* Of the communicator that a call names; NULL: not told. */
const struct def_comm *groups_members(const struct sim *sim, const struct span *span);
/* Do both have a rank in one job? */
bool groups_same_job(const struct sim *sim, uint32_t a, uint32_t b);
/* What stands for the call's communicator in all processes. False: it has none. */
bool groups_comm_value(struct sim *sim, const struct facts *facts, const struct span *span, uint64_t *value);
/* The operation's place in the instance it belongs to. 0, or -ENOMEM. op->instance stays NULL where that is not known.
 */
int groups_join(struct sim *sim, struct op *op, const struct span *span);
/* One of which only the call was seen, not its end: the others go on without it, and it is counted as not complete. 0
 * or -ENOMEM. */
int groups_pass(struct sim *sim, const struct span *span);
void groups_close(struct sim *sim); /* or leaves it in sim->kept */
void kept_groups_free(struct kept_groups *kept);
void instance_leave(struct sim *sim, struct instance *instance);
/* The member's new start is final. */
void instance_reach(struct instance *instance, unsigned member, const struct times *start);
size_t groups_size(const struct group *group);
uint64_t groups_number(const struct group *group);
/* Does nothing but their order tell which of its calls are one operation? */
bool groups_guessed(const struct group *group);
uint32_t instance_comm(const struct instance *instance);

/* match.c */
int match_open(struct sim *sim);
void match_close(struct sim *sim);
/* The halves of messages that an operation is, and the requests that it begins or ends. 0 or -ENOMEM. */
int match_feed(struct sim *sim, struct op *op, const struct span *span);
/* A half whose communicator, partner and tag are known. alone: it has no other half that could be seen. */
int match_post(struct sim *sim, struct half *half, bool alone);
/* persistent.c: what calls say of messages that others begin, and these. 0 or -ENOMEM. */
int persistent_describe(struct sim *sim, const struct op *op, const struct span *span);
int persistent_begin(struct sim *sim, struct op *op, const struct span *span);
void persistent_close(struct sim *sim);
void match_settle(struct sim *sim);
/* Puts together what has its other half by now; who waits for one that will not come waits on. */
void match_what_came(struct sim *sim);
/* The end of a receive is known now: was it sent later than that? */
void match_check_direction(struct sim *sim, struct half *receive);
/* What the status of a wait says of a receive from anybody. 0 or -ENOMEM. */
int match_learn_sender(struct sim *sim, struct half *half, const struct op *op, const struct span *span);

/* pairs.c: those that the call waits for. 0 or -ENOMEM. */
int pairs_feed(struct sim *sim, struct op *op, const struct span *span);

/* message.c: one of those that needed the half does not any more. */
void half_leave(struct sim *sim, struct half *half);
/* The operation waits for this half, too, with a hold of the caller's. 0 or -ENOMEM. */
int half_await(struct op *op, struct half *half);

/* requests.c */
/* The operation has begun what a wait will end. 0 or -ENOMEM. */
int requests_begin(struct sim *sim, struct op *op, const struct span *span);
/* One that another call has described, by its handle. 0 or -ENOMEM. */
int requests_add(struct sim *sim, const struct op *op, int64_t handle, struct half *half);
/* What this wait has ended becomes part of it. 0 or -ENOMEM. */
int requests_wait(struct sim *sim, struct op *op, const struct span *span);
/* Calls that name a request and do not wait for it: it is given up, or begun again. */
void requests_local(struct sim *sim, struct op *op, const struct span *span);
/* Those that nobody waited for. */
void requests_close(struct sim *sim);

/* lock.c */
int locks_open(struct sim *sim);
void locks_close(struct sim *sim);
int locks_feed(struct sim *sim, struct op *op, const struct span *span);
void locks_settle(struct sim *sim);
void hold_leave(struct hold *hold);
/* Whether an acquire may be decided; if not, its thread is woken later. */
bool lock_is_ready(struct sim *sim, struct op *op);

/* posts.c: only where somebody wants to know what belongs together (sim.teller); what plug-ins are asked is as ever. */
struct post {
	unsigned users;
	bool reached;
	struct related_call call, taken;
	uint64_t accessed;
	uint64_t addresses[2], bytes; /* where it stores something; 0: anywhere */
	struct times new_start;
	struct op *waiting; /* the first of them */
};
int posts_open(struct sim *sim);
void posts_close(struct sim *sim);
/* The first reading: which windows there are. 0 or -ENOMEM. */
int posts_note(struct sim *sim, const struct span *span);
/* Whether it wants to be fed with this operation. */
bool posts_want(const struct sim *sim, const struct op *op);
/* Has the send taken so long that it may have waited until its receiver was in any call? */
bool posts_send_is_slow(const struct facts *facts, const struct span *span);
/* ns of all of these, by the first reading. group.c */
uint64_t groups_slow_sends(const struct sim *sim);
/* It has entered a call, where somebody may wait for that; more than once: it stays in it. 0 or -ENOMEM. */
int posts_enter(struct sim *sim, struct op *op);
/* What the operation tells others, and that it has to be found out what it waits for. 0 or -ENOMEM. */
int posts_feed(struct sim *sim, struct op *op, const struct span *span);
void posts_settle(struct sim *sim);
/* The operation has begun: its new start is final. */
void posts_reach(struct sim *sim, struct op *op);
/* Whether all that it waits for is reached; if not, its thread is woken later. */
bool posts_are_ready(struct op *op);
/* It goes on without. */
void posts_give_up(struct sim *sim, struct op *op);
void posts_leave(struct op *op);

/* feed.c: for timeline_ops */
int feed_event(void *context, const struct definitions *d, const struct event *event);
int feed_gap(void *context, const struct definitions *d, const struct gap *gap);
int feed_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control);
/* All has been fed: what a thread still asks for has not come. 0 or -ENOMEM. */
int feed_rest(struct sim *sim);
void row_pop(struct sim *sim, struct row *row);
void op_free(struct sim *sim, struct op *op);

/* op.c: it has begun, and its new start is final; it can end; its new end; it ends as recorded. 0 or -errno. */
int op_reach(struct sim *sim, struct op *op);
bool op_is_ready(struct sim *sim, struct op *op);
int op_end(struct sim *sim, struct op *op);
void op_give_up(struct sim *sim, struct op *op);

/* schedule.c */
void schedule_wake(struct sim *sim, uint32_t thread);
int schedule_run(struct sim *sim);
void schedule_close(struct sim *sim);

/* end_times.c, end_times_groups.c: the plug-ins' calls. Each sets the ends of all scenarios. -EPROTO: a rule was
 * broken, said. */
int ask_work(struct sim *sim, struct sim_thread *thread, uint32_t index, uint64_t duration, bool traced);
int ask_alone(struct sim *sim, struct op *op);
int ask_send(struct sim *sim, struct op *op);
/* A message both of whose starts are final: sets the new_end of the halves that are asked for. */
int ask_message(struct sim *sim, struct half *send, struct half *receive, bool set_send, bool set_receive);
/* A wait's op->last, out of these receives and synchronous sends and of its collective operations; before ask_wait()
 * and ask_split(). */
void ask_wait_for(struct sim *sim, struct op *op, struct half **halves, unsigned count);
/* A wait for these receives and synchronous sends: the new_end of each, and of the wait. */
int ask_wait(struct sim *sim, struct op *op, struct half **halves, unsigned count);
int ask_unmatched(struct sim *sim, struct op *op);
int ask_collective(struct sim *sim, struct instance *instance);
int ask_split(struct sim *sim, struct op *op);
/* A call that waits for posts. */
int ask_posted(struct sim *sim, struct op *op);
/* Whom this member waits for, in the recording: the last that came, or the root; NO_INDEX: nobody. */
unsigned instance_waits_for(const struct sim *sim, const struct instance *instance, unsigned member);
/* These calls are not one operation. */
bool instance_is_none(const struct sim *sim, const struct instance *instance);
int ask_one_sided(struct sim *sim, struct op *op);
int ask_lock(struct sim *sim, struct op *op);
bool ask_synchronous(struct sim *sim, const struct half *send);

/* host.c: plug-ins */
int host_open(struct sim *sim);
void host_finalize(struct sim *sim);
void host_close(struct sim *sim);
enum callback {
	IN_NOTHING,
	IN_CREATE,
	IN_SETUP,
	IN_INITIALIZE,
	IN_FINALIZE,
	IN_DESTROY,
	IN_FUNCTION,
	IN_NON_TRACING,
	IN_MPI,
	IN_COLLOP,
	IN_P2P,
	IN_SEND,
	IN_WAIT,
	IN_ONE_SIDED,
	IN_LOCK,
	IN_SPLIT,
	IN_TASK,
	IN_UNMATCHED,
	IN_SYNCHRONOUS,
	CALLBACKS
};
extern const char *const callback_names[CALLBACKS];
/* Shared with the process that watches. */
struct progress {
	volatile uint32_t in;     /* enum callback */
	volatile uint64_t calls;  /* into the plug-in */
	volatile uint32_t broken; /* a rule was broken, and said */
};

/* builtin.c, dimemas.c */
struct builtin {
	const char *name, *help;
	/* NULL: a parameter is wrong, said, or no memory. */
	struct cpf_plugin *(*create)(char **parameters, size_t count);
	void (*destroy)(struct cpf_plugin *plugin);
};
extern const struct builtin builtin_ideal, builtin_nolock, builtin_same, builtin_dimemas;
/* Finds "name=..." ; NULL: it is not there. */
const char *parameter_find(char **parameters, size_t count, const char *name);
/* Says which parameter is none of these names (NULL-terminated). False: there is one. */
bool parameters_known(const char *plugin, char **parameters, size_t count, const char *const *names);

/* output.c */
int output_open_after(struct sim *sim);
int output_put_item(struct sim *sim, uint32_t thread, const struct item *item, uint64_t time);
static inline int output_item(struct sim *sim, uint32_t thread, const struct item *item, uint64_t time)
{
	return sim->writer ? output_put_item(sim, thread, item, time) : 0;
}
int output_finish(struct sim *sim);

/* relations.c: while somebody wants to know. What a thread has done, in the order of the schedule. 0 or -errno. */
int relations_enter(struct sim *sim, const struct op *op);
int relations_op(struct sim *sim, const struct op *op); /* it has ended */
int relations_work(struct sim *sim, uint32_t thread, uint64_t start, uint64_t end, uint32_t inside, bool known);
/* The thread was not needed any more, and goes on at the end of this call, the region's; another one let it, at its
 * start. */
int relations_go_on(struct sim *sim, const struct related_call *call, uint32_t of);
/* It has gone on: that may be earlier. */
void relations_relieve_team(struct sim *sim, const struct related_call *call);
/* The thread may let others of its team go on. What it did until then was before the one call, what it will do is after
 * the other. */
int relations_pass(struct sim *sim, uint32_t thread, uint64_t time, struct called before, struct called after);
/* In this scenario nobody waits for the lock that is taken here. */
bool relations_free_of_lock(const struct sim *sim, const struct op *op, enum scenario s);
/* The send was going on when its receive began: it has waited for that. */
bool relations_send_waits(const struct sim *sim, const struct op *op, const struct half *send);
/* What others would give is asked for: a send's end is found when it is known whether it waited for its receiver, and
 * of one that did it moves with the receiver. */
bool relations_delay_sends(const struct sim *sim);

/* efficiency.c */
void efficiency_before(const struct sim *sim, struct efficiencies *efficiencies);
int efficiency_print(struct sim *sim, FILE *out);

#endif
