/* SPDX-License-Identifier: BSD-2-Clause */
/* profiled_run.h - a run of a second, made of calls that a test writes down, and its report. */
#ifndef TESTS_SHARED_PROFILED_RUN_H
#define TESTS_SHARED_PROFILED_RUN_H

#include "analysis/analysis.h"

#define MS 1000000ull

struct run {
	struct definitions d;
	struct reporter *reporter;
	struct profile *profile; /* the reporter's */
	struct span_sink sink;
	uint32_t sequence[16];
};

enum { BARRIER, LOCK, WORK, REDUCE, SEND, PROBES };

/* Threads 0 .. threads-1, each `per_process` of them one process; several processes are ranks. */
void run_open(struct run *run, unsigned threads, unsigned per_process);
void run_close(struct run *run);
/* A call of the thread. */
void span(struct run *run, uint32_t thread, uint32_t probe, unsigned depth, uint64_t start, uint64_t end,
	  uint8_t reason);
/* So many calls of the thread were lost. */
void lose(struct run *run, uint32_t thread, uint64_t count);
/* Of all threads together. */
struct tally tally_of(struct run *run, const char *event);
/* The whole report; malloc'ed. width: columns; 0: no limit. */
char *text_of(struct run *run, bool json, unsigned width);
/* Calls that became no span: `lost` of them lost, each of `each` ns, and so many only counted. */
void sum(struct run *run, uint32_t thread, uint32_t probe, uint64_t lost, uint64_t each, uint64_t skipped);
/* Ten rounds; thread `slow` comes last, the others wait 30 ms for it. slow < 0: all come together. */
void team_meets(struct run *run, unsigned threads, int slow, uint32_t probe);

#endif
