/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.h - the door of user/recording: spans, what they refer to, and the
 * file NAME.gasp that keeps both (docs/recording.md has the format).
 *
 * A span refers to a thread and a probe by index into `struct definitions`, and to
 * its call site likewise. Live capture fills a definitions object as it meets
 * new things; a reader gets the same object from the file. Both then hand spans
 * to a span_sink, so that no analysis knows whether it runs live.
 *
 * Order: spans of one thread arrive in the order they ended (gb_span.sequence). Spans
 * of different threads arrive in no particular order.
 */
#ifndef GASPBPF_RECORDING_H
#define GASPBPF_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gaspbpf/wire.h"
#include "meaning/meaning.h"

#define NO_INDEX UINT32_MAX

#define RECORDING_TIME_MOST (1ull << 62) /* ns; no call is later: times can be added, and fit an int64_t */

/* Why a process is no part of the job (def_process.left_out). A newer recording may have other reasons. */
#define LEFT_OUT_LAUNCHER "launcher" /* all that it does is to start others */
#define LEFT_OUT_BESIDE "beside"     /* it maps no parallel runtime, where others of the job do */
#define LEFT_OUT_CHOICE "not chosen" /* who reads it has asked for others; no file says that */

struct def_process {
	uint32_t pid; /* of the initial PID namespace */
	uint32_t parent;
	char *command;       /* argv joined by blanks; any bytes */
	char *name;          /* comm */
	long rank;           /* -1: none */
	long ranks;          /* how many its job has; -1: not known */
	char *unit;          /* "rank", "PE", ...; NULL where rank is -1 */
	uint64_t start, end; /* ns; when observation of it began and ended; end 0: still alive at the end */
	int32_t exit_code;   /* as wait(2) gives it; valid where has_exit */
	bool has_exit;
	char *left_out; /* why it is no part of the job (LEFT_OUT_*): what is told of it counts nowhere; NULL: it is one
			 */
	char *job; /* ranks of other jobs are in the recording, too: which job its rank is of; NULL: there is one only,
		      or it is not known */
	bool others;    /* no process, but all of which there is no more to say than what they did together */
	uint32_t quiet; /* its threads that have made no observed call, and are in no table; 0 in older recordings */
	uint64_t quiet_run; /* ns that these were on a processor meanwhile */
	uint32_t node; /* of a merged recording: where it ran, index in definitions.nodes + 1; 0: there is one only */
};

struct def_thread {
	uint32_t process; /* index */
	uint32_t tid;
	char *name;           /* comm, last known */
	uint64_t calls, lost; /* final counts; calls = delivered + lost. 0 until known */
	bool counted;         /* calls and lost, cost and system are known */
	bool all;             /* stands for all threads of its process together: def_run.only_sums */
	uint64_t cost;      /* ns; what the probes took from it, by the calibration: with all that made them dearer than
			       def_probe.cost_ns; 0 in older recordings */
	uint64_t system;    /* ns that it spent in the kernel from its first call on, probes included; 0: not known */
	uint64_t observed;  /* ns from its first call to its end, or that of the observation: the time that the next
			       four are of; 0: these are not known */
	uint64_t run;       /* ns on a processor */
	uint64_t queued;    /* ns that it could have run, and waited for a processor; where queue_known */
	uint64_t preempted; /* times that it was taken from a processor */
	bool queue_known;
	uint32_t cpus; /* processors that it might use at that end; 0: not known */
	uint32_t cpu;  /* the one that it was on last; where cpus is known */
};

struct def_image {
	char *path;     /* as mapped; any bytes */
	char *soname;   /* NULL: none */
	char *build_id; /* hex; NULL: none */
};

/* Where an argument's value comes from: the first of several that is known. */
enum def_from_what { FROM_VALUE, FROM_GIVEN /* whether it was given: 1 or 0 */, FROM_NUMBER, FROM_TEXT, FROM_WHATS };

struct def_from {
	enum def_from_what what;
	uint32_t value; /* FROM_VALUE, FROM_GIVEN: index in def_probe.values */
	int64_t number; /* FROM_NUMBER */
	char *text;     /* FROM_TEXT */
};

/* An argument of the probe's event, in the order in which a tool gets them (user/timeline/arguments.h reads it). */
struct def_argument {
	enum event_type event; /* START, END or ATOMIC: each has its own list */
	enum argument_kind kind;
	uint8_t size;          /* bytes: 1, 2, 4, 8 */
	char *name, *type;     /* "nbytes", "size_t" */
	struct def_from *from; /* none: the function does not have it, so it is unknown */
	uint32_t nfrom;
};

struct def_probe {
	char *event; /* "GASP_MPI_SEND" */
	uint32_t number;
	char *model; /* "mpi" */
	enum role role;
	unsigned marks;
	char *symbol;  /* the first name at this place */
	char *aliases; /* others, joined by blanks; NULL: none */
	char *prototype;
	char *op;            /* NULL: none */
	uint32_t image;      /* index */
	uint64_t offset;     /* in the file */
	uint32_t cost_ns;    /* what one observed call costs its thread, by the calibration; 0: not measured */
	uint32_t skipped_ns; /* what one call costs that is only counted, likewise */
	uint32_t floor_ns;   /* so much of each span is the probe's own time, by the calibration; 0: not measured */
	uint64_t out_ns;     /* for so long it was out, where no steps tell when */
	struct value *values;
	uint32_t nvalues;
	unsigned lists; /* bit i: the model states the arguments of the event's type i (enum event_type), maybe none */
	struct def_argument *arguments;
	uint32_t narguments;
};

/* A call site: an instruction of an image, and where it is in the source. */
struct def_site {
	uint32_t process;         /* index: whose address space */
	uint64_t address;         /* the return address */
	uint32_t image;           /* index; NO_INDEX: in no known file */
	uint64_t offset;          /* of the return address in the image's file */
	bool located;             /* what follows has been looked for */
	char *function;           /* NULL: unknown */
	uint64_t function_offset; /* bytes from the function's start */
	char *file;               /* NULL: no line information */
	uint32_t line, column;    /* 0: unknown */
};

/*
 * Calls of one thread and probe that became no span: the kernel counted them and timed those whose end it saw. Together
 * with the spans that is all calls: calls = spans + lost + summed + skipped. In a recording that was cut it is as of
 * the last flush.
 */
struct def_sum {
	uint32_t thread; /* index */
	uint32_t probe;  /* index; one of its own (def_probe.event "A|B") where what the call means was in the lost span
			  */
	uint64_t lost;   /* their spans found no room in a ring */
	uint64_t summed; /* by intention, to keep the cost low: timed, but no span */
	uint64_t skipped;            /* likewise, and only counted */
	uint64_t timed;              /* of those lost or summed: in what follows */
	uint64_t total;              /* ns */
	uint64_t min, max;           /* ns; valid where timed is not 0 */
	uint64_t bucket[GB_BUCKETS]; /* of those timed, by duration (wire.h) */
	uint64_t sized;              /* of those lost or summed: whose payload is known, and in what follows */
	uint64_t bytes;
};

/* How much of a function's calls is followed; each costs the job less than the one before. */
enum step_level {
	STEP_ALL,     /* every call is a span */
	STEP_SAMPLED, /* one in so many; the others are counted */
	STEP_SUMMED,  /* no spans: calls are counted, one in so many is timed */
	STEP_OUT      /* the probes are out: nothing is known of calls from here on */
};

/* From here on another part of a function's calls is followed, to keep the cost below a limit (gaspbpf record
 * --max-overhead). */
struct def_step {
	uint64_t time;   /* ns */
	uint32_t probe;  /* index; where the function is several events, one of them */
	uint32_t level;  /* enum step_level; a newer recording may have others */
	uint32_t every;  /* one call in so many; 1: all */
	uint32_t thread; /* index: whose time in probes was too much; NO_INDEX: nobody's, the load has fallen */
	uint32_t share;  /* of that thread's time, in 1/10000 */
	uint32_t node;   /* where this is so, as def_process.node */
};

/* By what the clock of a node is known. A newer recording may have other ways. */
enum clock_known {
	CLOCK_REFERENCE, /* the others were set by it; it is as recorded, as is any of the same machine */
	CLOCK_BOUNDS,    /* by what was sent, and where all met (user/merge/clocks.c) */
	CLOCK_ANCHORS    /* by CLOCK_REALTIME of both machines only */
};

/* One of the recordings of which a merged one was made. Times are those of the merged one. */
struct def_node {
	char *host, *kernel; /* NULL: not known */
	char *boot;          /* what tells one machine from another, and one boot of it; NULL: not known */
	char *command;       /* gaspbpf's own command line there */
	uint64_t start, end; /* ns; of its recording */
	bool cut;            /* its recorder was stopped before its end */
	uint32_t clock_of;   /* index + 1 of an earlier node on the same machine, whose clock it has; 0: its own */
	uint32_t known_by;   /* enum clock_known */
	uint64_t unsure;     /* ns; CLOCK_BOUNDS: its clock is not further off from the reference's */
	uint64_t offset;     /* ns, in two's complement; added to its times at its start */
	int32_t drift;       /* 1/10^9; mean of what that grew by */
	uint32_t pieces;     /* of so many straight lines is that what was added */
	uint64_t bounds;     /* messages and meetings with others that bound its clock ... */
	uint64_t violated;   /* ... and are violated by its times as they are now */
	uint32_t cpus;       /* processors that its machine had; 0: not known */
};

/* From here on measurement of a process is off, or on again (controls.c). What was in progress then ended for that
 * reason (GB_END_OFF). */
struct def_control {
	uint64_t time;    /* ns */
	uint32_t process; /* index */
	uint32_t thread;  /* index: whose call it was; NO_INDEX: nobody's of the process */
	int32_t value;    /* what was said: 0 off, else on */
	char *who;        /* the function that the program called; "gaspbpf control" */
};

/* An event of which no call, or not every one, can be seen, as the model of a runtime that took part says; or a whole
 * library of a runtime that no model describes, or a runtime that is inside a program (unseen_fields.c). */
struct def_unseen {
	char *event;  /* "GASP_UPC_FORALL"; "libtbb.so.12"; the program */
	char *model;  /* "upc"; "oneTBB"; "OpenCoarrays" */
	char *why;    /* in words */
	bool partly;  /* some calls of it are seen: what is counted is a lower bound */
	bool library; /* it is a library, or inside a program: a whole runtime */
	bool inside;  /* inside a program */
};

/* A time in which calls of a process were not seen: it could make them, and the probes were not in yet, or were taken
 * out before its end (windows.c). */
#define WINDOW_FIRST_THREAD "the end of its first thread" /* def_window.after: see capture/windows.c */
struct def_window {
	uint32_t process;  /* index */
	uint64_t from, to; /* ns */
	char *models; /* "mpi, openmp": whose functions; NULL: not known, it had ended before it could be looked at */
	char *file;   /* where these are; NULL: not known */
	char *after;  /* what it had done: "fork", "exec", "dlopen" */
	/* Else these are NULL and NO_INDEX: from then on to the process's end, `to` does not count. The models are
	 * observed only where there is no parallel runtime, and then one was loaded: */
	char *runtime;   /* "libmpi.so.40" ... */
	uint32_t loader; /* ... by this process, index; NO_INDEX: not known */
};

/*
 * Where calls of an event at a place in a library came from, by the looks at threads that met such a call (gaspbpf
 * record --callers). What the other calls there came from it does not say.
 */
struct def_chain {
	char *event;     /* "GASP_MPI_BARRIER" */
	char *file;      /* path of the image with the call ... */
	uint64_t offset; /* ... and the return address's offset in it */
	char *places;    /* "step.c:47 in meet < step.c:80 in main", the innermost first; NULL: not known */
	uint64_t looks;
};

struct definitions;
/* What is known of callers further out of the event's calls at this site: the next entry from *at on; NULL: no more. */
const struct def_chain *chain_of_site(const struct definitions *d, uint32_t site, const char *event, size_t *at);

/*
 * For so long of this interval, about a second, the thread could have run and waited for a processor. What is below a
 * hundredth of the interval has no entry. A wait is told in the interval in which it ended. Those of one thread come in
 * the order of time.
 */
struct def_queue {
	uint32_t thread;   /* index */
	uint64_t from, to; /* ns */
	uint64_t queued;   /* ns */
	uint64_t run;      /* ns of it on a processor */
};

/* Ranks of the whole job, as in first, first + stride, ... */
struct rank_run {
	uint32_t first; /* NO_INDEX: these ranks are not known */
	int32_t stride;
	uint32_t count; /* NO_INDEX, of the last run only: as many as there may be */
};

/*
 * What a process means by a communicator from a moment on, as read from the process itself
 * (user/recording/communicators.h has the way from a call to it). Of an intercommunicator the members are those of the
 * other side: the ranks that its calls name.
 */
struct def_comm {
	uint32_t process; /* index */
	uint64_t handle;  /* as the process's calls give it */
	uint64_t since;   /* ns; 0: whatever the time before the next one */
	bool has_id;
	uint32_t id;           /* the same for all members */
	char *name;            /* NULL: none */
	uint64_t size;         /* members; 0: not known */
	struct rank_run *runs; /* who they are, by rank in the communicator; ranks beyond are not known */
	uint32_t nruns;
};

/* "every call", "1 call in 64", "counts only", "out". Into text, which is returned. */
const char *step_text(const struct def_step *step, char *text, size_t room);

/* Do its calls begin, by handles, messages that others described before, so that of these they say nothing? */
bool probe_begins_described(const struct def_probe *probe);

/*
 * What stands behind an address that calls carry as a name: a C string, or the function that begins or lies there; or
 * behind a descriptor, as Linux names what is open there: "/a/path", "/a/path (deleted)", "socket:[N]", "pipe:[N]". An
 * address or a descriptor may be used again: of several entries the last one that is not later than the call holds.
 */
/* So begin and end names of files that Linux was not asked for in time: they are as the call was given them. */
#define TEXT_GIVEN "given: "
#define TEXT_RELATIVE "relative: " /* to a folder that nobody knows */
#define TEXT_CUT " (cut)"
#define TEXT_OF_FILE (1ull << 63) /* no memory is there: def_text.address of a descriptor, with its number */

struct def_text {
	uint32_t process; /* index: whose address space */
	uint64_t address; /* the value of the call; of a descriptor TEXT_OF_FILE + the value */
	uint64_t time;    /* ns; from here on */
	char *text;       /* any bytes; NULL: it could not be read */
};

/* Facts of the whole run. All times ns. */
struct def_run {
	uint64_t start, end;                   /* CLOCK_MONOTONIC */
	uint64_t start_realtime, end_realtime; /* CLOCK_REALTIME at the same moments */
	char *command;                         /* gaspbpf's own command line */
	char *host, *kernel, *version;
	char *boot;             /* the machine's boot id: recordings with the same one have one clock; NULL: not known
				 */
	uint32_t cpus;          /* processors that the machine had; 0: not known, or see the nodes */
	char *rung;             /* "session", "multi", "perf" */
	uint32_t budget;        /* --max-overhead, in 1/10000 of each thread's time; 0: no limit */
	uint64_t own_cpu;       /* ns; CPU time that gaspbpf itself took; 0: not told */
	uint32_t cost_ns[3];    /* calibration: what one observed call costs its thread by the class of the instruction
				   under it (arch/instruction.h): a replaced, an emulated, a stepped    instruction; 0: not
				   measured */
	uint32_t skipped_ns[3]; /* the same of a call that is only counted */
	uint32_t floor_ns[3];   /* the same calls' measured duration: so much of each span is of the probe's making */
	bool finished;          /* false: the recording was cut */
	uint64_t queues_until;  /* ns; up to then it was looked who waited for a processor (def_queue); 0: it was not */
	char *reason;           /* why the flight recorder wrote this; NULL: it is no flight recording (user/flight) */
	bool only_sums; /* calls were to become no spans: all that is known of them is in def_sum (gaspbpf monitor -o)
			 */
};

/* What was lost or not seen, whole run. */
struct def_loss {
	uint64_t calls; /* all: delivered + lost + summed + skipped */
	uint64_t delivered;
	uint64_t lost;            /* no room in a ring */
	uint64_t no_memory;       /* calls whose thread had no state */
	uint64_t no_entry;        /* returns without a seen call; not calls */
	uint64_t unwritten;       /* delivered but not written (disk full) */
	uint64_t summed, skipped; /* no spans by intention: see struct def_sum */
	uint64_t near; /* accesses to the caller's own part of the global address space: no events by intention
			  (--profile); not calls */
};

struct definitions {
	struct def_run run;
	struct def_loss loss;
	struct def_process *processes;
	size_t nprocesses;
	struct def_thread *threads;
	size_t nthreads;
	struct def_image *images;
	size_t nimages;
	struct def_probe *probes;
	size_t nprobes;
	struct def_site *sites;
	size_t nsites;
	struct def_sum *sums;
	size_t nsums;
	struct def_step *steps;
	size_t nsteps; /* in the order of time */
	struct def_control *controls;
	size_t ncontrols; /* in the order of time */
	struct def_unseen *unseen;
	size_t nunseen;
	struct def_comm *comms;
	size_t ncomms; /* those of one process and handle in the order of time */
	struct def_text *texts;
	size_t ntexts;
	struct def_window *windows;
	size_t nwindows;
	struct def_chain *chains;
	size_t nchains;
	struct def_queue *queues;
	size_t nqueues;
	struct def_node *nodes; /* of a merged recording */
	size_t nnodes;
};

/* The thread's process; NULL: not known. */
static inline const struct def_process *thread_process(const struct definitions *d, uint32_t thread)
{
	uint32_t process = d->threads[thread].process;

	return process < d->nprocesses ? &d->processes[process] : NULL;
}

/* Does the thread belong to a process that is no part of the job? */
static inline bool thread_is_left_out(const struct definitions *d, uint32_t thread)
{
	const struct def_process *process = thread_process(d, thread);

	return process && process->left_out;
}

/* The order in which threads are listed: by rank, those without one last; of a process by tid. As qsort()'s compare. */
int thread_order(const struct definitions *d, uint32_t a, uint32_t b);
/* The same of processes. */
int process_order(const struct definitions *d, uint32_t a, uint32_t b);
/* All threads in that order, and all processes; to be freed. NULL: out of memory. */
uint32_t *threads_in_order(const struct definitions *d);
uint32_t *processes_in_order(const struct definitions *d);

/*
 * Adds a zeroed entry and returns its index, or NO_INDEX when out of memory.
 * Strings in an entry belong to the definitions and come from malloc.
 */
uint32_t definitions_add_process(struct definitions *d);
uint32_t definitions_add_thread(struct definitions *d);
uint32_t definitions_add_image(struct definitions *d);
uint32_t definitions_add_probe(struct definitions *d);
uint32_t definitions_add_site(struct definitions *d);
uint32_t definitions_add_sum(struct definitions *d);
uint32_t definitions_add_step(struct definitions *d);
uint32_t definitions_add_unseen(struct definitions *d);
uint32_t definitions_add_control(struct definitions *d);
uint32_t definitions_add_comm(struct definitions *d);
uint32_t definitions_add_text(struct definitions *d);
uint32_t definitions_add_window(struct definitions *d);
uint32_t definitions_add_chain(struct definitions *d);
uint32_t definitions_add_queue(struct definitions *d);
uint32_t definitions_add_node(struct definitions *d);
void definitions_free(struct definitions *d); /* what it holds, not d itself */
/* The memory that they take, texts included: these are estimated from some of them, so that it may be asked often. */
uint64_t definitions_bytes(const struct definitions *d);

/* Texts by address, found fast: user/recording/texts.c. */
struct texts;
struct texts *texts_new(const struct definitions *d); /* d must outlive it, and may grow; NULL: out of memory */
/* NULL: unknown. Good as long as the definitions. */
const char *texts_find(struct texts *texts, uint32_t process, uint64_t address, uint64_t time);
/* The entry, an index of definitions; NO_INDEX: none. What is said of a descriptor may be taken back later (text NULL).
 */
uint32_t texts_entry(struct texts *texts, uint32_t process, uint64_t address, uint64_t time);
void texts_free(struct texts *texts);

/* One finished call. */
struct span {
	uint64_t start, end;    /* ns, CLOCK_MONOTONIC */
	uint32_t thread, probe; /* indices */
	uint32_t site;          /* index, or NO_INDEX */
	uint32_t sequence;      /* per thread, from 1 */
	uint32_t unread;        /* bit i: words[i] could not be read */
	uint16_t depth;
	uint8_t reason; /* enum gb_end */
	uint8_t nwords;
	uint64_t words[GB_SLOTS];
};

/* Is it known how long the call took? Else only that it was made. */
static inline bool span_has_duration(const struct span *span)
{
	return span->reason != GB_END_DEPTH && span->reason != GB_END_ALONE && span->reason != GB_END_ATOMIC;
}

/* A hole in one thread's spans. */
struct gap {
	uint32_t thread;
	uint64_t count;         /* spans lost */
	uint64_t after, before; /* ns: the known neighbours' ends; before may be 0: up to the end */
};

/* Takes spans, live or from a file. Each returns 0, or -errno to stop the source. */
struct span_sink {
	int (*span)(void *context, const struct definitions *d, const struct span *span);
	int (*gap)(void *context, const struct definitions *d, const struct gap *gap); /* may be NULL */
	void *context;
	/* Many spans at once, in order, for whom that is faster; NULL: span() is called for each. */
	int (*spans)(void *context, const struct definitions *d, const struct span *spans, size_t count);
};

/* Writing. The file is written in chunks; what has been flushed survives a kill. */
struct recording_writer;

/*
 * Starts a recording on an open, empty, regular file; the writer owns fd from here, also on failure. `name` stands
 * in messages. d stays the caller's and must outlive the writer: new entries
 * are written before the first span that uses them.
 */
int recording_create(struct recording_writer **writer, int fd, const char *name, const struct definitions *d);
int recording_span(struct recording_writer *writer, const struct span *span);
int recording_gap(struct recording_writer *writer, const struct gap *gap);
/* Writes out what is buffered, and all definitions that are new or that changed (sites located, names, counts). */
int recording_flush(struct recording_writer *writer);
/* Flush, loss and end anchors, close. The writer is gone afterwards, whatever is returned. */
int recording_finish(struct recording_writer *writer);
/* After a write error (disk full, said once) spans are counted here and dropped; capture goes on. */
uint64_t recording_unwritten(const struct recording_writer *writer);
uint64_t recording_bytes(const struct recording_writer *writer);
/* A sink that writes here. */
struct span_sink recording_sink(struct recording_writer *writer);

/*
 * Spans kept in memory for a while (user/recording/block.c): as few bytes as in a file, in blocks that stand for
 * themselves, so that any of them may be dropped. A block refers to d as a recording does.
 */
struct block_maker;

struct block_maker *block_maker_new(
	const struct definitions *d); /* d stays the caller's, and must outlive it; NULL: out of memory */
void block_maker_free(struct block_maker *maker);
/* 0 or -errno; -EINVAL: the span is malformed. */
int block_add_span(struct block_maker *maker, const struct span *span);
int block_add_gap(struct block_maker *maker, const struct gap *gap);
/* What has been added since the last block: bytes before they are packed; 0: nothing. */
size_t block_filled(const struct block_maker *maker);
/* Packs it; *bytes are the maker's, good until its next use. The number of bytes; 0: there was nothing; -ENOMEM: it is
 * lost. */
ssize_t block_seal(struct block_maker *maker, const uint8_t **bytes);
/* Hands on what is in a block that a maker of the same definitions has sealed. 0 or -errno; -EBADMSG: it is no such
 * block. */
int block_read(struct block_maker *maker, const uint8_t *bytes, size_t size, const struct span_sink *sink);

/* Reading. */
struct recording;

/*
 * Opens and checks the header, and reads all definitions. A cut or damaged file
 * opens too, up to the damage, with a warning that says where. 0 or -errno, said.
 */
int recording_open(struct recording **recording, const char *path);
/* The same on an open file descriptor that stays the caller's; it is read with pread. */
int recording_open_fd(struct recording **recording, int fd, const char *name);
/*
 * The same file, to be read by another thread at the same time: what was read when it was opened is shared, so the
 * recording must outlive it. What damage it finds is said when it is closed, unless the recording has said that. NULL:
 * out of memory, not said.
 */
struct recording *recording_again(struct recording *recording);
const struct definitions *recording_definitions(const struct recording *recording);
/* As messages name it, which is its path where it was opened by that. Good as long as the recording. */
const char *recording_name(const struct recording *recording);
/* The name of one that nobody keeps. */
#define RECORDING_UNNAMED "temporary recording"
/* For who has nothing to do without single calls: false, said, where the recording has only sums. */
bool recording_has_calls(const struct recording *recording, const char *name);
/* Hands every span and gap to the sink; memory does not grow with the spans. May be called again. */
int recording_read(struct recording *recording, const struct span_sink *sink);

/* Reading record by record, for whoever reads many recordings at a time. */
enum recorded { RECORDED_END, RECORDED_SPAN, RECORDED_GAP };
struct recorded_item {
	enum recorded what;
	struct span span;
	struct gap gap;
};
/*
 * The next span or gap in the order of the file, those of processes that are left out, too. It keeps one chunk in
 * memory, and what it keeps is lost by any other way of reading this recording. 0 or -errno, said.
 */
int recording_next(struct recording *recording, struct recorded_item *item);
/* The next one is the first again. */
void recording_rewind(struct recording *recording);
/* Closes the file until a chunk is read from it (by recording_next()): thousands may be open. Of one that was opened by
 * its path. */
void recording_rest(struct recording *recording);
/* Whenever spans are read from now on, here or chunk by chunk, watch is told at which byte of how many, and says
 * whether the reading goes on: else it ends with -ECANCELED. A file may be read several times. NULL: nobody is told. */
typedef bool (*recording_watch_fn)(void *context, uint64_t at, uint64_t size);
void recording_watch(struct recording *recording, recording_watch_fn watch, void *context);

/*
 * Not all of it is to be handed on: only calls that lie at least partly between two moments and took so long or longer.
 * What was lost is still told as of all. To be said before anything is read.
 */
struct recording_choice {
	uint64_t from, to; /* ns */
	uint64_t over;     /* ns */
};
int recording_choose(struct recording *recording, const struct recording_choice *choice); /* 0 or -ENOMEM */
/* Nor what this process did; it is then one of those that are left out (LEFT_OUT_CHOICE). 0 or -ENOMEM. */
int recording_leave_out(struct recording *recording, uint32_t process);
/* How many calls were left out, for whatever reason, of those that were read chunk by chunk. */
uint64_t recording_left_out(const struct recording *recording);
/* ns; 0 and UINT64_MAX: all. */
void recording_chosen_time(const struct recording *recording, uint64_t *from, uint64_t *to);
bool recording_has_chosen(const struct recording *recording, uint32_t thread, uint64_t start, uint64_t end);
/* As recording_again(), but with what was left out by choice: to find out what belongs together. */
struct recording *recording_whole(struct recording *recording);

/*
 * Reading chunk by chunk, for whoever needs starts and ends in order (user/timeline).
 *
 * Spans come in the order they ended, so a call that encloses others comes after them, maybe many chunks later. A span
 * is *late* when a span of its own thread in an earlier chunk ended after it began; the writer keeps a copy of each
 * late span apart (LATE chunks), and recording_late() has all of them without reading the spans themselves. So, for
 * every thread: once chunks 0..k are read, every start of the thread before the largest end seen of it is either in
 * those chunks or among the late spans of chunks after k, and the thread's events up to that end can be delivered.
 * Memory: one decoded chunk and the late spans.
 */
struct recording_chunk {
	/* In the order of arrival. Of words only span->nwords are there: what comes behind may be another span. */
	const struct span *const *spans;
	const uint32_t *threads;  /* threads[i]: of spans[i], which need not be looked at for it */
	size_t nspans;            /* at most RECORDING_CHUNK_SPANS */
	const bool *late;         /* late[i]: spans[i] is among recording_late() */
	const struct gap *gaps;   /* in the order of arrival */
	const size_t *gap_before; /* gaps[i] was met before spans[gap_before[i]]; nspans: after the last span */
	size_t ngaps;
};

#define RECORDING_CHUNK_SPANS 65536

/* How many chunks of spans there are. Fewer from the moment on where damage is found. */
size_t recording_chunks(const struct recording *recording);
/*
 * Decodes one chunk, in any order; what it points to is good until the next call with this recording. 0;
 * -ENODATA where it is damaged (said once): what the chunks before it hold is all there is; other -errno, said.
 */
int recording_read_chunk(struct recording *recording, size_t index, struct recording_chunk *chunk);
/* Before that (ns) nothing begins in this chunk but late spans. It is read where that was not done before. As above. */
int recording_chunk_floor(struct recording *recording, size_t index, uint64_t *floor);

/*
 * The same for all chunks, from the first on, each once and in their order: a thread decodes the next one meanwhile.
 * What a chunk points to is good until the next is asked for. The recording must not be read otherwise before the end.
 * NULL: there is nothing to be had by it, or no memory or thread for it.
 */
struct read_ahead;
struct read_ahead *read_ahead_begin(struct recording *recording);
int read_ahead_chunk(struct read_ahead *ahead, size_t index, struct recording_chunk *chunk);
void read_ahead_end(struct read_ahead *ahead); /* NULL: nothing */

/* A late span in short. */
struct late_start {
	uint64_t start;           /* ns */
	uint32_t thread;          /* index */
	uint32_t chunk, position; /* it is spans[position] of this chunk, which may prove damaged when it is read */
};

/* All late spans, sorted by thread, then start, then the one that comes last in the file (the outer one) first. Good
 * until close. */
const struct late_start *recording_late(const struct recording *recording, size_t *count);
/* The whole span of entry `index` of that list; its indices are checked. */
void recording_late_span(const struct recording *recording, size_t index, struct span *span);
void recording_close(struct recording *recording);

#endif
