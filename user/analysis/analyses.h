/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analyses.h - the table of analyses, in the order of the text report. Private to user/analysis.
 *
 * A row NAME is analysis_NAME, which its file defines; the file of another name is told beside it. Keys of the JSON
 * have an order of their own (analyses.c); a new one comes last.
 */
#ifndef GASPBPF_ANALYSES_H
#define GASPBPF_ANALYSES_H

#include "analysis/analysis.h"

#define ANALYSES(ROW)                            \
	ROW(recording)                           \
	ROW(processes)                           \
	ROW(nodes)                               \
	ROW(left_out)                            \
	ROW(findings)                            \
	ROW(gains)                               \
	ROW(by)                                  \
	ROW(events)                              \
	ROW(missing)                             \
	ROW(histogram)                           \
	ROW(payload)                             \
	ROW(threads)                             \
	ROW(queued)                              \
	ROW(vain)                                \
	ROW(scheduling)                          \
	ROW(by_thread)                           \
	ROW(inner_by_thread) /* by_thread.c */   \
	ROW(sites)           /* called_from.c */ \
	ROW(files)                               \
	ROW(locks)                               \
	ROW(regions)                             \
	ROW(communication)                       \
	ROW(counters) /* counters_print.c */     \
	ROW(tasks)                               \
	ROW(efficiency)                          \
	ROW(phases)                              \
	ROW(wait_states)                         \
	ROW(meetings)                            \
	ROW(delays)                              \
	ROW(serialisation)                       \
	ROW(memory)                              \
	ROW(critical_path)                       \
	ROW(steps)                               \
	ROW(windows)                             \
	ROW(withdrawn)                           \
	ROW(controls)                            \
	ROW(not_observable)                      \
	ROW(loss)

#define DECLARE(name) extern const struct analysis analysis_##name;
ANALYSES(DECLARE)
#undef DECLARE

/* All of them, ended by a NULL. */
extern const struct analysis *const analyses[];

/* Those whose keys come first in the JSON, ended by a NULL. */
extern const struct analysis *const analyses_first_in_json[];

#endif
