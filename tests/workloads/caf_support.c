/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Fortran job needs from job.h: its options, the gate, its counts and the truth, callable from Fortran.
 * The rank in all file names is the image number less one, which is the MPI rank.
 */
#include "job.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void caf_job_begin(int image, long *rounds, long *warmup, long *after, int *timed);
void caf_window_open(void);
void caf_window_close(void);
int caf_job_more(long done);
void caf_count(const char *function, long bytes, long sent, long received);
int caf_job_truth(long rounds, long checksum);
void caf_print(long checksum, long rounds);
long caf_mix(long x);

static struct job job = { .name = "caf_job", .rounds = 20 };
static struct counts counted;
static bool counting;
static char names[COUNTS_MAX][40];
static int saved_argc;
static char **saved_argv;

/* A Fortran main program does not hand on its arguments; glibc gives them to every constructor. */
__attribute__((constructor)) static void keep_arguments(int argc, char **argv)
{
	saved_argc = argc;
	saved_argv = argv;
}

void caf_job_begin(int image, long *rounds, long *warmup, long *after, int *timed)
{
	job_options(&job, saved_argc, saved_argv, NULL);
	job.rank = image - 1;
	*rounds = job.rounds;
	*warmup = job.warmup;
	*after = job.after;
	*timed = job.seconds > 0;
}

void caf_window_open(void)
{
	job_begin(&job);
	counting = true;
}

void caf_window_close(void)
{
	counting = false;
	job_finish(&job);
}

int caf_job_more(long done)
{
	return job_more(&job, done);
}

/* A name from Fortran may be a temporary: keep our own copy. */
static const char *keep_name(const char *function)
{
	int i = 0;

	while (i < COUNTS_MAX && names[i][0] && strcmp(names[i], function))
		i++;
	if (i == COUNTS_MAX || strlen(function) >= sizeof(names[i]))
		abort();
	strcpy(names[i], function);
	return names[i];
}

void caf_count(const char *function, long bytes, long sent, long received)
{
	if (counting)
		count_moved(&counted, keep_name(function), bytes, sent, received);
}

int caf_job_truth(long rounds, long checksum)
{
	return job_truth(&job, rounds, checksum, &counted, NULL, 0);
}

void caf_print(long checksum, long rounds)
{
	printf("checksum %016lx rounds %ld\n", checksum, rounds);
	fflush(stdout);
}

long caf_mix(long x)
{
	return (long)job_mix((uint64_t)x);
}
