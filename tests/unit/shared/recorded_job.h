/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recorded_job.h - for tests of recordings: a job that never was, its recording, and what is said when that is read.
 */
#ifndef TESTS_SHARED_RECORDED_JOB_H
#define TESTS_SHARED_RECORDED_JOB_H

#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recording/recording.h"

#define THREADS 6
#define PROBES 40
#define SITES 300

/* What was given to the writer, to be compared with what a reader gives. */
struct job {
	struct definitions d;
	struct span *spans;
	struct gap *gaps;
	size_t *gap_before;
	size_t nspans, ngaps;
	size_t seen_spans, seen_gaps; /* by a reader */
	uint64_t clock[THREADS];
	uint32_t sequence[THREADS];
};

/* xorshift: the same numbers at every run that begins with the same state */
extern uint64_t random_state;
uint64_t random_number(void);
uint64_t below(uint64_t most);

/* malloc'ed */
char *text(const char *format, ...);
/* Definitions of THREADS threads and so on. */
void define(struct definitions *d);
/* Makes up about so many spans; the same ones each time. */
void run_job(struct job *job, size_t spans);
void job_free(struct job *job);
/* Gives spans and gaps to the writer. */
void feed(struct job *job, struct recording_writer *writer, size_t from, size_t to);

int new_file(void);
/* Records the whole job; a descriptor of the file. */
int record(struct job *job);
/* The same in several chunks, with late spans, and definitions that change. */
int record_in_pieces(struct job *job);

struct capture_log {
	int fd, stderr_fd;
};

struct capture_log start_listening(void);
/* What was said on standard error since start_listening(). */
const char *heard(struct capture_log *log);
unsigned lines(const char *said);

#endif
