/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe.h - the door of user/observe: a job that is observed, its processes, and everything that is alive meanwhile.
 *
 * In this order: the caller fills in models, plan and what it wishes (struct job); job_open() and job_attach(), or
 * job_start() for a command; job_serve() while job_alive(); job_leave(); capture_finish(), where calls still in
 * progress are to be told; job_free().
 */
#ifndef GASPBPF_OBSERVE_H
#define GASPBPF_OBSERVE_H

#include "capture/capture.h"
#include "observe/choose.h"
#include "observe/control.h"
#include "observe/translators.h"
#include "util/keeper.h"
#include "util/text.h"

enum scope { SCOPE_AUTO, SCOPE_PROCESS, SCOPE_FILE };

/* Who observes it. All members may be NULL. */
struct job_user {
	void (*ended)(void *context, pid_t pid, int status); /* a process has; as wait(2) gives it */
	control_dump *dump;                                  /* 'gaspbpf control dump' */
	void *context;
};

struct job {
	struct model_set *models;
	struct plan *plan;
	struct kernel *kernel;
	struct definitions definitions;
	struct capture_session *capture;
	struct attach_scope attach;
	pid_t *pids; /* observed at the start; from then on those with links of their own */
	size_t npids;
	struct process **processes; /* looked at, not yet given to the capture */
	size_t nprocesses;
	size_t nobserved;                   /* processes at the start */
	struct follow *follow;              /* what comes after the start */
	struct ranks *ranks;                /* that come later; NULL: a command was started */
	struct launchers *launchers;        /* they, and others, are no part of the job */
	bool all_processes;                 /* but then they are */
	struct control *control;            /* by it others talk to us; NULL: they cannot */
	const struct kept_process *started; /* processes that were started for it, before rights are given up, and are
					       to be ended (util/keeper.h) */
	size_t nstarted;
	struct job_user user;
	pid_t command;      /* started by us; 0: none */
	bool callers;       /* of calls in progress it is wanted where they came from */
	bool queues;        /* it is wanted when threads waited for a processor */
	bool sampling;      /* threads are looked at, too, when rights are given up (user/stacks) */
	bool begins_later;  /* job_attach() leaves job_begin() to its caller */
	bool brief;         /* it ends soon: what its probes cost is not worth a word */
	bool hold_children; /* of the command, so that nothing of them is missed */
	struct hold *hold;  /* NULL: nothing is held */
	bool command_ended;
	int command_status;             /* then; as wait(2) gives it */
	struct translators translators; /* beside it */
	struct probe_costs costs;
	int wake;         /* job_listen() */
	uint64_t checked; /* ns; when the processes were looked at last */
};

/* Loads the kernel side, with job->callers: no probe is in yet, and nothing was looked at. 0 or -errno, said. */
int job_load(struct job *job, uint64_t ring_bytes);
/*
 * Where that works, all rights are given up: nothing that a target made is looked at with them. Files are then written
 * in the folders of `written` only.
 */
void job_give_up_rights(struct job *job, const struct text_list *written);
/*
 * Looks for the processes, and at them; a launcher stands for its ranks, or else for all that it has started. Of those
 * that the choice describes, other than by their numbers, only parallel runtimes are observed, unless -m says else:
 * malloc is called by everybody. There may be nothing to observe in them, or nothing that a launcher has started. 0 or
 * -errno, said.
 */
int job_find(struct job *job, const struct process_choice *choice);
/* The same for who observes them: those in which there is nothing to observe are left alone, and where that is all, or
 * a function that was named is nowhere, it is an error. */
int job_add(struct job *job, const struct process_choice *choice);
/*
 * Both, and in between all rights are given up (job_give_up_rights()).
 */
int job_open(struct job *job, const struct process_choice *choice, uint64_t ring_bytes,
	     const struct text_list *written);
/* Does the process map a file with functions of the plan? */
bool job_knows(const struct job *job, const struct process *process);
/* A function that somebody named with -e or -F must be somewhere; a spelling mistake is worth a word. 0 or -ENOENT,
 * said, or -ENOMEM. */
int job_check_functions(struct job *job);
/* Now that job->attach says for whom probes are to be: makes the rest ready for it. 0 or -errno, said. */
int job_prepare(struct job *job);
/* Puts the probes in. 0 or -errno, said. */
int job_attach(struct job *job, enum scope scope);
/*
 * Starts a command under observation: held until its probes are in, then let go. Once it is held all rights are given
 * up (job_give_up_rights()). 0 or -errno, said.
 */
int job_start(struct job *job, char *const argv[], enum scope scope, uint64_t ring_bytes,
	      const struct text_list *written);
/* From here on calls are seen: job_attach() and job_start() end with it. */
void job_begin(struct job *job);
/* These wake job_serve() up, too; the rest does by itself. Those below 0 are left out. 0 or -errno, not said. */
int job_listen(struct job *job, const int *descriptors, size_t count);
/*
 * Waits a moment, 20 ms at most, and does all that has come meanwhile: drains the rings, answers what is held and who
 * asks, keeps the cost down, follows children and libraries.
 */
void job_serve(struct job *job);
/* Takes the probes out, when all that was seen has been told. Of a command that was started see job_status(). show: as
 * in attach_remove_all(). */
void job_leave(struct job *job, void (*show)(size_t done, size_t all));
/* The exit status of the command, as a shell has it; 0 where there is none, or it runs on. */
int job_status(const struct job *job);
/* True while something is left to observe. */
bool job_alive(const struct job *job);
void job_free(struct job *job);

#endif
