/* SPDX-License-Identifier: BSD-2-Clause */
/* What every job under test shares: options, the gate, the marks and the truth. README.md tells the protocol. */
#ifndef WORKLOADS_JOB_H
#define WORKLOADS_JOB_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct job {
	const char *name;       /* set by the job before job_options() */
	int rank;               /* -1: a job without ranks */
	long rounds;            /* --rounds N: counted work, the same for the same N */
	double seconds;         /* --seconds S: rounds until S have passed; 0: use rounds */
	long warmup, after;     /* --warmup N, --after N: uncounted rounds before and after the window */
	const char *gate;       /* --gate DIR, or NULL */
	const char *truth;      /* --truth FILE, or NULL; else the environment variable JOB_TRUTH */
	const char *more_truth; /* more members for the truth, as ",\n \"name\":value", or NULL */
	int64_t started;        /* ns, CLOCK_MONOTONIC, when the counted window opened */
	int64_t ended;          /* ns, when it closed */
};

/* One more option of a job: a number, as "--threads N". */
struct job_option {
	const char *name;
	long *value;
};

/* Reads the options; on a wrong one says which and exits 2. `more` ends with a NULL name, or is NULL. */
void job_options(struct job *job, int argc, char **argv, const struct job_option *more);

/* Opens the window: says "ready PID", waits idle for GATE/go. Only the thread that waits need call it. */
void job_begin(struct job *job);
/* Closes the window: writes GATE/done.RANK, waits idle for GATE/end. */
void job_finish(struct job *job);
/* True while the counted work should go on, after `done` rounds. */
bool job_more(const struct job *job, long done);

int64_t job_now(void);                  /* ns, CLOCK_MONOTONIC */
void job_sleep_us(long us);             /* nanosleep, a system call that no model knows */
void job_spin_us(long us);              /* burns processor time without any call but clock_gettime */

/* Calls and bytes of one thread or process, by function. No allocation, no lock. */
#define COUNTS_MAX 200
struct counts {
	int used;
	struct count {
		const char *function;
		uint64_t calls;
		uint64_t bytes;         /* what the arguments say: size asked for, or elements x element size */
		uint64_t sent;          /* payload that really left this process */
		uint64_t received;      /* payload that really came in */
	} of[COUNTS_MAX];
};

/* Adds one call. `function` must be a string that lives on. */
void count_call(struct counts *counts, const char *function, uint64_t bytes);
void count_moved(struct counts *counts, const char *function, uint64_t bytes, uint64_t sent, uint64_t received);
void count_add(struct counts *sum, const struct counts *part);
void count_clear(struct counts *counts);

/* One thread of a job, for the truth. */
struct job_thread {
	int tid;
	char name[16];
	struct counts counts;
};

/*
 * Writes the truth: {"job","pid","rank","rounds","checksum","window_ns","functions":{...},"threads":[...]}.
 * functions is `process` plus the sum of the threads. Returns 0, or 1 if the file cannot be written.
 */
int job_truth(const struct job *job, long rounds, uint64_t checksum, const struct counts *process,
	      const struct job_thread *threads, int nthreads);

/*
 * All rounds of a job that counts its calls in *counts: those before the window, and those in it, which go into
 * `counted`. Then the first rank says the sum. 0, or 1: the truth cannot be written.
 */
int job_all_rounds(struct job *job, void (*round)(void), struct counts **counts, struct counts *counted,
		   const long *sum);

/* The file name for one process: %d in `pattern` becomes its rank, or its pid where rank < 0; else ".RANK" is appended.
 */
void job_file_name(char *name, unsigned size, const char *pattern, int rank);

/* A counting library in LD_PRELOAD defines this: it opens (1) and closes (0) the library's own window. */
extern void count_window(int open) __attribute__((weak));

/* A small number generator, so that jobs agree on their data. */
static inline uint64_t job_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

#ifdef __cplusplus
}
#endif

#endif
