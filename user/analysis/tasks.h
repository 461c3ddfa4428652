/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks.h - tasks and the workers that run them: what the files of this analysis share. Private to
 * user/analysis/tasks*.c.
 *
 * tasks.c follows each task from its submission to its end, by the events of all threads in one order of time.
 * tasks_workers.c says what each worker does meanwhile, and why it does nothing. tasks_bounds.c works out at the end
 * what the run could be as short as, tasks_findings.c what is out of line, and tasks_print.c and tasks_json.c tell it.
 * All times ns.
 */
#ifndef GASPBPF_ANALYSIS_TASKS_H
#define GASPBPF_ANALYSIS_TASKS_H

#include <uthash.h>

#include "analysis/analysis.h"
#include "analysis/index.h"
#include "analysis/task_calls.h"
#include "util/statistics.h"

#define HISTORY 8 /* parts of the time, as many for all workers and kinds of a runtime */

/* Why a worker has nothing to do, in this order: one of several free workers is idle for the first one that holds. */
enum idle {
	IDLE_READY,       /* a task was ready, and nobody had begun it */
	IDLE_BLOCKED,     /* tasks were submitted, and waited for others; or, where that is not seen, both */
	IDLE_LAST,        /* none was left, and the program waited for those that still ran */
	IDLE_UNSUBMITTED, /* none was left, and the program had not submitted more */
	IDLES
};

enum worker_state {
	WORKER_FREE,
	WORKER_DATA, /* it has a task, and waits for the task's data */
	WORKER_RUNS,
	WORKER_ENDS, /* gives back what its task wrote, up to where the task is over */
	WORKER_STATES
};

/* The longest chain of tasks that ends with one: each made the next one ready, or had it submitted. */
struct task_chain {
	uint64_t time; /* of the tasks, not between them */
	uint32_t tasks;
};

/* From one moment of tasks to a later one. */
struct task_latency {
	uint64_t count, sum, most;
};

/* The place that most of the calls come from, if one has the majority (Boyer and Moore). */
struct chief_site {
	uint32_t site;
	uint64_t lead;
};

/* A call that copies, and what it has moved so far. */
struct task_copy {
	unsigned depth; /* calls that copy, one in the other */
	unsigned nodes; /* that the transfers name; those that name less are parts of these */
	bool several;   /* pairs of nodes */
	uint32_t pair;  /* where count is not 0 */
	uint64_t count, bytes;
};

/* A thread, to one runtime of its process. */
struct task_member {
	uint32_t thread, pool;
	bool worker;   /* it runs tasks, or said that it would */
	bool numbered; /* `number` is known */
	enum worker_state state;
	int64_t number;               /* the runtime's own */
	uint32_t class;               /* of workers: the first probe of the same event; NO_INDEX: has run nothing */
	uint64_t since;               /* state */
	double mark[IDLES];           /* where it became free: task_pool.passed */
	uint64_t time[WORKER_STATES]; /* not of WORKER_FREE, which is these: */
	double idle[IDLES];
	double overhead; /* free, and its next task was ready: what the runtime takes from one task to the next. With
			      WORKER_ENDS all that the runtime takes */
	uint64_t executed;
	unsigned depth;            /* tasks that it is in */
	uint64_t began;            /* the outermost of these */
	unsigned fetching;         /* tasks that it waits for data of */
	uint64_t ending;           /* WORKER_ENDS: the task */
	struct task_chain running; /* depth: of what the outermost task had to wait for; else what has ended here */
	bool released;             /* what is made ready here is so by the task that has ended here */
	struct task_chain program; /* not a worker: what it has waited for */
	unsigned waits;            /* calls that wait, one in the other */
	uint64_t waits_since;
	struct task_copy copy;
	uint64_t submitted;
	uint64_t submitting; /* in calls that submit */
};

struct task_kind {
	uint32_t pool, probe;
	uint64_t what;    /* address of its description, or of a function; 0: neither is known */
	bool empty;       /* tasks without a description: they run nothing */
	const char *name; /* of the definitions; NULL: not known */
	uint64_t submitted, executed, time;
	struct task_latency blocked; /* from submission to being ready */
	struct task_latency waited;  /* from being ready to the start */
	struct task_latency started; /* from submission to the start */
	struct chief_site site;      /* where it is submitted */
};

struct task_part {
	uint64_t count, time;
};

/* A worker and a kind. */
struct task_cell {
	uint32_t member, kind;
	struct sample times;
	uint64_t least, most, total;
	uint64_t width; /* of each of these parts of the time, from task_pool.begin on */
	struct task_part history[HISTORY];
};

/* Two memory nodes. */
struct task_transfers {
	uint32_t pool;
	int64_t from, to;
	bool from_known, to_known;
	uint64_t count, bytes, unknown;    /* unknown: of count, those of unknown bytes */
	uint64_t timed, timed_bytes, time; /* those in a call that copies, and the calls' time */
};

enum task_step { TASK_UNSEEN, TASK_SUBMITTED, TASK_READY, TASK_FETCHED, TASK_RUNS, TASK_RAN };

struct task_key {
	uint64_t address;
	uint32_t pool, zero;
};

struct task {
	struct task_key key;
	enum task_step step;
	uint32_t kind; /* NO_INDEX: not known yet */
	bool submit_seen, ready_seen;
	uint32_t ready_by; /* the member that made it ready */
	uint32_t site;     /* where it was submitted */
	uint64_t submitted, ready;
	double passed;           /* task_pool.passed of IDLE_READY when it became ready */
	struct task_chain chain; /* before it */
	UT_hash_handle hh;
};

/* One runtime in one process. */
struct task_pool {
	uint32_t process, model; /* model: the first probe of it */
	bool knows_ready, knows_done;
	bool has_workers; /* its tasks say which worker runs them */
	bool begun;
	uint64_t begin, last; /* from the first task that was heard of to the last one's end */
	uint64_t now;
	uint64_t free, ready, blocked, waiting; /* at this time: workers, tasks, tasks, threads of the program */
	uint64_t told_ready, told_blocked;      /* to who watches */
	/* How long a worker that was free all the time would have been idle for each reason, up to now; and up to
	 * `last`. alone: beside those that are known already. */
	double passed[IDLES], passed_at_last[IDLES];
	double alone[IDLES], alone_at_last[IDLES];
	uint64_t submitted, executed;
	uint64_t matched;     /* tasks that were seen to be submitted, and to begin */
	uint64_t unsubmitted; /* tasks that began, and were not seen to be submitted */
	uint64_t unfinished;  /* in progress at the end */
	uint64_t fetched;
	uint64_t missing; /* calls that are not on the timeline */
	bool interrupted; /* measurement was off, or there was no room for a task */
	struct task_chain longest, latest;
	uint64_t latest_ended;
	uint64_t width; /* of each of the parts of its history */
	/* At the end: */
	uint64_t workers;                                            /* in tasks.order, from first_worker on */
	size_t first_worker, first_cell, ncells, first_kind, nkinds; /* kinds: in tasks.kind_order */
	bool has_area;
	double area;                                        /* the area bound */
	double spent[WORKER_STATES], idle[IDLES], overhead; /* of all workers; overhead: with WORKER_ENDS */
};

/* What kinds are told apart by: their description or function, or where neither is known their event (NO_INDEX). */
struct task_kind_key {
	uint64_t what;
	uint32_t pool, event;
};

struct task_kind_record {
	struct task_kind_key key;
	uint32_t kind;
	UT_hash_handle hh;
};

struct tasks {
	const struct definitions *d;
	struct task_calls calls;
	uint32_t *models; /* by probe: the first one of its model */
	uint32_t *events; /* likewise: the first one of the same event */
	size_t nmodels, nevents;
	struct task *all;
	struct task_pool *pools;
	size_t npools, pools_room;
	struct task_member *members;
	size_t nmembers, members_room;
	struct task_kind *kinds;
	size_t nkinds, kinds_room;
	struct task_cell *cells;
	size_t ncells, cells_room;
	struct task_transfers *pairs;
	size_t npairs, pairs_room;
	struct index by_pool, by_member, by_cell;
	struct task_kind_record *records;
	uint64_t beyond; /* calls of tasks, kinds or pairs that there was no room for */
	uint32_t *order; /* members that are workers, by pool, least busy first */
	size_t nworkers;
	uint32_t *kind_order; /* kinds, by pool, the most time first */
	struct report_watch watch;
	uint64_t *gaps; /* by process: lost calls of whatever event, as the threads' gaps tell */
	size_t ngaps;
};

/* An event that is being told. Pointers are good until something is added. */
struct task_event {
	struct tasks *s;
	const struct event *event;
	const struct span *span;
	const struct def_probe *probe;
	const struct task_call *call;
	struct task_pool *pool;
	struct task_member *member;
	uint32_t pool_number, number; /* number: of the member */
};

static inline uint64_t task_time(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* Why the workers did nothing, what the runtime takes, and what the run could be as short as: is it known? */
static inline bool task_pool_is_whole(const struct task_pool *pool)
{
	return pool->has_workers && pool->executed && pool->matched && !pool->missing && !pool->interrupted;
}

/* tasks_find.c */
/* The first probe of the same model, and for `event` of the same event, too. */
uint32_t tasks_first_probe(const struct definitions *d, uint32_t probe, bool event);
/* The same, looked up once: first[] holds the answer + 1. NO_INDEX: out of memory. */
uint32_t tasks_first_of(const struct definitions *d, uint32_t **first, size_t *count, uint32_t probe, bool event);
/* add: also where there is none yet. 0, -ENOENT or -ENOMEM. */
int tasks_find_pool(struct task_event *t, bool add);
/* Of the pool. 0 or -ENOMEM. */
int tasks_find_member(struct task_event *t);
/* Both NO_INDEX: out of memory, or (*beyond) too many. */
uint32_t tasks_find_kind(struct task_event *t, bool *beyond);
uint32_t tasks_find_cell(struct tasks *s, uint32_t member, uint32_t kind, bool *beyond);
/* NULL: there is none, or out of memory. */
struct task *tasks_find_task(struct task_event *t, uint64_t address, bool add);

/* tasks_steps.c: those that can fail return 0 or -ENOMEM. */
int task_submit(struct task_event *t, struct task *task);
int task_become_ready(struct task_event *t, struct task *task);
int task_run(struct task_event *t, struct task *task);
void task_be_done(struct task_event *t, struct task *task);
void task_move(struct task_event *t, struct task *task, enum task_step to);
void task_count_down(uint64_t *count);
void task_chain_longer(struct task_chain *chain, const struct task_chain *other);

/* tasks_told.c: for who draws them */
void task_tell_run(const struct task_event *t, const struct task *task, uint32_t kind);
int tasks_tell_kinds(void *state, const struct report *r, const struct report_teller *teller);

/* tasks_transfers.c: 0 or -ENOMEM. */
int tasks_tell_transfer(struct task_event *t);
int tasks_tell_copy(struct task_event *t);

/* tasks_steps.c: makes the parts of its history longer, up to this; a power of two times what they are. */
void task_cell_widen(struct task_cell *cell, uint64_t width);
/* tasks_workers.c */
/* Time goes on: free workers are idle for some reason. */
void task_pool_advance(struct task_pool *pool, uint64_t time);
/* The last task is not over before now. */
void task_pool_last(struct task_pool *pool);
/* The thread is a worker of the pool, from its beginning on. */
void task_worker_found(struct task_pool *pool, struct task_member *worker);
/* next: the task that it takes, where it leaves WORKER_FREE; NULL: none. */
void task_worker_enter(struct task_pool *pool, struct task_member *worker, uint32_t number, enum worker_state state,
		       const struct task *next);
/* No more comes. */
void task_worker_end(struct task_pool *pool, struct task_member *worker);

/* tasks_bounds.c: sums up. 0 or -ENOMEM. */
int tasks_sum_up(struct tasks *s);
/* tasks_findings.c: 0 or -ENOMEM. */
int tasks_tell(const struct tasks *s, struct report *r);
/* tasks_print.c, tasks_json.c */
void tasks_print(void *state, const struct printer *printer);
void tasks_json(void *state, const struct report *r, struct json *j);
/* Of a kind: its name, or what stands for it. Into text, which is returned. */
char *task_kind_label(const struct tasks *s, const struct task_kind *kind, char *text, size_t room);
/* Of the pair: has another one of its pool both nodes? Then this one's are parts of those. */
bool task_pair_is_part(const struct tasks *s, const struct task_transfers *pair);
/* ns a task: what the runtime takes of a worker's time for each that it runs. */
double task_pool_overhead(const struct task_pool *pool);

#endif
