/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analyses.c - which analyses there are.
 */
#include "analysis/analyses.h"

#define ADDRESS(name) &analysis_##name,

const struct analysis *const analyses[] = { ANALYSES(ADDRESS) NULL };

_Static_assert(sizeof(analyses) / sizeof(*analyses) - 1 <= ANALYSES_MOST,
	       "more analyses than probe_facts.told has bits");

/* Programs read keys by their names; yet those that there always were keep the order that they had. */
const struct analysis *const analyses_first_in_json[] = {
	&analysis_recording, &analysis_loss,      &analysis_processes,       &analysis_left_out, &analysis_threads,
	&analysis_events,    &analysis_by_thread, &analysis_inner_by_thread, &analysis_findings, &analysis_steps,
	&analysis_controls,  &analysis_windows,   &analysis_not_observable,  &analysis_counters, NULL,
};
