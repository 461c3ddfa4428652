/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two files of openmp_job share. */
#ifndef OPENMP_JOB_H
#define OPENMP_JOB_H

#include <stdatomic.h>
#include <stdint.h>

#define ITERATIONS 60

/* What really went on; any thread adds to it. */
struct went_on {
	_Atomic long iterations, iterations_ull, sections, singles, tasks, locked, tried, nested, named, unnamed,
		updated, ordered, allocated, zeroed, resized, regions, posted, atomics, masters, alone;
};

extern long threads;
extern struct went_on *now; /* that of the counted window, or another one that nobody reads */

void learn(uint64_t value); /* into the checksum */
void iteration(uint64_t i);
void iteration_ull(uint64_t i);

void as_other_compilers(long round);

#endif
