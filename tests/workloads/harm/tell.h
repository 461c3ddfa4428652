/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tell.h - what a job under test says about its own functions: calls made, and calls that returned. A call that is in
 * progress for ever, or that an exception, a jump or the end of its thread left, did not return.
 *
 * Lines on stdout, the same in every run, alone or observed:
 *
 *     function NAME calls N returns N
 *     WORD N
 */
#ifndef WORKLOADS_HARM_TELL_H
#define WORKLOADS_HARM_TELL_H

#include <stdio.h>

#include "../job.h"

/* A function that must stay one: no inlining, no copies for constant arguments. */
#if defined(__clang__)
#define OBSERVED __attribute__((noinline))
#else
#define OBSERVED __attribute__((noipa))
#endif

struct tale {
	const char *name;
	long calls, returns;
};

/* The kernel refuses probes on instructions with a lock prefix, so that must not be a function's first one. */
static inline void called(struct tale *t)
{
	__asm__ volatile("" : "+r"(t));
	__atomic_add_fetch(&t->calls, 1, __ATOMIC_RELAXED);
}

/* The last thing that an observed function does. */
static inline long returning(struct tale *t, long value)
{
	__atomic_add_fetch(&t->returns, 1, __ATOMIC_RELAXED);
	return value;
}

static inline void tell_function(const struct tale *t)
{
	printf("function %s calls %ld returns %ld\n", t->name, t->calls, t->returns);
}

static inline void tell(const char *word, long value)
{
	printf("%s %ld\n", word, value);
}

/* Opens the job's window (job.h), runs so many rounds, closes it. */
static inline void tell_rounds(struct job *job, int argc, char **argv, const struct job_option *more,
			       void (*round)(long))
{
	job->rank = -1;
	job_options(job, argc, argv, more);
	job_begin(job);
	for (long i = 0; job_more(job, i); i++)
		round(i);
	job_finish(job);
}

#endif
