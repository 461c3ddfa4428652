/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare.h - the other door of user/analysis: what differs between runs.
 *
 *   comparison_new(), comparison_add(), comparison_judge(), comparison_print(), comparison_free()
 *
 * Of each recording only its sums are kept, so that it may be closed before the next one is opened.
 */
#ifndef GASPBPF_COMPARE_H
#define GASPBPF_COMPARE_H

#include <stdio.h>

#include "analysis/report.h"
#include "recording/recording.h"

#define COMPARED_MOST 64 /* recordings */

enum compared_as {
	COMPARED_SIDES,  /* two sides, each one run or some repeats */
	COMPARED_STRONG, /* a scaling series: the same work on more and more ranks or threads */
	COMPARED_WEAK,   /* likewise, with as much more work */
};

enum compared_side { SIDE_BEFORE, SIDE_AFTER, SIDES };

struct comparison;

struct comparison *comparison_new(void); /* NULL: out of memory */
void comparison_free(struct comparison *comparison);
/* One more run; what it is called in what is printed. In a series all are of one side. Without
 * calls: -EINVAL, said. 0 or -errno. */
int comparison_add(struct comparison *comparison, struct recording *recording, const char *name,
		   enum compared_side side);
/* After the last one. Runs that all have the same number of ranks and of threads are no series: -EINVAL, said. 0 or
 * -errno. */
int comparison_judge(struct comparison *comparison, enum compared_as as);

/* For people, and the JSON that docs/compare.md documents. 0 or -errno. */
int comparison_print(const struct comparison *comparison, FILE *out, const struct report_style *style);
int comparison_print_json(const struct comparison *comparison, FILE *out);

#endif
