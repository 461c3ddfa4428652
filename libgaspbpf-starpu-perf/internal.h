/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of libgaspbpf-starpu-perf share.
 */
#ifndef GASPBPF_STARPU_PERF_INTERNAL_H
#define GASPBPF_STARPU_PERF_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

/* One row of counters, as the feed tells it. */
struct row {
	unsigned scope;                                          /* enum starpu_perf_counter_scope */
	int64_t worker;                                          /* per_worker */
	uint64_t kind;                                           /* per_codelet: its address in the job */
	char *name;                                              /* of the codelet; NULL: none */
	int64_t submitted, peak_submitted, peak_ready, executed; /* -1: not known */
	double busy;                                             /* us */
};

/* perf.c: a row has changed. On the feed's thread. */
void perf_row(const struct row *row);
/* perf.c: no more rows come: says what could not be told. */
void perf_end(void);

/* feed.c */
/* Begins to follow a running job; a recording is played by feed_finish(). */
void feed_start(void);
/* All that has happened is told; nothing more comes. */
void feed_finish(void);

#endif
