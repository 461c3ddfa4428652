/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * split_phase.h - barriers in two halves between which nothing is done. Part of the wait states (wait_states.c).
 */
#ifndef GASPBPF_ANALYSIS_SPLIT_PHASE_H
#define GASPBPF_ANALYSIS_SPLIT_PHASE_H

#include "analysis/analysis.h"
#include "simulate/relations.h"

/* The second halves at one place. */
struct split_place {
	uint32_t notify, wait, site; /* probes of the two; the site of the wait */
	uint64_t waits, idle;        /* idle: nothing was done between the halves */
	uint64_t time, idle_time;    /* ns, in the waits */
};

struct split_thread {
	uint32_t notify; /* the probe of its last call, where that was a first half; NO_INDEX */
	uint64_t ended;
};

struct split_phase {
	struct split_thread *threads;
	struct split_place *places;
	size_t nthreads, nplaces, room;
	struct index by_place;
};

/* A thread's calls, in their order. 0 or -ENOMEM. */
int split_call(struct split_phase *s, const struct definitions *d, const struct related_call *call);
/* Sorts them, and adds a finding where it is worth it. 0 or -ENOMEM. */
int split_end(struct split_phase *s, struct report *r);
void split_put(const struct split_phase *s, const struct definitions *d, struct json *j);
void split_free(struct split_phase *s);

#endif
