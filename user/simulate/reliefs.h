/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reliefs.h - what threads are relieved of in the scenarios of one simulation (relations.h). Private to user/simulate.
 */
#ifndef GASPBPF_SIMULATE_RELIEFS_H
#define GASPBPF_SIMULATE_RELIEFS_H

#include "simulate/parts.h"
#include "simulate/relations.h"

struct reliefs {
	const struct relief *all;
	size_t count;
	bool together; /* all are of the first scenario; else each has one */
};

/* What one thing that a thread did takes less, by scenario, ns. */
struct saved {
	uint64_t ns[SCENARIOS];
};

static inline size_t reliefs_scenarios(const struct reliefs *reliefs)
{
	return reliefs->together && reliefs->count ? 1 : reliefs->count;
}

struct saved reliefs_of_work(const struct reliefs *reliefs, const struct related_work *work);
/* Of a call, that took from `from` on by itself; in_times: also where it is only a time that is relieved. */
struct saved reliefs_of_call(const struct reliefs *reliefs, const struct related_call *call, uint64_t from,
			     bool in_times);
/* Of a call that is no operation of its own: what its thread does to get and free memory. */
struct saved reliefs_of_memory(const struct reliefs *reliefs, uint32_t thread, uint64_t ns);
/* Of a region's own calls, that are relieved by what they are, and not by their line. */
struct saved reliefs_of_team(const struct reliefs *reliefs, const struct related_call *call);
/* Whoever takes a lock there never waits for it. */
bool reliefs_of_lock(const struct reliefs *reliefs, uint32_t site, enum scenario scenario);

#endif
