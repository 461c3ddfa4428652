/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_cost.h - what the probes took of the threads' time. Private to user/analysis.
 *
 * It is estimated: a thread's calls, each by the price that was measured before (calibration). Probes run in the
 * kernel, so that they cannot have taken more than the thread spent there, which the kernel has counted.
 */
#ifndef GASPBPF_PROBE_COST_H
#define GASPBPF_PROBE_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finding;
struct report;
struct report_thread;

/* Of several threads together. */
struct probe_cost {
	uint64_t estimated, cost; /* ns: by the price, and bounded by what is measured of each */
	uint64_t wall;
	uint64_t ran;   /* ns on a CPU; 0: not known of each of them */
	size_t threads; /* that were added */
};

/* ns: the estimate, where the kernel tells of less at most that. */
uint64_t probe_cost_of(const struct report_thread *thread);
void probe_cost_add(struct probe_cost *cost, const struct report *r, const struct report_thread *thread);
/* "", " and 85 % of the time in which they ran", with whatever stands for " and "; into text, which is returned. */
const char *probe_cost_of_run(const struct probe_cost *cost, const char *before, char *text, size_t room);

/* Did observing take so much that what else is found may come from it? Of a finding of kind probe_cost. */
bool probe_cost_is_in_all(const struct finding *finding);

/*
 * That probes took much of some threads' time, which is in the figures of a section, in a sentence; "": they did not.
 * Into text. 0 or -ENOMEM.
 */
int probe_cost_warning(const struct report *r, char *text, size_t room);

#endif
