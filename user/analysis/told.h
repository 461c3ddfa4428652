/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * told.h - the second door of user/analysis: what a report has found, with its times, for who draws it.
 *
 * All times ns, as recorded. What is told is good until the function returns.
 */
#ifndef GASPBPF_TOLD_H
#define GASPBPF_TOLD_H

#include "analysis/report.h"

/* When something was bad, and whom it hit. */
struct finding_instance {
	uint64_t start, end; /* ns */
	uint32_t thread;
};

struct told_finding {
	unsigned number; /* from 1 on, as the report has them */
	const char *kind, *text;
	uint32_t thread;   /* NO_INDEX: of no thread alone */
	const char *place; /* NULL: none */
	bool has_gain;
	uint64_t gain;
	const struct finding_instance *instances; /* the worst first */
	size_t ninstances;
};

enum told_time {
	TOLD_PART,       /* of the run: before the iterations, some of them that are alike, after them */
	TOLD_ITERATIONS, /* some of a part, one after the other, or one */
	TOLD_OUTLIER     /* an iteration that is out of line */
};

struct told_range {
	enum told_time what;
	const char *name; /* of a part */
	uint64_t from, to;
	uint64_t number, iterations; /* the first one; iterations 0: a part that has none */
	uint64_t typical;            /* of an outlier: what the others took */
	char blame[100];             /* of an outlier or a part: whose it is; "": not known */
};

/* Threads that have the same iterations. */
struct told_phases {
	const char *label; /* what an iteration begins or ends with */
	const char *who;   /* "ranks 0-3" */
	/* Parts in the order of time, each before its iterations; then outliers, the longest first. */
	const struct told_range *ranges;
	size_t nranges;
};

/* What tasks run: the name of the program's own, or what stands for it. */
struct told_kind {
	uint32_t number; /* told_task.kind */
	const char *name;
};

/* Each may be NULL; each returns 0, or -errno to stop. */
struct report_teller {
	int (*finding)(void *context, const struct told_finding *finding);
	int (*phases)(void *context, const struct told_phases *phases);
	int (*kind)(void *context, const struct told_kind *kind);
	void *context;
};

/* After reporter_read(). 0 or -errno. */
int reporter_tell(struct reporter *reporter, const struct report_teller *teller);

/* What goes up and down in a run. */
enum report_level {
	LEVEL_MEMORY,  /* bytes that are in use, of what the functions of one model give out */
	LEVEL_READY,   /* tasks that nobody has begun */
	LEVEL_BLOCKED, /* tasks that are not ready, or of which that is not known */
	LEVELS
};

/* process: NO_INDEX: of all together. probe: one whose model's it is. */
typedef void (*report_level_fn)(void *context, enum report_level level, uint32_t process, uint32_t probe, uint64_t time,
				uint64_t value);

/* A task that a thread has run, whole or up to the end of what was seen. */
struct told_task {
	uint32_t thread;
	uint32_t kind; /* NO_INDEX: not known */
	bool numbered; /* the runtime's number of its worker is known */
	int64_t worker;
	unsigned depth;      /* tasks around it, on its thread */
	uint64_t start, end; /* ns */
	bool open;           /* it had not returned at the end */
	bool submit_seen, ready_seen;
	uint64_t submitted, ready; /* ns, where seen */
	uint32_t ready_by;         /* the thread that made it ready, where that was seen */
	uint32_t site;             /* where it was submitted; NO_INDEX: not known */
};

struct report_watch {
	report_level_fn level; /* NULL: nobody watches */
	void *context;
	/* As they begin, all threads in one order of time; NULL: nobody watches these. */
	void (*task)(void *context, const struct told_task *task);
};

/*
 * To be called before reporter_read(): whenever one of these has changed, or a task begins, it is told, in the order of
 * time, maybe by another thread, one call at a time.
 */
void reporter_watch(struct reporter *reporter, const struct report_watch *watch);

#endif
