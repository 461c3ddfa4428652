/*
 * job.h - the observed job: its processes, and everything that is alive while it is observed.
 */
#ifndef GASPBPF_JOB_H
#define GASPBPF_JOB_H

#include "cli/translators.h"
#include "capture/capture.h"
#include "cli/cli.h"

enum scope { SCOPE_AUTO, SCOPE_PROCESS, SCOPE_FILE };

struct job {
	struct model_set *models;
	struct plan *plan;
	struct kernel *kernel;
	struct definitions definitions;
	struct capture_session *capture;
	struct attach_scope attach;
	pid_t *pids;              /* observed at the start; from then on those with links of their own */
	size_t npids;
	struct process **processes; /* looked at, not yet given to the capture */
	size_t nprocesses;
	size_t nobserved;         /* processes at the start */
	struct follow *follow;    /* what comes after the start */
	struct ranks *ranks;      /* that come later; NULL: a command was started */
	struct launchers *launchers; /* they, and others, are no part of the job */
	bool all_processes;       /* but then they are */
	struct flight *flight;    /* it is told of processes that end; NULL: none */
	struct control *control;  /* by it others talk to us; NULL: they cannot */
	const struct tools *tools; /* that are told what happens, started before rights are given up; NULL: none */
	pid_t command;            /* started by us; 0: none */
	bool callers;             /* of calls in progress it is wanted where they came from */
	bool hold_children;       /* of the command, so that nothing of them is missed */
	struct hold *hold;        /* NULL: nothing is held */
	bool command_ended;
	int command_status;       /* then; as wait(2) gives it */
	struct translators translators;
	struct probe_costs costs;
};

/* Loads the kernel side, with job->callers: no probe is in yet, and nothing was looked at. 0 or -errno, said. */
int job_load(struct job *job, uint64_t ring_bytes);
/*
 * Where that works, all rights are given up: nothing that a target made is looked at with them. Files are then written in the folders of
 * `written` only.
 */
void job_give_up_rights(struct job *job, const struct text_list *written);
/* Looks at the processes; a launcher stands for its ranks. 0 or -errno, said. */
int job_add_pids(struct job *job, const struct pid_list *list);
/*
 * Both, and in between all rights are given up (job_give_up_rights()).
 */
int job_open(struct job *job, const struct pid_list *list, uint64_t ring_bytes, const struct text_list *written);
/* A function that somebody named with -e or -F must be somewhere; a spelling mistake is worth a word. 0 or -ENOENT, said, or -ENOMEM. */
int job_check_functions(struct job *job);
/* Now that job->attach says for whom probes are to be: makes the rest ready for it. 0 or -errno, said. */
int job_prepare(struct job *job);
/* Puts the probes in. 0 or -errno, said. */
int job_attach(struct job *job, enum scope scope);
/* From here on calls are seen. */
void job_begin(struct job *job);
/* True while something is left to observe. */
bool job_alive(const struct job *job);
void job_free(struct job *job);

#endif
