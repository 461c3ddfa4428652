/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of user/monitor share.
 */
#ifndef GASPBPF_MONITOR_PRIVATE_H
#define GASPBPF_MONITOR_PRIVATE_H

#include <uthash.h>

#include "monitor/monitor.h"
#include "monitor/process_events.h"
#include "monitor/tally.h"
#include "observe/files.h"
#include "observe/identity.h"
#include "observe/translators.h"
#include "util/breath.h"

/* A chosen process that maps a known runtime. */
struct watched_process {
	pid_t pid;
	uint64_t start;          /* ns, CLOCK_MONOTONIC; of the process, to a hundredth of a second */
	struct process *process; /* NULL: not kept apart */
	struct about about;
	struct tallied_process tallied;
	uint64_t since, blind, blind_from, blind_to; /* as in monitor_process */
	struct user_share *share;                    /* that it is kept apart in; NULL: it is not kept apart */
	uint64_t lost_before,
		lost; /* shares_lost() of its user when it was noticed; as in monitor_process, at the last look */
	struct process_identity lineage[MONITOR_LINEAGE];
	size_t nlineage;
	bool from_start;
	bool ended;       /* after the next reading it goes */
	uint64_t leaving; /* ns; a thread of it has ended then, maybe the last one: the news comes a moment before the
			     end; 0: none */
	UT_hash_handle hh;
};

/* What one user holds and was refused (shares.c). */
struct user_share {
	uint32_t user;                         /* or GB_USER_OTHERS */
	size_t files, functions, apart, place; /* place: in monitor_snapshot.users, from 1; 0: none */
	uint64_t refused[REFUSALS];
	uint64_t said[REFUSALS]; /* ns; when; 0: never */
	UT_hash_handle hh;
};

/* A process that there is reason to look at. */
struct pending {
	pid_t pid;
	uint64_t since;    /* ns; when it mapped something; 0: no hurry */
	bool only_program; /* it is only that its program may hold a runtime */
	UT_hash_handle hh;
};

/* A program that has been looked into: is a known runtime inside? */
struct known_program {
	struct {
		uint64_t device, inode, changed, size;
	} key;
	bool has_runtime;
	UT_hash_handle hh;
};

struct monitor {
	struct monitor_options options;
	struct process_choice choice;
	char *wish;
	struct kernel *kernel;
	struct plan *plan;
	struct attach_scope scope;
	struct news *news;
	struct governor *governor;
	struct tally_book book;
	struct watched_process *processes;
	size_t napart; /* of those: kept apart */
	struct pending *pending;
	struct known_program *programs;
	pid_t *own;
	size_t nown, own_room; /* processes with links of their own: scope.pids */
	struct library *libraries;
	size_t nlibraries, registered;  /* in the usual places; how many of them are probed */
	int wake;                       /* readable when there is something to do; -1: not yet */
	struct file_watch *files;       /* those with probes */
	struct translators translators; /* while there are some, probes for everybody are out */
	uint64_t looking;               /* ns; since when monitor_look() is at it; 0: it is not */
	struct breath breath;           /* while files are looked through; then ... */
	bool within;              /* ... nothing but looking is done; nor after it has ended the work (breath.ended) */
	bool some_leave;          /* processes are `leaving` */
	bool rescan;              /* news was lost: all processes are to be looked at */
	struct user_share *users; /* those who hold something, or have */
	uint32_t taking;          /* whose process what the plan takes in is of; GB_USER_ALL: nobody's */
	size_t functions_taken;   /* all users' */
	size_t images_before;     /* of the plan's: before that process */
	uint64_t visited;         /* ns; when the kernel's accounts were looked at */
	struct monitor_user refused[MONITOR_USERS + 1]; /* what is shown of them; the last one: further users */
	struct remains *remains;
	size_t nremains, remains_room;  /* the oldest first */
	uint64_t began, began_realtime; /* ns */
	bool privileged;                /* monitor_options.loaded has kept rights */
	uint64_t ready;                 /* ns; when it was; 0: it is not */
	uint64_t full;                  /* times that a process found no place of its own, whoever has them */
	bool reading;                   /* the sums: nothing but breathing is done */
	bool wanted;                    /* somebody has asked for a new reading */
	uint64_t read_from;             /* ns; when the last one began; 0: there was none */
	uint64_t read_at, read_took, swept, counted_at,
		counted;                /* ns; of the last reading, sweep, and glance at the count of calls */
	bool busy;                      /* calls come so fast that the cost may matter */
	size_t images_then, sites_then; /* right after the last renewal */
	uint64_t noticed, ended, crowded, unseen, unread, late, late_ns, late_longest, renewals, news_lost;
	struct kernel_counts counts;
	unsigned steps_said;
	/* monitor_look() */
	struct monitor_snapshot snapshot;
	struct monitor_process *shown;
	size_t nshown;
	struct monitor_process_event *shown_events;
	size_t shown_events_room;
	struct monitor_event *events_shown;
};

/* notice.c */
struct news_handlers notice_handlers(struct monitor *m);
/* Looks at all processes of the machine. 0 or -errno. */
int notice_all(struct monitor *m);
/* Looks at those that there was news of. 0 or -errno, said. */
int notice_pending(struct monitor *m);
/* Whose calls are these? (tally_book.owner) */
enum owner notice_owner(void *context, uint32_t pid, uint64_t born, struct tallied_process **process);
/* Processes that -p names, and all that is below them, are marked in the kernel. 0 or -errno, said. */
int notice_trees(struct monitor *m);
/* Ended ones go; their calls have been read. */
void notice_let_go(struct monitor *m);
/* Those that may have ended by now are looked at. */
void notice_leaving(struct monitor *m);
/* Those that ended unseen are marked as ended. */
void notice_check(struct monitor *m);
void notice_free(struct monitor *m);

/* rank.c: by the models whose functions the process maps; it may become known only once the program has begun. */
void about_rank(struct about *about, const struct plan *plan, const struct process *process);

/* plans.c: files and probes */
/* A fresh plan, empty. 0 or -errno, said. */
int plans_new(struct monitor *m);
void plans_take_care(struct monitor *m); /* once the rung is known */
/*
 * What the process maps is probed. *until: when the last of these probes went in, for it or for others before it; 0: it
 * maps nothing with probes. 0 or -errno (-ESRCH: it has ended).
 */
int plans_take(struct monitor *m, struct process *process, uint64_t *until);
/* The process needs no probes any more. */
void plans_leave(struct monitor *m, pid_t pid);
/* Does the process, as its mappings say, map a known runtime? */
bool plans_wants(struct monitor *m, const struct process *process);
/* The runtime's library of a process that has been taken, if it could not be read; NULL: none. */
const char *plans_unread(struct monitor *m, const struct process *process);
/* Might this file hold a known runtime? Asked for each file that any process maps. */
bool plans_might_want(struct monitor *m, const struct news_file *file, bool *is_program);
void plans_forget_programs(struct monitor *m);
/* Might the process's program hold one? Cheap, as each program is looked into once. */
bool plans_wants_program(struct monitor *m, pid_t pid);
/*
 * Libraries in the usual places are probed before anybody maps them: which, and one of them now (some take half a
 * second of searching for places). 0, or -ECANCELED: then it is over.
 */
void plans_list_libraries(struct monitor *m);
int plans_register(struct monitor *m);
/* Where the plan has grown too much of files that are gone, it is made anew. 0 or -errno, said: then it is over. */
int plans_renew(struct monitor *m);

/* files.c: makes m->files and m->wake; after news_open(). 0 or -errno, said. */
int files_open(struct monitor *m);

/* translators.c */
/* The process has another name now. Where it is one that translates programs, probes for everybody come out. */
void translators_named(struct monitor *m, pid_t pid);
/* Those that are there already. */
void translators_look(struct monitor *m);
/* When the last of them has ended, probes go in again. 0 or -errno, said. */
int translators_watch(struct monitor *m);

/* limits.c */
int limits_new(struct monitor *m);
/* Reads the sums and lets the governor look, if it is time. 0 or -errno. */
int limits_govern(struct monitor *m);

/* monitor.c */
int monitor_read(struct monitor *m, bool govern);
/* All but its events. What it points to is w's. Not of one that is not kept apart. */
struct monitor_process monitor_describe(const struct watched_process *w);

/* shares.c */
/* Looks at what the kernel side has refused, if that was not done just now, and says it. */
void shares_visit(struct monitor *m, bool now);
/* Calls of this user's that are in no figure, so far. */
uint64_t shares_lost(struct monitor *m, uint32_t user);
/* The plan takes in what a process of this user's maps, from here to there. */
void shares_begin_taking(struct monitor *m, uint32_t user);
void shares_end_taking(struct monitor *m);
/* plan_admission's, for that user. */
bool shares_admit_file(void *context);
bool shares_admit_functions(void *context, const struct image *image, size_t count);
/* The plan is empty. */
void shares_renew(struct monitor *m);
/* The process is kept apart from now on; false: there is no room for more of its user's. */
bool shares_keep_apart(struct monitor *m, struct watched_process *w);
/* It is not any more; if it was. */
void shares_let_go(struct monitor *m, struct watched_process *w);
void shares_show(struct monitor *m); /* m->snapshot.users */
void shares_free(struct monitor *m);

/* ended_processes.c */
/* Keeps what is to be shown of a process that has ended, and is kept apart; takes w->about. */
void remains_keep(struct monitor *m, struct watched_process *w);
/* Those that have been shown for long enough go. */
void remains_expire(struct monitor *m);
/* Room for m->nremains; so many are returned. */
size_t remains_show(const struct monitor *m, struct monitor_process *shown);
void remains_free(struct monitor *m);

#endif
