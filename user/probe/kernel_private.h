/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_private.h - what the files of user/probe share about the loaded programs.
 */
#ifndef GASPBPF_KERNEL_PRIVATE_H
#define GASPBPF_KERNEL_PRIVATE_H

#include <pthread.h>

#include "probe/probe.h"

/* Attach types that Debian 12's headers do not know. */
#define TRACE_UPROBE_MULTI 48   /* Linux 6.6, commit 89ae89f53d20 */
#define TRACE_UPROBE_SESSION 57 /* Linux 6.13, commit d920179b3d48 */

/* One attachment. */
struct held_link {
	int fd; /* the BPF link; it holds all the rest */
	size_t probes;
	int file_fd;          /* of the image that it is in; only a mark here */
	pid_t pid;            /* 0: every process */
	uint32_t site;        /* the only one that it is for; NO_SITE: several */
	bool withdraws;       /* all of functions that may be withdrawn (attach_withdraw()) */
	struct held_set *set; /* owned: its places in the table of what is in (breakpoints.c) */
};

/*
 * apart.c: where no SIGKILL gets at it. Makes so many descriptors, each by make(context, i), a descriptor or -errno, in
 * a process that has of our descriptors only those that are needed. How many were made: those before the first that
 * could not be; *error says why that one.
 */
size_t apart_make(int (*make)(void *context, size_t i), void *context, size_t count, const int needed[2], int *fds,
		  int *error);
/* Closes what takes breakpoints out when it is closed; then they are gone. */
void apart_close(int fd);

/* linker_sign.c: the instructions with which a dynamic linker gives debuggers its sign. */
#define LINKER_SIGNS 16              /* at most; glibc has 6 */
#define LINKER_SIGNS_LEAST 2         /* of fewer there must be others that are not seen */
#define LINKER_CODE_MOST (16u << 20) /* bytes that are searched */
struct linker_signs {
	uint64_t device, inode;
	unsigned long offsets[LINKER_SIGNS]; /* in the file */
	uint64_t cookies[LINKER_SIGNS];      /* as bpf/process.bpf.c wants them */
	size_t count;
};
/* All of them, or none where they cannot be found for sure. */
void linker_signs_find(struct linker_signs *signs, const struct image *image, const struct symbol *sign);

struct kernel {
	struct observe_bpf *observe;
	struct process_bpf *process;
	enum rung rung;
	bool callers, sums; /* as in kernel_options */
	int ring_fds[64];
	int rings_fd; /* the map of them */
	pthread_t filler;
	bool filling; /* that thread puts them in */
	unsigned rings;
	size_t ring_bytes;    /* of one ring */
	uint32_t uprobe_type; /* the kernel's number for perf events that are uprobes; 0: not read yet */
	unsigned next_cpu;    /* whose turn it is to have a perf event: see link.c */
	struct probe_costs costs;
	struct kernel_counts before; /* what the trial and the calibration lost: nobody's */
	struct linker_signs signs;   /* of the linker that was met last */
	struct held_link *links;
	size_t nlinks, room;
	struct dismissal *dismissal;    /* private to dismiss.c */
	bool let_go;                    /* no probes for everybody for now (attach_let_go) */
	struct held *held;              /* private to breakpoints.c */
	struct neighbours *neighbours;  /* private to neighbours.c */
	struct sums_returned *returned; /* private to user_shares.c */
};

/* What one attach call puts in: parallel arrays of file offsets and cookies. */
struct link_request {
	int file_fd; /* the file the probes go into */
	pid_t pid;   /* 0: every process */
	const unsigned long *offsets;
	const uint64_t *cookies;
	size_t count;
	bool apart;                                       /* all of one site, which may be taken out alone */
	bool withdraws;                                   /* plan_may_withdraw() all of them */
	enum { LINK_SPANS, LINK_CALLS, LINK_EXITS } kind; /* calls and returns; calls only; last instructions */
};

/* breakpoints.c: what is in, each place once for each process. */
enum held_what { HELD_CALL, HELD_RETURN, HELD_EXIT, HELD_LINKER };
int held_new(struct kernel *kernel);
void held_free(struct kernel *kernel);
/* What of the request is not in yet; waits for what is on its way out. Its arrays are malloc'ed, also where this fails.
 * 0 or -errno, not said. */
int held_admit(struct kernel *kernel, const struct link_request *request, struct link_request *admitted);
/* A link for these places is about to be made. NULL: no memory. */
struct held_set *held_take(struct kernel *kernel, const struct link_request *request, enum held_what what);
/* The link is going to be closed by somebody else. */
void held_leaves(struct kernel *kernel, const struct held_set *set);
/* The link has been closed; frees the set, which may be NULL. */
void held_gone(struct kernel *kernel, struct held_set *set, bool was_leaving);

/* For how many processes this instruction has a probe that sees calls: each of them has a link of its own. 0: none, or
 * one for everybody. */
unsigned held_holders(const struct kernel *kernel, int file_fd, uint64_t offset);

/* A link in this file that never acts. A descriptor or -errno. (link.c) */
int link_for_nobody(struct kernel *kernel, int file_fd);

/* neighbours.c: other observers. One instance at a time looks at what is in, and puts its own in. */
bool neighbours_prepare(struct kernel *kernel); /* loads what they take; false: no memory */
bool neighbours_tell(struct kernel *kernel);    /* can they still be asked for? */
void neighbours_lock(struct kernel *kernel);
void neighbours_unlock(struct kernel *kernel);
/* Sites that are not in yet keep out of the way of others' probes: site.returns, its place, site.crowded. 0 or -errno.
 */
int neighbours_settle(struct kernel *kernel, struct plan *plan, const struct attach_scope *scope);
/* Sets site.avoided where a probe for this process would meet others' by now, and clears it again. */
void neighbours_mark(struct kernel *kernel, struct plan *plan, const struct image *image, pid_t pid);
void neighbours_unmark(struct plan *plan);
/* The file that the kernel's probes are in: file_identity(), and below overlays. 0 or -errno. */
int neighbours_identity(struct kernel *kernel, int fd, uint64_t *device, uint64_t *inode);
void neighbours_free(struct kernel *kernel);

/* Does the rung work? Then it is calibrated, too: now (anew), or by an earlier start. The trial's links may stay in;
 * nothing calls what they are on. 0 or -errno. (trial.c) */
int trial_run(struct kernel *kernel, bool anew);

/* user_shares.c: users' shares of what the kernel side holds. Nobody has taken anything. 0 or -errno, not said. */
int rooms_begin(struct kernel *kernel);
/* A sum of this user's has been removed; the kernel side hears of it with rooms_tell(). */
void rooms_return(struct kernel *kernel, uint32_t user);
void rooms_tell(struct kernel *kernel);
void rooms_free(struct kernel *kernel);

/* Empties the map of sums. (sum_maps.c) */
void kernel_forget_all_sums(struct kernel *kernel);

/* From now on calls may be kept by stack (bpf/stacks.h). */
void kernel_use_stacks(struct kernel *kernel);

/* False where the kernel knows nothing of a rung: a quick look, so that no programs are loaded for it in vain. */
bool link_possible(enum rung rung);
/* Attaches on the kernel's rung what is not in yet, and remembers the links. 0 or -errno, not said. */
int link_attach(struct kernel *kernel, const struct link_request *request);
/* The same where one may be in already, for the calibration only. */
int link_attach_beside(struct kernel *kernel, const struct link_request *request);
/* Removes links kernel->links[from..), many at once. `progress` may be NULL. */
void link_remove_from(struct kernel *kernel, size_t from, void (*progress)(size_t, size_t));

/* The linker's program (bpf/process.bpf.c) instead of those for calls. These links count as no probes. */
int link_attach_linker(struct kernel *kernel, const struct link_request *request);

/* dismiss.c: removes links in the background; what has been dismissed is gone when this returns. */
void dismiss_wait(struct kernel *kernel);
/* Dismisses the links that are this site's alone. How many that were. */
size_t dismiss_site(struct kernel *kernel, uint32_t site);
/* Dismisses the links of functions that may be withdrawn. */
void dismiss_withdrawn(struct kernel *kernel);
/* Is everything gone that was dismissed? */
bool dismiss_done(struct kernel *kernel);
/* Puts the site's capture program, with its level, into the kernel. 0 or -errno, not said. (attach.c) */
int attach_program(struct kernel *kernel, const struct site *site);
/* Puts the probes of this site in again, for all whom the scope names. 0 or -errno, said. (attach.c) */
int attach_again(struct kernel *kernel, const struct plan *plan, const struct site *site,
		 const struct attach_scope *scope);

#endif
