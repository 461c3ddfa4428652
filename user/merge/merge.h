/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.h - several recordings as one, with their clocks set by each other: the door of user/merge.
 */
#ifndef GASPBPF_MERGE_H
#define GASPBPF_MERGE_H

#include <stddef.h>

#include "recording/recording.h"

struct merge_options {
	char **paths; /* of the recordings */
	size_t npaths;
	const char *name; /* of the result, for messages */
	bool keep_clocks; /* no times are changed, whatever the machines */
	int stop;         /* a descriptor that can be read once it is to stop; -1: none */
};

struct merge;
/* Opens all of them, and finds what is to be done. 0 or -errno, said. */
int merge_open(struct merge **merge, const struct merge_options *options);
/* Writes the result into an empty file, which is the merge's from here on, also on failure. 0 or -errno, said; -EINTR:
 * stopped. */
int merge_write(struct merge *merge, int fd);
/* Definitions as they were written. */
const struct definitions *merge_definitions(const struct merge *merge);
void merge_close(struct merge *merge);

#endif
