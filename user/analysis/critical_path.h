/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * critical_path.h - what the files of the critical path share. Private to user/analysis. All times ns.
 */
#ifndef GASPBPF_ANALYSIS_CRITICAL_PATH_H
#define GASPBPF_ANALYSIS_CRITICAL_PATH_H

#include "analysis/analysis.h"
#include "analysis/deeds.h"
#include "analysis/people.h"

/* One deed, of all threads that do it. */
struct part {
	const struct deed *deed; /* of the thread that has most of it on the path */
	size_t first, end;       /* in critical_path.order: by thread, the most on the path first */
	struct people who;       /* on the path */
	uint64_t on_path;
	uint64_t lasted;    /* wherever it was done */
	uint64_t imbalance; /* on the path beyond what it takes a thread on average */
	bool has_gain;
	uint64_t gain; /* of the run, were it a tenth shorter: simulated */
};

struct path_share {
	uint32_t of; /* a thread; or an event, NO_INDEX: the program's own work */
	uint64_t on_path;
};

struct critical_path {
	const struct definitions *d;
	uint32_t *same_site;
	struct same_sites sites;
	struct deeds deeds;
	uint64_t *lasted; /* by deed */
	size_t room;
	struct paths *paths;
	struct relations_counts counts;
	/* When all is told: */
	uint32_t ends;        /* the thread that ends last; NO_INDEX: there is no path */
	uint64_t *sums;       /* by PATH_ and deed */
	unsigned taking_part; /* threads that called anything */
	uint64_t length, unknown, changes, forgotten;
	uint32_t *order; /* deeds */
	struct part *parts;
	size_t nparts;              /* the most on the path first */
	struct path_share *threads; /* all; the most first */
	struct path_share *events;  /* the most first, then 0 */
	size_t events_room;
};

/* Do any two threads have to do with each other? */
static inline bool critical_path_related(const struct critical_path *s)
{
	return s->counts.messages + s->counts.meetings + s->counts.hand_overs + s->counts.teams;
}

/* What it gives at most if it takes a tenth less. */
uint64_t part_bound(const struct part *part);

/* critical_path_print.c */
void critical_path_print(void *state, const struct printer *printer);
void critical_path_json(void *state, const struct report *r, struct json *j);

#endif
