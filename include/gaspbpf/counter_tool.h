/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * counter_tool.h - a tool that is told task counters, out of a job or a recording (gaspbpf --tool).
 *
 * A library that has gaspbpf_tool_counters() is such a tool.
 */
#ifndef GASPBPF_COUNTER_TOOL_H
#define GASPBPF_COUNTER_TOOL_H

#include <stdint.h>

/* The counters of a runtime (scope 0), of a worker (1) or of a kind of task (2) after a change. */
struct gaspbpf_counters {
	uint32_t scope;
	uint32_t pid;
	int64_t worker;    /* scope 1; below 0: its number is not known */
	uint64_t kind;     /* scope 2: address of the description in the job */
	const char *name;  /* of the kind, or the worker's thread; NULL: unknown */
	const char *model; /* "starpu" */
	uint64_t submitted, internal, peak_submitted, peak_ready, executed; /* UINT64_MAX: not known */
	uint64_t busy_ns;
};

void gaspbpf_tool_counters(const struct gaspbpf_counters *counters);
/* May be there: nothing more has happened for the moment. */
void gaspbpf_tool_counters_pause(void);

#endif
