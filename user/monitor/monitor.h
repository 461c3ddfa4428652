/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor.h - the door of user/monitor: processes of a whole machine, counted in the kernel, for months.
 *
 *   news    the kernel tells of processes that start, map files and end (process_events.c)
 *   about   which of them are wanted (observe/identity.h, notice.c)
 *   monitor probes into the files of known runtimes, the kernel's sums out of it, a look at all of it at a time
 * (monitor.c)
 *
 * No event reaches user space: the kernel keeps counts, times, bytes and their histograms by thread and function, and
 * they are read now and then. Everything here is done by one thread.
 */
#ifndef GASPBPF_MONITOR_H
#define GASPBPF_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gaspbpf/wire.h"
#include "model/model.h"
#include "observe/identity.h"
#include "probe/probe.h"
#include "target/target.h"

struct monitor;

/* --- what is wanted ----------------------------------------------------- */

/*
 * Who wants each call, too (the flight recorder): monitor_options.spans. All are called from monitor_step() and
 * monitor_open(); each may be NULL. `process` stays the monitor's and is good until `left`.
 */
struct monitor_watcher {
	/* The plan has grown, or is another one: kernel and plan are to be asked for anew with monitor_kernel(),
	 * monitor_plan(). */
	void (*grown)(void *context, struct monitor *m);
	/* The plan, and its sites, are about to be freed: everything that holds them must go. After that comes `grown`.
	 */
	void (*renewing)(void *context, struct monitor *m);
	/* A chosen process, its probes are in; between these times (ns, CLOCK_MONOTONIC; 0: never) it could make calls
	 * and they were not. */
	void (*came)(void *context, struct monitor *m, const struct process *process, uint64_t blind_from,
		     uint64_t blind_to);
	void (*left)(void *context, struct monitor *m, pid_t pid);
	void (*changed)(void *context, struct monitor *m,
			const struct image *image); /* the file has other contents; the image stays until `renewing` */
	void *context;
};

struct monitor_options {
	const struct model_set *models; /* stays the caller's, as all that is pointed to here */
	const char *wish;               /* -m; NULL: every parallel runtime */
	struct process_choice choice;   /* its lists must live as long as the monitor */
	/* Sets what else is wished for in a plan that is still empty (there may be several, one after the other); NULL:
	 * nothing. 0 or -errno, said. */
	int (*prepare)(void *context, struct plan *plan);
	void *prepare_context;
	double budget;         /* share of each thread's time that probes may take: 0.01; 0: no limit */
	uint64_t linger_ns;    /* a process is shown for so long after its end; 0: not at all */
	size_t most_processes; /* kept apart at a time; others count in the totals only; 0: MONITOR_PROCESSES */
	bool lazy;  /* a library is probed only once a chosen process has mapped it; else those in the usual places soon
		     */
	bool spans; /* calls go to the rings, too */
	uint64_t ring_bytes; /* with `spans`; 0: default */
	struct monitor_watcher watcher;
	/*
	 * All programs are loaded, and nothing has been read of anybody's yet: what was only needed for that may be
	 * given up. NULL: nothing. *privileged: rights were kept. 0, or -errno, said: better not at all.
	 */
	int (*loaded)(void *context, struct kernel *kernel, bool *privileged);
	void *loaded_context;
	/*
	 * Is called every hundredth of a second or so while files are looked through, which may take seconds: from
	 * monitor_open(), monitor_step() and monitor_choose(). It may call monitor_look() (not while monitor_open() has
	 * not returned), and nothing else of this. True: what is being done ends with -ECANCELED; only monitor_look()
	 * and monitor_close() make sense then. NULL: nobody waits.
	 */
	bool (*breathe)(void *context);
	void *breathe_context;
};

#define MONITOR_PROCESSES 4096
#define SHARED_LEAST                                                                                                 \
	1000 /* most_processes, or series, of which users have shares: of fewer, who comes first takes what he needs \
	      */
#define MONITOR_ENDED 512 /* processes that have ended and are still shown: the last so many */

/* Loads the kernel side, looks at the processes that run already, puts probes in. 0 or -errno, said. */
int monitor_open(struct monitor **monitor, const struct monitor_options *options);
/* Takes the probes out. NULL: nothing. */
void monitor_close(struct monitor *monitor);
/* Other processes are wanted from now on (a configuration was read again). The options' other fields cannot change. 0
 * or -errno, said. */
int monitor_choose(struct monitor *monitor, const struct process_choice *choice);

/* A descriptor that is readable when monitor_step() has something to do; and in how many ms it has anyway (never more
 * than 1000). */
int monitor_fd(const struct monitor *monitor);
int monitor_timeout(const struct monitor *monitor);
/* Has it everything that was to be probed at its start? Who came before that may be late (monitor_snapshot.late). */
bool monitor_ready(const struct monitor *monitor);
/* Does what is due: looks at new processes, lets go of those that have ended, keeps the cost low. 0 or -errno, said:
 * then it is over. */
int monitor_step(struct monitor *monitor);

/* For the watcher. */
struct kernel *monitor_kernel(struct monitor *monitor);
struct plan *monitor_plan(struct monitor *monitor);

/* --- what is known ------------------------------------------------------ */

#define MONITOR_BUCKETS 64 /* [i]: from 2^i (ns, bytes) up to twice that; 0 is in [0]. Durations end at GB_BUCKETS */

/* Calls of one event, since the monitor or the process began. No figure of the same process ever becomes less. */
struct monitor_amounts {
	uint64_t calls; /* exact, but see monitor_event.unseen */
	uint64_t timed; /* of those: whose duration is known; it is in ns, min, max, duration */
	uint64_t ns;
	uint64_t min, max; /* ns; valid where timed is not 0 */
	uint64_t sized;    /* of the calls: whose payload is known; it is in bytes and size. calls - sized: not known,
			      which is not 0 */
	uint64_t bytes;
	uint64_t inner;    /* calls that the runtime made to itself, beside all others here ... */
	uint64_t inner_ns; /* ... and how long they took, of which each is a part of a call that is counted */
	uint64_t skipped;  /* of the calls: only counted, by the governor: neither timed nor sized. 0: all of this is
			      exact */
	uint64_t duration[MONITOR_BUCKETS];
	uint64_t size[MONITOR_BUCKETS];
};

/* An event that some observed function stands for. Its index never changes its meaning while the monitor lives. */
struct monitor_event {
	const char *name;  /* "GASP_MPI_SEND" */
	const char *model; /* "mpi" */
	enum role role;
	uint32_t number;
	unsigned marks;             /* enum mark, of the first of its functions */
	const struct value *values; /* likewise; good as long as the monitor */
	uint32_t nvalues;
	bool moves;     /* its calls have a payload: bytes have a meaning */
	unsigned every; /* at present one call in so many is followed, the others are counted; 1: all; 0: none are even
			   counted */
	uint64_t unseen_ns; /* how long its probes (of some function of it) were out so far, for the cost's sake: calls
			       then are in no figure */
	struct monitor_amounts total; /* of all processes, ended ones and those too many to keep apart included */
};

#define MONITOR_LINEAGE 12

struct monitor_process_event {
	uint32_t event; /* index in monitor_snapshot.events */
	struct monitor_amounts amounts;
};

struct monitor_process {
	pid_t pid;
	uint64_t start_time; /* clock ticks after boot: with the pid it is the process's identity */
	uint64_t since_ns;   /* CLOCK_MONOTONIC: when it was noticed */
	uint64_t ended_ns;   /* the same clock: it has ended, and this is what it did; 0: it lives */
	uid_t uid;
	const char *comm, *exe, *cgroup;                  /* "" where not known; written by users: escape them */
	const char *user;                                 /* name, else the number */
	const char *job;                                  /* of the resource manager; "": none */
	long rank, size;                                  /* -1: not known */
	struct process_identity lineage[MONITOR_LINEAGE]; /* itself and who started it, when it was noticed */
	size_t nlineage;
	bool from_start;   /* it started after the monitor: nothing of it was missed but what `blind_ns` tells */
	uint64_t blind_ns; /* it could make calls, and the probes were not in yet: for so long, since the monitor began;
			      0: never */
	uint64_t blind_from_ns, blind_to_ns; /* CLOCK_MONOTONIC: the last time that was so */
	uint64_t lost; /* calls of its user's, this process's or others', that found no room while it ran: at most so
			  many are missing here */
	const struct monitor_process_event *events;
	size_t nevents; /* those with calls */
};

/* What a user can be refused: GB_ROOM_* and GB_REFUSED_MEMORY (gaspbpf/wire.h) by the kernel side, and: */
enum monitor_refusal {
	REFUSED_FILES = GB_REFUSALS, /* files not looked into */
	REFUSED_FUNCTIONS,           /* files whose functions found no room */
	REFUSED_PROCESSES,           /* processes not kept apart: in the totals only */
	REFUSALS
};
/* "sums" */
const char *refusal_name(enum monitor_refusal why);

#define MONITOR_USERS 64 /* that are told of one by one */

/* A user of whom something was refused. No figure ever becomes less. */
struct monitor_user {
	uid_t uid;
	bool others;                /* not one, but all further ones */
	uint64_t refused[REFUSALS]; /* how often */
};

struct monitor_snapshot {
	uint64_t time_ns, since_ns; /* CLOCK_MONOTONIC; now, and when the monitor began */
	uint64_t since_realtime_ns; /* the same as date: the counters began at 0 then */
	const struct monitor_process *processes;
	size_t nprocesses; /* chosen, with a known runtime: first those that live ... */
	size_t nalive;     /* ... which are so many, then some that have ended lately (monitor_options.linger_ns) */
	const struct monitor_event *events;
	size_t nevents;
	uint64_t noticed, ended;                 /* chosen processes, so far */
	uint64_t crowded;                        /* of those: too many at a time to be kept apart: in the totals only */
	uint64_t unseen;                         /* processes that had ended before they could be looked at */
	uint64_t late, late_ns, late_longest_ns; /* blind windows (blind_ns): how often, all together, the longest */
	bool ready;                              /* monitor_ready() */
	bool privileged;                         /* it has kept rights while it looks at others' files */
	size_t libraries, registered;            /* those to be probed beforehand, and how many of them are */
	uint64_t renewals; /* times that all probes were put in anew, to forget files that are gone */
	uint64_t lost;     /* calls that are in no sum, for want of memory */
	const struct monitor_user *users;
	size_t nusers;                     /* of whom something was refused, in the order in which it was */
	const struct monitor_user *others; /* further ones */
	uint64_t lost_spans; /* with `spans`: calls that found no room in the rings; they are counted all the same */
	uint64_t news_lost;  /* times that the kernel's news did not fit; all processes were looked at then */
	uint64_t cost_ns;    /* what the probes took from all threads so far, by the calibration */
	uint64_t own_cpu_ns; /* of the monitor's own process */
	uint64_t own_bytes;  /* resident, of the same */
	uint64_t own_heap_bytes;    /* of malloc's, that is in use: unlike `own_bytes` it comes back to what it was */
	size_t images, sites, sums; /* files looked into, functions probed, entries in the kernel's map */
	const char *rung;           /* how probes are attached: "session" */
};

/* Reads the kernel's sums. Good until the next call of any function above. NULL: no memory, or the kernel refused,
 * said. */
const struct monitor_snapshot *monitor_look(struct monitor *monitor);
/*
 * Which processes with a rank are of one job: launches[i] is who started all ranks of process i's job on this machine,
 * as far as that can be told; else its pid is 0: such a process is not to be compared with another one. A resource
 * manager's job does not tell: it may start several, at a time or one after the other. 0 or -ENOMEM.
 */
int monitor_launches(const struct monitor_process *const *processes, size_t count, struct process_identity *launches);
/*
 * The same for who must not wait: where there are many sums, what was read last (monitor_snapshot.time_ns), and a new
 * reading soon. NULL also in the midst of a reading: then what was given out before is the newest that there is.
 */
const struct monitor_snapshot *monitor_glance(struct monitor *monitor);

#endif
