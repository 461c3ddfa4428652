/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.h - the door of user/live: what a job is doing now.
 *
 * A running capture is looked at again and again; each look closes an interval. For every thread there is then where
 * its time went, by role, in the interval and since the start; for each event of it how often and how long; who came
 * last to the places where all meet; and which locks are waited for. Calls in progress count up to the look: who waits
 * in a barrier since before the interval has been in the barrier for all of it.
 *
 * What is not known is not made up: a thread of which no call was seen yet has no figures.
 */
#ifndef GASPBPF_LIVE_H
#define GASPBPF_LIVE_H

#include "account/account.h"
#include "capture/capture.h"

/* Sums over one interval, or since the start. All times ns. */
struct live_figures {
	uint64_t wall;          /* how long it was observed */
	uint64_t group[GROUPS]; /* together: wall */
	uint64_t calls;         /* all that ended */
	uint64_t inner;         /* beside them: calls that a runtime made to itself */
	uint64_t missing; /* of these: not on the timeline (lost, or by intention); their time is estimated, their bytes
			     are unknown */
	uint64_t bytes;   /* payload, where it is known */
	bool moves;       /* some calls carried a payload, so that `bytes` is a figure and not an unknown */
	uint64_t cost;    /* what probes took of the thread, by the calibration */
	uint64_t met;     /* meetings of all that it took part in and all of whose members came */
	uint64_t last;    /* of these, it came last to */
	uint64_t late;    /* so long was it the only one that was missing there */
};

/* A call in progress. */
struct live_call {
	uint32_t probe; /* definition; NO_INDEX: none */
	uint32_t site;  /* where it was called; NO_INDEX: not known before it returns */
	uint64_t start; /* ns */
};

/* One event on one thread. */
struct live_event {
	uint32_t event; /* its number, the same on each thread */
	uint32_t probe; /* a definition that is of this event */
	uint32_t site;  /* the last call's; NO_INDEX: unknown */
	struct live_event_figures {
		uint64_t calls, missing; /* calls are all that ended, the missing ones included */
		uint64_t time, self;     /* within the interval: the whole of its calls, and without the calls inside */
		uint64_t full, longest;  /* of calls that ended: their durations, wherever they began */
		uint64_t bytes;
	} now, all, open; /* open: of the interval that goes on; not to be looked at */
	bool moves;
};

/* One more row of an event is added to it. */
void live_event_add(struct live_event *to, const struct live_event *more);

struct live_thread {
	uint32_t thread, process; /* definitions */
	bool seen;                /* a call of it was; else nothing of what follows is known */
	bool ended;               /* since the look before */
	struct live_figures now, all;
	struct live_call in;       /* at the look: the outermost call of a runtime, else the innermost */
	struct live_event *events; /* the thread's, in no order */
	size_t nevents;
};

/* Where a team of threads, or of the ranks of a job, meets. */
struct live_meeting {
	uint32_t probe;   /* a definition that is of this event */
	bool job;         /* its members are processes, else threads of one process */
	uint32_t process; /* if not */
	bool has_object;
	uint64_t object; /* the barrier, or the number of the communicator */
	size_t members;
	struct live_meeting_figures {
		uint64_t met;     /* meetings to which all members came */
		uint64_t unknown; /* others: somebody's call was not seen */
		uint64_t late;    /* ns; in which all but the last one had come */
		uint64_t longest;
		uint32_t last; /* thread that came last most often, by `late`; NO_INDEX: none */
		uint64_t last_times, last_late;
	} now, all;
	size_t waiting;         /* members that are in it at the look ... */
	uint64_t waiting_since; /* ns; the first of them */
	uint32_t awaited;       /* ... and the thread that is not; NO_INDEX: several, or none */
};

struct live_lock {
	uint32_t probe;   /* a definition by which it is acquired */
	uint32_t process; /* NO_INDEX: a lock of the whole job */
	uint64_t lock;    /* as calls name it */
	struct live_lock_figures {
		uint64_t calls; /* acquisitions that ended */
		uint64_t wait;  /* ns in calls that acquire it */
	} now, all;
	size_t waiting;  /* threads that are in such a call at the look */
	uint32_t holder; /* thread that acquired it last and has not released it; NO_INDEX: none, or unknown */
	uint32_t site;   /* where it was acquired last; NO_INDEX: unknown */
};

struct live;

/* All stay the caller's and must outlive it. Becomes a sink of the capture. NULL: out of memory. */
struct live *live_new(struct capture_session *capture, const struct definitions *d, const struct model_set *models);
void live_free(struct live *live);
/* Time begins here (ns). */
void live_begin(struct live *live, uint64_t now);
/*
 * Drains the capture and closes the interval; what the functions below tell holds until the next look. last: no more
 * looks come, so what waited to be sure of its members is judged now. 0 or -errno.
 */
int live_look(struct live *live, bool last);
/* ns; of the interval, and since the beginning. */
uint64_t live_interval(const struct live *live);
uint64_t live_since(const struct live *live);
uint64_t live_now(const struct live *live);

/* Threads that live, or ended in the interval. */
size_t live_threads(const struct live *live);
const struct live_thread *live_thread(const struct live *live, size_t index);
/* Sums over a process's threads, ended ones included. process: definition. NULL: nothing was seen of it. */
const struct live_figures *live_process(const struct live *live, uint32_t process, bool all);
/* Of a process: the events of its threads that are told of no more, since they ended before the interval. */
size_t live_ended_events(const struct live *live, uint32_t process);
const struct live_event *live_ended_event(const struct live *live, uint32_t process, size_t index);
/* By time that others waited in the interval, then since the start: the worst first. */
size_t live_meetings(const struct live *live);
const struct live_meeting *live_meeting(const struct live *live, size_t index);
/* By waiting time likewise. */
size_t live_locks(const struct live *live);
const struct live_lock *live_lock(const struct live *live, size_t index);

#endif
