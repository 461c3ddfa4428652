/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare_data.h - what the files of the comparison share. Private to user/analysis.
 */
#ifndef GASPBPF_COMPARE_DATA_H
#define GASPBPF_COMPARE_DATA_H

#include "analysis/analysis.h"
#include "analysis/compare.h"
#include "util/json.h"
#include "util/statistics.h"

#define CHANCE_LEVEL 0.05
#define KINDS_OF_TIME (SHARES + 2) /* report_shares, in no probed call, and not seen which */
#define MODELS_MOST 64             /* further ones count as seen everywhere */

/* --- what is kept of a run (digest.c) ---------------------------------------- */

struct run_event {
	uint64_t calls; /* 0: there were none */
	bool timed;     /* self is known */
	bool estimated; /* not all of them are on the timeline */
	bool partly;    /* its probes were out for a while */
	uint64_t self;  /* ns, of all threads */
};

struct run_finding {
	char *key;  /* the same of the same finding in another run */
	char *text; /* as the report has it */
	const char *kind;
	uint64_t weight; /* ns of thread time */
};

struct run {
	enum compared_side side;
	char *name, *host, *kernel;
	uint64_t time; /* ns from its first process' start, or that of the observation, to the last one's end */
	uint64_t wall; /* ns: sum over the threads */
	uint64_t calls, lost, missing; /* missing: not on the timeline, lost ones among them */
	uint64_t ranks;                /* that were observed */
	uint64_t job_ranks;            /* of the whole job; 0: not known */
	uint64_t processes, threads;
	bool from_start, to_end;       /* all of them were observed so */
	bool cut;                      /* the recording has no end */
	bool flight;                   /* the last seconds of it only */
	bool only_sums;                /* of a machine's processes, counted by gaspbpf monitor */
	uint64_t spent[KINDS_OF_TIME]; /* ns, of all threads, estimated where calls are missing */
	struct run_event *events;      /* by their numbers in the comparison */
	size_t nevents;
	char *models[MODELS_MOST]; /* of which calls were seen */
	size_t nmodels;
	struct run_finding *findings;
	size_t nfindings;
};

static inline bool run_is_whole(const struct run *run)
{
	return run->from_start && run->to_end && !run->cut && !run->flight && !run->only_sums;
}

/* --- what differs ------------------------------------------------------------ */

struct difference {
	struct sample of[SIDES];
	double likely; /* that chance alone does it; below 0: not to be told */
	bool marked;   /* more than chance */
};

static inline double difference_of(const struct difference *d)
{
	return d->of[SIDE_AFTER].mean - d->of[SIDE_BEFORE].mean;
}

struct compared_event {
	char *label, *model;
	const char *role;
	bool known[SIDES]; /* its value is: calls were seen of its model, and timed */
	bool partly, estimated;
	double calls[SIDES];     /* mean, of a run, or a second */
	double self[SIDES];      /* mean ns, of a run */
	double share[SIDES];     /* mean percent of the threads' time */
	double per_call[SIDES];  /* ns; below 0: not known */
	struct difference value; /* ns, or percent of the threads' time: comparison.by_share */
	double worth;            /* what they are sorted by */
};

struct compared_finding {
	const char *key, *kind;
	const struct run_finding *example; /* the last one */
	size_t runs[SIDES];                /* in which it is */
	double weight[SIDES];              /* mean of all runs of the side */
	double share[SIDES];               /* likewise, percent of the threads' time */
};

/* Runs of a series that have the same number of ranks or threads. */
struct size_of_job {
	uint64_t size, ranks, threads;
	struct sample time;          /* ns */
	bool whole;                  /* all of them were observed from start to end: the time is the job's */
	double speed_up, efficiency; /* below 0: not known */
	double spent[KINDS_OF_TIME]; /* percent */
	double *shares;              /* percent of the threads' time, by event */
};

struct comparison {
	enum compared_as as;
	struct event_names names;
	struct compared_event *events; /* by their numbers until comparison_judge(), then sorted */
	size_t nevents, events_room;
	struct run runs[COMPARED_MOST];
	size_t nruns, of_side[SIDES];
	/* of two sides */
	bool all_whole; /* all were observed from start to end */
	bool by_share;  /* else by total */
	struct difference time, spent[KINDS_OF_TIME];
	struct compared_finding *findings;
	size_t nfindings;
	/* of a series */
	bool by_ranks; /* else by threads */
	struct size_of_job *sizes;
	size_t nsizes;
	uint32_t *grown; /* indices of events, by how much their share grew from the smallest to the largest */
};

/* Sums of what the reporter was fed with. 0 or -ENOMEM. */
int run_make(struct run *run, struct comparison *c, struct reporter *reporter, const char *name);
void run_free(struct run *run);
const char *kind_of_time(size_t index);
bool run_has_model(const struct run *run, const char *model);

/* Of ns or calls. */
static inline uint64_t whole(double value)
{
	return value < 0.5 ? 0 : value < 1.8e19 ? value + 0.5 : UINT64_MAX;
}

static inline double run_share(const struct run *run, size_t event)
{
	return event < run->nevents && run->wall ? 100.0 * run->events[event].self / run->wall : 0;
}

/* scaling.c: 0, -EINVAL (said) or -ENOMEM. */
int series_judge(struct comparison *c);
void series_print(const struct comparison *c, const struct printer *p);
void series_put(const struct comparison *c, struct json *j);

/* Only then chance can be told. */
static inline bool sides_have_repeats(const struct comparison *c)
{
	return c->of_side[SIDE_BEFORE] > 1 && c->of_side[SIDE_AFTER] > 1;
}

/* compare_print.c, compare_json.c */
void sides_print(const struct comparison *c, const struct printer *p);
void sides_put(const struct comparison *c, struct json *j);
void compared_run_put(const struct run *run, struct json *j);
/* compare_runs.c: what is different about the runs of both sides, and what follows for the comparison. */
void sides_print_runs(const struct comparison *c, const struct printer *p);
/* What of it concerns a series, too, a paragraph each. */
void runs_print(const struct comparison *c, const struct printer *p);

#endif
