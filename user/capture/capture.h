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
	void (*forked)(void *context, pid_t pid, pid_t parent);
	void (*execed)(void *context, pid_t pid);
	void (*exited)(void *context, pid_t pid, int exit_code); /* as wait(2) gives it */
	void *context;
};

struct capture_session;

/* kernel, plan and d stay the caller's and must outlive the session. 0 or -errno, said. */
int capture_new(struct capture_session **session, struct kernel *kernel, const struct plan *plan,
		struct definitions *d, const struct capture_events *events);
void capture_close(struct capture_session *session);
void capture_add_sink(struct capture_session *session, const struct span_sink *sink);

/* The process is observed from now on: defines it. The session owns the process from here. */
int capture_add_process(struct capture_session *session, struct process *process);
/* Its program has changed (exec): looks at it again. */
int capture_refresh_process(struct capture_session *session, pid_t pid);
/* The process as the session holds it; NULL: unknown. */
struct process *capture_process(struct capture_session *session, pid_t pid);
/*
 * Notices processes whose end was not told: they ended before they became targets, or the record found no room.
 * To be called now and then.
 */
void capture_check_processes(struct capture_session *session);
/* The plan has new sites: define their probes. */
int capture_define_probes(struct capture_session *session);

/* Sleeps until a ring asks for it, another descriptor in `extra` (-1: none) is readable, or the time is up. */
void capture_wait(struct capture_session *session, int extra, int timeout_ms);
/* One pass over all rings. 0 or -ENOMEM. */
int capture_drain(struct capture_session *session);
/*
 * The links are gone: fetches what is left, the calls still in progress and the final counts of all threads, and closes every
 * gap. Then finds source lines of all call sites, saying so if it takes long.
 */
int capture_finish(struct capture_session *session);

struct capture_totals {
	uint64_t spans;       /* delivered */
	uint64_t gaps;        /* spans known to be lost by their numbers */
	uint64_t cost;        /* ns; what the spans' probes took from their threads, by the calibration */
	size_t threads;       /* seen so far */
	size_t alive;         /* processes */
};
struct capture_totals capture_totals(const struct capture_session *session);

#endif
