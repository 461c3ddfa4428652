/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * govern.h - the door of user/govern: keeps what observing costs below a limit. govern.c has the method.
 *
 * It knows nothing of kernels and probes: it is told what was called how often, and says how much of each function's
 * calls is to be followed from now on.
 */
#ifndef GASPBPF_GOVERN_H
#define GASPBPF_GOVERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

struct governor;

/* A change, and why. */
struct governed_step {
	uint32_t site;
	struct site_level level;
	uint32_t thread; /* whose time it was about; NO_INDEX: nobody's, the load has fallen */
	double share;    /* of that thread's time in probes, just before */
};

struct governor_options {
	double budget;   /* share of each thread's time that probes may take: 0.02 is 2 % */
	double trial_ns; /* what putting probes in and, in a storm, out again at once takes from a thread */
	/* ns that one call of the site costs its thread: followed, or only counted. */
	unsigned (*cost)(void *context, uint32_t site, bool skipped);
	bool (*possible)(void *context, uint32_t site, enum level level);
	/* Does it. 0; -EBUSY: not now; other -errno: it cannot be done, said. */
	int (*set)(void *context, const struct governed_step *step);
	void *context;
};

/* NULL: out of memory. */
struct governor *governor_new(const struct governor_options *options);
void governor_free(struct governor *governor);
/*
 * All calls of a site on a thread (an index that no other thread gets) so far. To be told before each look of every
 * thread that lives: one that nothing is told of has ended. -ENOMEM: it took no notice.
 */
int governor_count(struct governor *governor, uint32_t thread, uint32_t site, bool inner, uint64_t followed,
		   uint64_t skipped);
/* Is a look due? now: ns. */
bool governor_is_due(const struct governor *governor, uint64_t now);
/* Looks at what has been told since the last look, and decides. To be called often: every 20 ms. */
void governor_look(struct governor *governor, uint64_t now);

#endif
