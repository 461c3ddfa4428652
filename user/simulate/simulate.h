/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulate.h - the door of user/simulate: what would have been if.
 *
 * A recording is replayed through a plug-in (include/cpf.h) that moves end times; what follows moves with them.
 * The result is a recording like any other.
 */
#ifndef GASPBPF_SIMULATE_H
#define GASPBPF_SIMULATE_H

#include <stdio.h>

#include "recording/recording.h"
#include "util/files.h"

struct simulation {
	const char *path; /* of the recording, for messages */
	int input;        /* the same, open for reading */
	int output;       /* an empty file for the result; -1: none is wanted */
	const char *output_name;
	const char *plugin; /* a built-in's name, or a path with a slash in it */
	char **parameters;  /* "name=value" */
	size_t nparameters;
	uint64_t patience; /* ns that one call into the plug-in may take; 0: any time */
	bool json;
};

/*
 * Simulates in a process of its own that has given up all privileges, as `caller`, and prints the summary on
 * stdout. A plug-in that crashes, hangs or breaks the rules is an error. 0 or -errno, said.
 */
int simulate(const struct simulation *simulation, const struct caller *caller);

/* "ideal", "dimemas" and so on, one a line with what they do, for help texts. */
void simulation_print_builtins(FILE *out);
bool simulation_is_builtin(const char *name);

#endif
