/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stuck.h - the door of user/stuck: for every thread of a job the call in progress, for what it waits, and since when.
 *
 * Two sources. The stack tells of every call in progress, whenever it began, but of its arguments only what its
 * caller's code lets conclude. The probes, while they are in, tell of each call when it began and with which arguments.
 * What both say is put together here; what is not certain is marked so.
 */
#ifndef GASPBPF_STUCK_H
#define GASPBPF_STUCK_H

#include "probe/probe.h"
#include "recording/recording.h"
#include "stacks/stacks.h"
#include "util/json.h"
#include "waitgraph/waitgraph.h"

#define STUCK_CALLS 16 /* calls in progress on one thread, the outermost ones, that are told */

struct stuck_call {
	const struct site *site;
	const struct function *function; /* with @only the first of its meanings, unless the probes told */
	const struct image *image;       /* that it lies in */
	const struct value *values;
	size_t nvalues;
	uint64_t words[GB_SLOTS];
	unsigned nwords;
	uint32_t unread;    /* bit i: words[i] is not known */
	uint32_t certain;   /* bit i: words[i] is certain; else, where it is known, likely */
	bool seen;          /* it began while the probes were in */
	uint64_t start;     /* ns; then */
	uint64_t at_least;  /* ns; else it has lasted at least so long; 0: nothing is known */
	bool likely;        /* ... if it is one and the same call, which is likely */
	bool in_vain;       /* it is, and its thread has slept all the time, or run for long, without an end of it */
	size_t frame;       /* of its function, in the thread's frames; NO_FRAME: not known */
	uint64_t frame_end; /* address above its frame: tells calls on one stack apart */
	uint64_t caller;    /* return address; 0: not known */
};

#define NO_FRAME SIZE_MAX

/* Where a thread is in a script, read right after the last look. */
struct stuck_script {
	pid_t pid, tid;
	struct script script;
	uint64_t until; /* ns, CLOCK_MONOTONIC: when it had been read */
	bool still;     /* the thread had not run from that look on until it was read */
};

struct stuck_thread {
	pid_t pid, tid;
	char *name;
	char *label;       /* "rank 2", "worker-1 (tid 4711)" */
	size_t process;    /* index */
	char state;        /* as ps has it */
	long rank;         /* its own, or its process's; -1: none */
	bool is_rank;      /* it stands for that rank */
	bool is_helper;    /* it was started by a library and is in nothing but libraries: not the program's own */
	uint64_t still;    /* ns; it has not run for at least so long; 0: not known */
	uint64_t finished; /* calls that ended while the probes were in */
	struct stuck_call *calls; /* the outermost first */
	size_t ncalls;
	size_t waits_in; /* of those the one that the program waits in; ncalls: none */
	bool stuck;      /* that one has lasted for at least half the time that was watched, or for half a second */
	struct stack_frame *frames; /* the innermost first */
	size_t nframes;
	const struct stuck_script *script; /* NULL: it runs none */
	char *lock_name;                   /* of the lock that it waits for, where that has no address; NULL: none */
	char *place;                       /* where the program called that; or where it is; NULL: unknown */
	uint64_t futex;                    /* address at which it sleeps in the kernel; 0: elsewhere */
	uint64_t futex_value;
};

struct stuck_process {
	struct process *process;
	struct stack_space *space; /* NULL: cannot be unwound */
	const struct model *model; /* that gives its rank; NULL: it has none */
	long rank;                 /* -1: none */
	bool by_thread;            /* each of its threads has a rank of its own */
	bool ended;
	bool passed_over; /* its threads are not to be looked at; the caller's to set */
};

/* A call in progress, as the probes tell. */
struct stuck_open {
	pid_t pid, tid;
	const char *symbol, *event;
	uint64_t start;  /* ns */
	uint64_t caller; /* return address; 0: not known */
	bool stacked;    /* the thread may have left it on another stack: it is in it only where its stack shows it */
	uint64_t words[GB_SLOTS];
	unsigned nwords;
	uint32_t unread;
};

/* A function that a thread was in, or may have been, while the last look was taken; without names: calls of it were
 * lost (passing.c). */
struct stuck_passing {
	pid_t pid, tid;
	const char *symbol, *event;
};

/* A lock as a call names it. */
struct named_lock {
	uint64_t raw, high; /* its value; of one of 16 bytes, both words */
	bool is_address;    /* of the caller's own memory */
	bool is_decoded;    /* of a global address space: */
	uint64_t thread, address;
};

/* A lock that a thread took while the probes were in, and has not given back. */
struct stuck_hold {
	pid_t pid, tid;
	uint64_t since; /* ns */
	struct named_lock lock;
};

struct stuck {
	struct plan *names;    /* all functions that are known, to be found on stacks */
	bool lent;             /* that is the caller's */
	bool bare;             /* calls and stacks alone are wanted: no words, places, times */
	struct looker *looker; /* freed with it; NULL: /proc tells where threads are */
	struct stack_files *files;
	struct stuck_process *processes;
	size_t nprocesses;
	struct stuck_script *scripts;
	size_t nscripts, scripts_room;
	struct looks first, probed_look, last; /* probed_look: when the probes had come in; empty: they have not */
	struct stuck_thread *threads;          /* as of the last look */
	size_t nthreads, room;
	long ranks;            /* of the job; 0: not known */
	bool all_here;         /* all of them were started on this machine, and all that are there are looked at */
	bool all_in_one;       /* they are threads of one process */
	const char *unit;      /* what a rank is called */
	struct party *parties; /* for each thread, in the same order, then for ranks that are not there */
	size_t nparties;
	char **rank_labels; /* of those */
	int64_t **members;
	size_t nmembers;
	struct findings findings;
	struct stuck_hold *holds;
	size_t nholds, holds_room;
	struct stuck_passing *passing;
	size_t npassing, passing_room;
	uint64_t look_began, look_ended; /* ns; the last one, with the probes' lists of calls; 0: not yet */
	uint64_t watched;                /* ns; between the two looks */
	bool probed;                     /* the probes were in meanwhile */
	uint64_t probed_since;           /* ns */
	bool *is_probed; /* by index in names->sites: each call of it would have been told; NULL: none */
};

/* Takes these processes; wish: models, as of plan_new(). 0 or -errno, said. */
int stuck_open(struct stuck *stuck, const struct model_set *models, const char *wish, const pid_t *pids, size_t count);
/* The same with what another observation knows of these processes: the plan stays the caller's. */
int stuck_open_lent(struct stuck *stuck, struct plan *names, const pid_t *pids, size_t count);
void stuck_close(struct stuck *stuck);
/* A call that has ended while the probes were in, or calls that are lost. 0 or -ENOMEM. */
int stuck_take_span(struct stuck *stuck, const struct definitions *d, const struct span *span);
int stuck_take_gap(struct stuck *stuck, const struct definitions *d, const struct gap *gap);
/* The probes of this plan are in. 0 or -ENOMEM. */
int stuck_probed(struct stuck *stuck, const struct plan *probes);
/* Looks at all threads: the first time, and once more. 0 or -errno, not said. */
int stuck_look(struct stuck *stuck, bool last);
/* Looks once more, and finds the calls in progress on stacks alone: stuck->threads, as of now. As often as one likes.
 * 0 or -errno, not said. */
int stuck_look_anew(struct stuck *stuck);
/* A call that the probes saw in progress only before, or only after the last look. 0 or -ENOMEM. */
int stuck_note_passing(struct stuck *stuck, const struct stuck_open *open);
/* Puts both looks and the calls that the probes tell of together. opens: by thread, each thread's from the outermost
 * on. 0 or -ENOMEM. */
int stuck_resolve(struct stuck *stuck, const struct stuck_open *opens, size_t count);
/* When the script of this thread had been read (ns, CLOCK_MONOTONIC); 0: it runs none. */
uint64_t stuck_script_until(const struct stuck *stuck, pid_t pid, pid_t tid);
/* Forgets the last look, for another one. */
void stuck_forget(struct stuck *stuck);
/*
 * The lines of the program that led to the call, the innermost first, joined by " < ", at most `most`; malloc'ed.
 * Functions with a name, where there is no line. NULL: not known, or not certain. *direct: the frame that has made the
 * call; NULL: not known, or the program has made it itself, at a line of its own or with nobody known behind it.
 */
char *stuck_chain(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call, unsigned most,
		  const struct stack_frame **direct);
struct stuck_thread *stuck_find(const struct stuck *stuck, pid_t pid, pid_t tid);
/* Who waits for whom: parties and findings. 0 or -ENOMEM. */
int stuck_conclude(struct stuck *stuck);

/* The value of a call in words, into text; *likely: it is not certain. false: not known. */
bool stuck_value(const struct stuck_call *call, const struct value *v, char *text, size_t room, bool *likely);

struct stuck_style {
	unsigned width;   /* columns; 0: no limit */
	bool stacks, all; /* frames, too; helpers, too */
};
/* 0, or -ENOMEM, not said: what was printed is not whole. */
int stuck_print(struct stuck *stuck, FILE *out, const struct stuck_style *style);
int stuck_print_json(struct stuck *stuck, FILE *out);

/* "ring.c:33 in exchange", malloc'ed; NULL: nothing is known. */
char *stuck_place(const struct stack_frame *frame);

#endif
