/*
 * observing.h - how processes are observed, as the options say that 'record' and 'top' share.
 */
#ifndef GASPBPF_CLI_OBSERVING_H
#define GASPBPF_CLI_OBSERVING_H

#include <argp.h>

#include "cli/job.h"

struct observing {
	enum scope scope;
	uint64_t ring_bytes;      /* 0: as many as usual */
	double budget;            /* --max-overhead; 0: no limit */
	bool all_processes;       /* launchers, too */
};

/* For argp's `children`; its input (state->child_inputs[N]) is a struct observing. */
extern const struct argp observing_parser;

#endif
