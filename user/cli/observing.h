/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observing.h - how processes are observed, as the options say that 'record' and 'top' share.
 */
#ifndef GASPBPF_CLI_OBSERVING_H
#define GASPBPF_CLI_OBSERVING_H

#include <argp.h>

#include "cli/cli.h"
#include "observe/observe.h"

struct observing {
	enum scope scope;
	uint64_t ring_bytes; /* 0: as many as usual */
	double budget;       /* --max-overhead; 0: no limit */
	bool all_processes;  /* launchers, too */
};

/* Before anything is attached. */
void observing_prepare(const struct observing *observing, struct job *job);
/* From here on the cost is kept down, if that was asked for. 0 or -errno. */
int observing_limit(const struct observing *observing, struct job *job);
/* For argp's `children`; its input (state->child_inputs[N]) is a struct observing. */
extern const struct argp observing_parser;

#endif
