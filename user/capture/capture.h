/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.h - the door of user/capture: from rings to spans in order.
 *
 * Drains the kernel's rings, brings each thread's spans back into the order they ended in, turns missing sequence
 * numbers into gaps, defines processes, threads and call sites as they appear, and hands everything to sinks.
 */
#ifndef GASPBPF_CAPTURE_H
#define GASPBPF_CAPTURE_H

#include "probe/probe.h"
#include "recording/recording.h"

/* What happens to the observed processes, told while draining. Any may be NULL. */
struct capture_events {
	void (*forked)(void *context, pid_t pid, pid_t parent, uint64_t time,
		       bool held); /* ns; held: it stands still until it has been looked at */
	void (*execed)(void *context, pid_t pid, bool other_thread,
		       uint64_t time); /* other_thread: not the first one called exec */
	void (*mapped)(void *context, pid_t pid, uint64_t time,
		       bool held);                  /* its dynamic linker has mapped objects; held: and stands still */
	void (*stranger)(void *context, pid_t pid); /* a process that nobody observes runs a new program; only told
						       where probes are for everybody */
	void (*exited)(void *context, pid_t pid, int exit_code); /* as wait(2) gives it */
	/* A region was begun (MARK_TEAM) with the function at this address, for the first time. model: its name. */
	void (*pointed)(void *context, pid_t pid, const char *model, uint64_t address);
	void *context;
};

struct capture_session;

/* kernel, plan and d stay the caller's and must outlive the session. 0 or -errno, said. */
int capture_new(struct capture_session **session, struct kernel *kernel, const struct plan *plan, struct definitions *d,
		const struct capture_events *events);
void capture_close(struct capture_session *session);
void capture_add_sink(struct capture_session *session, const struct span_sink *sink);

/* The process is observed from now on: defines it. The session owns the process from here. */
int capture_add_process(struct capture_session *session, struct process *process);
/* A child of an observed process, from this time on (ns); it need not be looked at yet. 0 or -ENOMEM. */
int capture_add_child(struct capture_session *session, pid_t pid, pid_t parent, uint64_t time);
/* Looks at it again. 0 or -errno (-ESRCH: ended, not said). */
int capture_refresh_process(struct capture_session *session, pid_t pid);
/* It stands still with all its libraries mapped: the linker's sign that they are is nothing new. */
void capture_settle_process(struct capture_session *session, pid_t pid);
/* Has it been looked at since this time (ns)? */
bool capture_looked_since(struct capture_session *session, pid_t pid, uint64_t time);
/* The plan knows more than when it was looked at: finds its rank again. */
void capture_describe_process(struct capture_session *session, pid_t pid);
/*
 * Between these times (ns) calls of the process were not seen, since it `after` what it had done had no probes in this
 * file yet; NULL: it is not known in which. 0 or -ENOMEM.
 */
/* The same of all processes that are observed now. */
void capture_add_window_of_all(struct capture_session *session, uint64_t from, uint64_t to, const char *after);
int capture_add_window(struct capture_session *session, pid_t pid, const struct image *image, uint64_t from,
		       uint64_t to, const char *after);
/* From this time (ns) on functions of models that have been withdrawn (attach_withdraw()) are not seen, since this
 * process maps a parallel runtime: becomes a part of the recording, for each process, and is said. */
void capture_withdraw(struct capture_session *session, uint64_t since, pid_t pid, const struct image *runtime);
/* Is it observed? Also where it was not looked at so far, or has ended. */
bool capture_knows(struct capture_session *session, pid_t pid);
/*
 * The process is no part of the job from its start on (why: LEFT_OUT_*): nobody is told of its calls any more, and
 * readers pass over those that were told. While it lives the job is not over. 0 or -errno, not said. And: it is one,
 * since it has become another program.
 */
int capture_leave_out(struct capture_session *session, pid_t pid, const char *why);
void capture_take_in(struct capture_session *session, pid_t pid);
/* Why it is left out; NULL: it is not, or nothing is known of it. */
const char *capture_left_out(struct capture_session *session, pid_t pid);
/* The index of its definition, or NO_INDEX. */
uint32_t capture_definition(struct capture_session *session, pid_t pid);
/* Was a call of a parallel runtime among those of this definition? Then it is a part of the job, whatever else is said.
 */
bool capture_calls_runtime(const struct capture_session *session, uint32_t definition);
/* The process as the session holds it; NULL: unknown. */
struct process *capture_process(struct capture_session *session, pid_t pid);
/*
 * Notices processes whose end was not told: they ended before they became targets, or the record found no room.
 * To be called now and then.
 */
void capture_check_processes(struct capture_session *session);
/* The file has other contents now: what is mapped of it from now on is another image. */
void capture_forget_image(struct capture_session *session, const struct image *image);
/* Threads get their names late: looks for those of threads that are there. */
void capture_name_threads(struct capture_session *session);
/* The plan has new sites: define their probes. */
int capture_define_probes(struct capture_session *session);

/*
 * Measurement of an observed process is off from now on, or on again. 1; 0: it was so already; -ESRCH: no such process
 * is observed; other -errno, not said.
 */
int capture_control(struct capture_session *session, pid_t pid, bool on);

/* Sleeps until a ring asks for it, another descriptor in `extra` (-1: none) is readable, or the time is up. */
void capture_wait(struct capture_session *session, int extra, int timeout_ms);
/* One pass over all rings, to where they are filled now. 0 or -ENOMEM. */
int capture_drain(struct capture_session *session);
/*
 * The same in pieces, for who must not be away for long (full rings take seconds): goes on with the pass for about so
 * many ns. True: it is over. What is to be called after capture_drain() is not to be called before that.
 */
bool capture_drain_for(struct capture_session *session, uint64_t ns);
/*
 * The links are gone: fetches what is left, the calls still in progress and the final counts of all threads, and closes
 * every gap. Then finds source lines of all call sites, saying so if it takes long.
 */
int capture_finish(struct capture_session *session);

/* Finds the source line of this call site (index in definitions) now, for whoever wants it live. The first of a program
 * takes milliseconds. */
void capture_locate_site(struct capture_session *session, uint32_t site);

/*
 * Reads the kernel's sums of calls that became no span into definitions, totals and threads. Cheap where there are
 * none; to be called after capture_drain(), now and then. 0 or -errno, not said.
 */
int capture_read_sums(struct capture_session *session);
/* It is wanted when threads wait for a processor. */
void capture_follow_queues(struct capture_session *session);
/*
 * Then: notes which threads have waited for a processor since the last time, if a second has passed; `last`: whatever
 * has. To be called after capture_drain(), now and then.
 */
void capture_look_at_queues(struct capture_session *session, bool last);
/* The kernel's sums are read by somebody else, and have more than what became no span: this session never looks at
 * them. */
void capture_leave_sums(struct capture_session *session);

/*
 * From now on the probes are to take no more than `budget` (0.02: 2 %) of each thread's time: user/govern/govern.c.
 * plan and scope are those of attach_sites(), with `apart`; they stay the caller's and must outlive the session. Each
 * step becomes a definition and is said.
 */
int capture_limit(struct capture_session *session, struct plan *plan, const struct attach_scope *scope, double budget);
/* Does what that needs, if it is time. To be called after each capture_drain(). */
void capture_govern(struct capture_session *session);

struct capture_totals {
	uint64_t spans;           /* delivered */
	uint64_t gaps;            /* spans known to be lost by their numbers */
	uint64_t lost;            /* the same by the kernel's sums, when they were read last */
	uint64_t summed, skipped; /* calls that were no spans by intention, likewise */
	uint64_t cost;            /* ns; what the probes took from their threads, by the calibration */
	size_t threads;           /* seen so far */
	size_t alive;             /* processes of the job */
	size_t left_out;          /* others that are alive (capture_leave_out()) */
};
struct capture_totals capture_totals(const struct capture_session *session);

/*
 * Shows the calls in progress, of each thread from the outermost on; their end is UINT64_MAX. A single look may show
 * half a call: open.c. silent: it will be no span, and its probe may be NO_INDEX. To be called after capture_drain(). 0
 * or -errno, not said.
 */
int capture_visit_open(struct capture_session *session,
		       void (*visit)(void *context, const struct span *span, bool silent), void *context);
/* The same, in no order, of functions in which a thread may change stacks: of the thread that has begun the call, which
 * may have left it on another stack since. */
int capture_visit_stacked(struct capture_session *session,
			  void (*visit)(void *context, const struct span *span, bool silent), void *context);

/* What became of a thread's calls at one site; all but the spans as of the last capture_read_sums(). */
struct capture_calls {
	uint64_t spans, lost, summed, skipped;
};

/* A thread that has not ended, as far as is known. */
struct capture_thread {
	uint32_t pid, tid;
	uint32_t thread;                   /* index in definitions */
	uint64_t cost;                     /* ns, as in capture_totals */
	uint64_t since;                    /* ns; when its first call was seen */
	const struct capture_calls *calls; /* by site id of the plan; sites from ncalls on: none */
	size_t ncalls;
};
/* Shows all of them, the latest first. What a thread points to is good until the next drain. */
void capture_visit_threads(const struct capture_session *session,
			   void (*visit)(void *context, const struct capture_thread *thread), void *context);

#endif
