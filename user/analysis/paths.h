/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paths.h - for each thread the path that led to its present: which thread did what, that everything after it had to
 * wait for. Private to user/analysis.
 *
 * It is fed in the order of simulate/relations.h. What a thread does is added to its path. Where it waited for another
 * thread, its path is from then on that of the other, as it was when the wait was over. What is done has a number, of
 * the caller's choice (from PATH_OTHERS on), and a path is told as the time of each number. All times ns.
 */
#ifndef GASPBPF_ANALYSIS_PATHS_H
#define GASPBPF_ANALYSIS_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of its own. */
enum {
	PATH_CHANGES, /* how often it goes from one thread to another: no time */
	PATH_UNKNOWN, /* what was done is not known */
	PATH_FOLDED,  /* there was too much to keep all of it (PATHS_KEPT) */
	PATH_OTHERS
};

struct paths;

/* NULL: out of memory. */
struct paths *paths_new(size_t nthreads);
void paths_free(struct paths *paths);

/* The thread did that until `end`. Where nothing was told of it between its present and `start`, that is unknown.
 * This and the next two: 0 or -ENOMEM. */
int paths_add(struct paths *paths, uint32_t thread, uint64_t start, uint64_t end, uint32_t what);
/* It begins a call, for which others may wait: the path to here is kept as long as somebody may ask for it. */
int paths_begin_call(struct paths *paths, uint32_t thread, uint64_t start);
/* It waited for that thread until that one began a call. */
int paths_wait(struct paths *paths, uint32_t thread, uint32_t whom, uint64_t until);
/* It has ended a call. */
void paths_end_call(struct paths *paths, uint32_t thread);

/* When its last call ended; false: it has ended none. */
bool paths_end(const struct paths *paths, uint32_t thread, uint64_t *end);
/* Adds the times of the path to there; sums[] is by number. */
void paths_sum(const struct paths *paths, uint32_t thread, uint64_t *sums);
/* Waits of which the path of the other thread was not kept, so that it is not known any more. */
uint64_t paths_forgotten(const struct paths *paths);

#endif
