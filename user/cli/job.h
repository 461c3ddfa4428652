/*
 * job.h - the observed job: its processes, and everything that is alive while it is observed.
 */
#ifndef GASPBPF_JOB_H
#define GASPBPF_JOB_H

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
	pid_t *pids;              /* observed at the start */
	size_t npids;
	struct process **processes; /* looked at, not yet given to the capture */
	size_t nprocesses;
	pid_t command;            /* started by us; 0: none */
	bool follow;              /* children are observed too */
	size_t followed;          /* children that got links of their own */
	size_t unfollowed;        /* children that were started and are not observed */
	unsigned cost_ns[SITE_CLASSES];
};

/* Looks at the processes; a launcher stands for its ranks. 0 or -errno, said. */
int job_add_pids(struct job *job, const struct pid_list *list);
/* Loads the kernel side and puts the probes in. 0 or -errno, said. */
int job_attach(struct job *job, enum scope scope, uint64_t ring_bytes);
/* Starts a command under observation: held until its probes are in, then let go. 0 or -errno, said. */
int job_start(struct job *job, char *const argv[], enum scope scope, uint64_t ring_bytes);
/* True while something is left to observe. */
bool job_alive(const struct job *job);
void job_free(struct job *job);

#endif
