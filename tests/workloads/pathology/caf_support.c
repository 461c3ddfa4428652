/* SPDX-License-Identifier: BSD-2-Clause */
/* What caf.F90 needs of late.h, callable from Fortran. */
#include "late.h"

#include <stddef.h>

void pathology_begin(int image, long *rounds, long *pattern);
void pathology_come(long round, int line);
void pathology_left(long round);
int pathology_end(void);

static struct job job = { .name = "pathology_caf", .rounds = 30 };
static struct late_member member;
static int saved_argc;
static char **saved_argv;

/* A Fortran main program does not hand on its arguments; glibc gives them to every constructor. */
__attribute__((constructor)) static void keep_arguments(int argc, char **argv)
{
	saved_argc = argc;
	saved_argv = argv;
}

void pathology_begin(int image, long *rounds, long *pattern)
{
	const struct job_option options[] = { LATE_OPTIONS, { "--pattern", pattern }, { NULL, NULL } };

	*pattern = 0;
	job_options(&job, saved_argc, saved_argv, options);
	if (job.rounds > LATE_ROUNDS)
		job.rounds = LATE_ROUNDS;
	job.rank = image - 1;
	*rounds = job.rounds;
	job_begin(&job);
}

void pathology_come(long round, int line)
{
	member.line = line;
	late_come(&member, job.rank, round);
}

void pathology_left(long round)
{
	late_left(&member, round);
}

int pathology_end(void)
{
	static char text[LATE_TEXT];

	job_finish(&job);
	late_put(text, &member, job.rounds);
	job.more_truth = text;
	return job_truth(&job, job.rounds, 0, &(struct counts){ 0 }, NULL, 0);
}
