/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - what the files of user/capture share.
 */
#ifndef GASPBPF_SESSION_H
#define GASPBPF_SESSION_H

#include <uthash.h>

#include "capture/capture.h"
#include "capture/early.h"
#include "util/ring.h"

#define SINKS 16
#define SITE_CACHE 4096 /* recently used call sites; a power of two */

#define TEXT_CACHE 256 /* recently met names; a power of two */

/* A pass over all rings, which may be made in pieces. */
struct capture_pass {
	unsigned long limits[64]; /* by ring: how far it goes */
	unsigned ring;            /* the one that is being read */
	size_t nlife;             /* so many of the list of life were told before that was fixed */
	bool open, complete;
};

struct open_event;

struct captured_thread {
	uint32_t pid, tid;
	uint32_t index;                    /* in definitions */
	uint64_t next;                     /* the sequence number due; spans carry its low half */
	uint64_t lost;                     /* by gaps closed so far */
	uint64_t last_end;                 /* ns; of the last span delivered */
	uint64_t born;                     /* ns; as in gb_sum_place; 0: it had no reason yet to tell */
	uint64_t ends;                     /* ns; told, but not applied yet; 0: it lives on */
	struct captured_thread *successor; /* has its number, after it has ended: what is known of it already */
	uint64_t cost;                     /* ns; what its probes took from it, by the calibration */
	uint64_t since;                    /* ns; when it was first heard of */
	struct capture_calls *calls;       /* by site id */
	size_t ncalls;
	struct captured_thread *next_live, **live; /* list of all; what points to this one */
	struct open_event *open;                   /* announced events in progress, the latest last (announced.c) */
	size_t nopen, open_room;
	unsigned instrumented; /* of those: put in by a compiler */
	const char *told_exit; /* event by which the runtime itself has announced the thread's end; NULL: none */
	struct {
		uint32_t site, id;
		uint8_t kind;
		bool fresh; /* it may still be echoed */
	} told;             /* the last announcement */
	uint64_t merged;    /* records that became no span of their own: STARTs, echoes, creations */
	struct early_spans early;
	uint64_t waiting_since;               /* the pass in which the hole before the first of them was first seen */
	struct captured_thread *next_waiting; /* list of threads with early spans */
	bool listed;
	bool left_out; /* its process is no part of the job: nobody is told of its calls */
};

struct needed_file {
	uint64_t device, inode;
	const struct image *image; /* while the list is made */
};

struct captured_process {
	uint32_t pid;
	uint32_t index;          /* in definitions */
	struct process *process; /* NULL: not looked at yet, or it ended before that */
	uint64_t started; /* clock ticks after boot, when it was looked at: another process of this number has another;
			     0: it was not */
	/*
	 * A call site is an address, and what lies there changes with exec, dlclose and dlopen. Each change begins a
	 * new layout; calls that ended before the last change belong to the one before it.
	 */
	uint32_t layout;
	uint64_t changed, settling; /* ns; when the last one began, and its last change: between them it is not known
				       what lies where */
	uint32_t program_layout;    /* the layout that its present program began with ... */
	uint64_t program_since;     /* ns; ... and when; 0: it was there already */
	long threads;               /* that a job of pointers-to-shared has; 0: not known */
	uint64_t threads_pass;      /* in which that was read last */
	bool misread;               /* one of its pointers-to-shared named another: they are not as they are read */
	uint64_t table_pass;        /* in which libpupc's table was read again */
	uint64_t changed_pass;      /* of capture_drain(): changes that are told together are one */
	int32_t control;            /* what it said last of measurement; valid where it ever did */
	uint64_t off;               /* ns; when it was last switched off; 0: never */
	bool told_off;              /* libpupc had switched its measurement off when it was looked at */
	bool removing;              /* the last change that its linker was about to make takes objects away */
	bool settled;               /* its linker has yet to say that what is known already is all */
	struct process *before;     /* with the mappings of the layout before; NULL: none, or not known */
	uint64_t before_settled;    /* ns; the last change that led to the layout before: since then it is known */
	struct process *last;       /* of an earlier layout, for where its program lies; NULL: as for the others */
	struct process *older; /* as it was before the first look in this pass (older_pass): a change before that look
				  may be told after it */
	uint64_t older_pass;
	unsigned reads;  /* of its mappings, for the changes of this pass */
	uint64_t torn;   /* ns; its last change, if they come faster than its mappings can be read; 0: they are read */
	bool only_added; /* the changes of this layout have taken nothing away */
	bool adding;     /* the last change that its linker was about to make brings objects */
	struct needed_file *needed; /* files that its program needs, for this program_layout; NULL: not asked for yet */
	size_t nneeded;
	uint32_t needed_layout;
	uint64_t born; /* ns; 0: was there already. What is told of an earlier time is about another process of this
			  number */
	uint64_t number_since; /* ns; when another process had its number before: from here on it is known to be its
				  own; 0: none had ... */
	uint32_t number_of;    /* ... the other one's definition */
	uint32_t callers;      /* its threads that have called since it was looked at */
	uint32_t comms;        /* what is kept of its communicators, in entries and runs of members */
	bool missing;          /* it was not there when it was looked for last */
	bool ended;
	UT_hash_handle hh;
};

#define UNSETTLED (1U << 31)

struct site_key {
	uint64_t address;
	uint32_t process; /* index in definitions */
	uint32_t layout;  /* of the process; UNSETTLED is added between its changes */
};

struct site_record {
	struct site_key key;
	uint32_t site; /* index in definitions */
	UT_hash_handle hh;
};

/* A mapped file that a call site lies in; may or may not be one of the plan's. */
struct known_image {
	uint64_t device, inode;
	struct image *image; /* NULL: could not be opened */
	bool owned;
	uint32_t index; /* in definitions; NO_INDEX until used */
};

/* Who calls from a place, of functions of this model (inner.c). */
struct place_caller {
	const struct model *model;
	uint8_t is;
};

struct capture_session {
	struct kernel *kernel;
	const struct plan *plan;
	struct definitions *d;
	struct capture_events events;
	struct span_sink sinks[SINKS];
	size_t nsinks;

	struct ring *rings;
	unsigned nrings;
	struct ring control;
	int epoll;
	uint64_t pass;

	struct captured_thread **threads; /* by tid; pid_max entries, of which few are ever touched */
	uint32_t threads_room;
	struct captured_thread *waiting;
	struct captured_thread *live;
	struct captured_process *processes;
	size_t ntorn; /* of these: torn */

	uint32_t *first_probe;     /* by site id of the plan: index in definitions */
	uint32_t *any_probe;       /* the same where it is not known which of the site's events a call is */
	struct site_price *prices; /* by site id */
	uint64_t priced_changes;   /* of what is in, when prices were looked up last */
	uint64_t sums_time,
		sums_elapsed; /* ns; of the last look at calls that became no span, and since the one before */
	uint32_t nfirst;
	struct {
		uint64_t spans, gaps;
		bool runtime; /* calls of a parallel runtime are among them */
	} * delivered;        /* by definition of a process */
	size_t delivered_room;
	struct site_record *sites;
	struct {
		struct site_key key;
		uint32_t site;
	} cache[SITE_CACHE];
	uint32_t *frames; /* by definition of a call site: how long the frame of a wrapper's function there is; 0: it is
			     none, UINT32_MAX: not looked at */
	size_t frames_room;
	struct place_caller *callers; /* by definition of a call site */
	size_t callers_room;
	uint32_t *twins; /* by definition of a probe: that of its inner calls; 0: none yet */
	size_t twins_room;
	struct text_record *texts;
	struct text_record *text_cache[TEXT_CACHE];
	uint8_t *named; /* by definition of a probe: do its calls carry names? 0: not looked at yet, 1: no, 2: yes */
	size_t named_room;
	struct known_image *images;
	size_t nimages;

	struct gb_life *life; /* of this pass, and ends for the next one */
	size_t nlife, life_room;
	struct capture_pass under_way;
	size_t nearly_life;               /* of those, applied as far as they come before spans */
	struct sum_thread *sum_threads;   /* by (born, tid) */
	struct sum_record *sums;          /* by (thread, site) */
	bool leave_sums;                  /* they are somebody else's */
	size_t ended_sums;                /* entries in the kernel of threads that have ended */
	struct comm_places **comm_places; /* by site id: where its calls name communicators; NULL: nowhere */
	uint32_t ncomm_places;
	struct live_comm *comms;            /* all that were met */
	uint32_t kept_comms;                /* in entries and runs of members */
	struct limit *limit;                /* private to limit.c; NULL: none */
	struct announced_event *announced;  /* by process and number */
	struct announced_meaning *meanings; /* what definitions of them say */
	uint32_t *numbers;                  /* how many each process has, by its index in definitions */
	size_t numbers_room;
	uint64_t looked_ahead; /* the pass in which announced_look_ahead() did so */
	struct named_site *named_sites;
	uint64_t near;    /* accesses to the caller's own part that the kernel passed on, for want of the rank */
	uint64_t doubles; /* calls left out since a compiler's own event says the same */
	struct capture_totals totals;
	int err;          /* -ENOMEM, once it has happened */
	bool said_beyond; /* that a pointer-to-shared names a thread that is not there */
	bool said_near;   /* that --profile leaves nothing out */
};

/* session.c */
void session_drain_control(struct capture_session *s);

/* What cannot be seen of the model's runtime, once. 0 or -ENOMEM. */
int session_define_unseen(struct capture_session *s, const struct model *model);
/* arguments.c: what the event's list says, for this function and the values that the probe has. 0 or -ENOMEM. */
int define_arguments(struct def_probe *def, const struct function *f);

/* define.c */
/* The file behind a mapping, opened while the process still offers it; NULL: no memory. */
struct known_image *session_image(struct capture_session *s, struct process *process, const struct mapping *mapping);
uint32_t session_define_image(struct capture_session *s, const struct image *image);
/* The definition that this call is an event of; NO_INDEX: none (@only). */
uint32_t session_probe(struct capture_session *s, const struct gb_span *raw);
/* The definition of a call at a site of which nothing else is known; one for all meanings where it has several.
 * NO_INDEX: no memory. */
uint32_t session_any_probe(struct capture_session *s, uint32_t site);
/* A new definition for inner calls of one of the site's. NO_INDEX: no memory. */
uint32_t session_define_inner(struct capture_session *s, uint32_t site, uint32_t probe);
void session_free_definitions(struct capture_session *s);

/* processes.c */
struct captured_process *session_process(struct capture_session *s, uint32_t pid);
/* It was opened by the number of this one: is it another, to whom that has come since? */
bool session_is_another(const struct capture_session *s, const struct captured_process *p,
			const struct process *process);
/* The same of one that has made a call at this time (ns; CAPTURE_NOW): defined where it is new, or has the number of
 * one that had ended. NULL: no memory. */
struct captured_process *session_calling_process(struct capture_session *s, uint32_t pid, uint64_t time);
/* It has ended, and all its spans are in: there may have been thousands before it, so nothing of it is kept but what is
 * defined. */
void session_end_process(struct capture_session *s, struct captured_process *p);
/* Has the process not ended, as far as can be seen? */
bool session_is_there(struct capture_session *s, struct captured_process *p);
/* Describes the process by this look at it, which it owns from here; NULL: it was not there. */
void session_set_process(struct capture_session *s, struct captured_process *p, struct process *process);

/* layouts.c */
/* When the mappings that are known were read (ns); 0: none are. */
uint64_t session_mapped_ns(const struct captured_process *p);
/* Its mappings are about to be read by somebody who was told of no change: session_set_process() is next. */
void session_look_again(struct capture_session *s, struct captured_process *p);
/* Has a change been told of it that this pass does not know yet? What has been read of it just now may be of after
 * that. */
bool session_changes(struct capture_session *s, const struct captured_process *p);
/* Once in a pass, when all signs of it are there: makes good what the last one left torn. */
void session_mend_layouts(struct capture_session *s);
void session_forget_layouts(struct capture_session *s, struct captured_process *p);
/* Was this file there when the present program began, because that needs it? The linker never takes it away. */
bool session_is_needed(struct capture_session *s, struct captured_process *p, const struct mapping *mapping);
/* The linker's sign says nothing new: the change is only about to come, or is that of a start which has been looked at.
 */
bool session_expected(struct capture_session *s, const struct gb_life *life);
/* The change that its linker has just made: may it have brought something? */
bool session_may_have_mapped(struct capture_session *s, uint32_t pid);
enum change { CHANGE_ADDS /* to what was there, and takes nothing away */, CHANGE_ANY };
/* The kind of change that its linker has just made. */
enum change session_kind_of_change(struct capture_session *s, uint32_t pid);
/* The process's mappings change at this time. */
void session_change_layout(struct capture_session *s, uint32_t pid, uint64_t time, enum change change);
/* And so did its program, by the same change. */
void session_change_program(struct capture_session *s, uint32_t pid, uint64_t time);
/* The thread has made a call of this model: who calls a parallel runtime is a part of the job. */
void session_note_runtime(struct capture_session *s, struct captured_thread *t, const struct model *model);
/* Delivered spans, and those that were lost, of processes that are no part of the job. */
uint64_t session_left_out_spans(const struct capture_session *s, uint64_t *gaps);
void session_free_processes(struct capture_session *s);

/* threads.c */
/* The thread that had this number at this time (ns; CAPTURE_NOW: by all that is known); defined where it is new. NULL:
 * no memory, or no such number. */
#define CAPTURE_NOW UINT64_MAX
struct captured_thread *session_thread(struct capture_session *s, uint32_t pid, uint32_t tid, uint64_t time);
void session_end_thread(struct capture_session *s, struct captured_thread *t);
void session_free_threads(struct capture_session *s);

/* announced.c */
/* The program tells of an event of its own: true where that is all there is to this call. */
bool session_announced(struct capture_session *s, struct captured_thread *t, const struct gb_span *raw);
/* A call of a function that has been observed, as it is about to be delivered. False: an announced event says the same,
 * and better. */
bool session_inside_announced(struct capture_session *s, struct captured_thread *t, struct span *span);
/* What the thread has started ends here, for another reason than an END. */
void session_end_announced(struct capture_session *s, struct captured_thread *t, uint64_t time, enum gb_end reason);
/* How many announced events are in progress that began before this time (ns). */
unsigned session_announced_below(const struct captured_thread *t, uint64_t start);
/* Shows those in progress on all threads, as capture_visit_open() does. */
void session_visit_announced(struct capture_session *s,
			     void (*visit)(void *context, const struct span *span, bool silent), void *context);
/* The process has been looked at: what it has told before anybody watched. */
void session_read_told(struct capture_session *s, struct captured_process *p);
/* Measurement of a process has been switched off or on, as the kernel tells. */
void session_take_control(struct capture_session *s, const struct gb_life *life);
/* All is delivered: says what did not fit together. */
void session_say_announced(struct capture_session *s);
void session_free_announced(struct capture_session *s);
/* Hands a span to the sinks. */
void session_deliver(struct capture_session *s, const struct span *span);

/* sites.c */
/* A place that the program named itself; NO_INDEX: no memory. */
uint32_t session_named_site(struct capture_session *s, uint32_t process, uint64_t address, const char *file,
			    uint32_t line, uint32_t column);
uint32_t session_site(struct capture_session *s, const struct captured_thread *t, uint64_t caller, uint64_t end);
/* wrappers.c: the place that the user's own call came from: of one that a library passed on, where that was called. */
uint32_t session_call_site(struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
			   uint64_t end);
/* How many of the call's words are values: not those that only tell where it came from. */
unsigned session_own_words(const struct capture_session *s, const struct gb_span *raw);

/* inner.c */
/* Is this a call that the runtime makes to itself? from: session_call_site() of it. */
bool session_is_inner(struct capture_session *s, const struct gb_span *raw, uint32_t from);
/* The definition of such calls of a probe; the probe's own where there is no memory. */
uint32_t session_inner_probe(struct capture_session *s, uint32_t site, uint32_t probe);

/* comms.c */
/* A site of the plan is new; they come in the order of their ids. 0 or -ENOMEM. */
int session_comm_site(struct capture_session *s, const struct site *site);
/* Makes values unknown that name a thread which the job does not have (beyond.c). */
void session_check_shared(struct capture_session *s, const struct captured_thread *t, struct span *span);
/* A call at a site that has comm_places: defines the communicators that it is the first to name. */
void session_meet_comms(struct capture_session *s, const struct captured_thread *t, uint32_t site,
			const struct span *span);
void session_free_comms(struct capture_session *s);

/* texts.c */
/* The names that a call carries are read where they are not known yet. */
void session_note_texts(struct capture_session *s, const struct captured_thread *t, const struct span *span);
void session_free_texts(struct capture_session *s);

/* kernel_sums.c */
/* The kernel's last word on a thread: t is the one that it calls so. */
void session_sum_thread(struct capture_session *s, struct captured_thread *t, const struct gb_life *life);
/* Room for calls at this site. False: no memory. */
bool session_fit_calls(struct captured_thread *t, uint32_t site);
/* Reads the sums while threads that have ended take much of the kernel's map. */
void session_make_room(struct capture_session *s);
void session_free_sums(struct capture_session *s);

/* prices.c */
/* The kernel's prices, where something went in or out since. */
void session_renew_prices(struct capture_session *s);
/* So many calls of a site, which came so many ns after each other. t: NULL: of a thread that has ended. */
void session_price(struct capture_session *s, struct captured_thread *t, uint32_t site, uint64_t calls, bool skipped,
		   double gap);

/* limit.c */
void session_free_limit(struct capture_session *s);

void session_free_named_sites(struct capture_session *s);

/* locate.c */
int session_locate(struct capture_session *s);

#endif
