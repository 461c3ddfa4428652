/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * people.h - sets of threads, and what the reader calls them. Private to user/analysis.
 */
#ifndef GASPBPF_ANALYSIS_PEOPLE_H
#define GASPBPF_ANALYSIS_PEOPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/labels.h"

/* Begins as zeros; to be freed. */
struct people {
	uint64_t *bits;
	size_t words;
};

/* 0 or -ENOMEM. */
int people_add(struct people *people, uint32_t thread);
bool people_has(const struct people *people, uint32_t thread);
/* Adds all of the other. 0 or -ENOMEM. */
int people_join(struct people *people, const struct people *other);
size_t people_count(const struct people *people);
void people_free(struct people *people);

/*
 * "rank 3", "ranks 0-2, 5", where all are ranks with one thread each; else "worker-1 (tid 4243)", "worker-1, worker-2",
 * "worker (tids 4243, 4244)", "4 threads". Into text, which is returned.
 */
char *people_label(const struct definitions *d, const struct people *people, char *text, size_t room);
/* The same, and first the one of them that has most of something, percent of it, where that is clearly more than its
 * share: "worker-2: 93%, 4 threads"; that one alone where it has all. */
char *people_label_with_most(const struct definitions *d, const struct people *people, uint32_t most, double percent,
			     char *text, size_t room);

#endif
