/* SPDX-License-Identifier: BSD-2-Clause */
/* What mpi_fortran.F90 needs from job.h: its options, the gate and the truth. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>

void fortran_begin(int rank);
void fortran_tell(const char *text);
void fortran_end(void);

static struct job job = { .name = "mpi_fortran", .rounds = 1 };
static char *told;
static size_t told_size;
static FILE *telling;
static int saved_argc;
static char **saved_argv;

/* A Fortran main program does not hand on its arguments; glibc gives them to every constructor. */
__attribute__((constructor)) static void keep_arguments(int argc, char **argv)
{
	saved_argc = argc;
	saved_argv = argv;
}

void fortran_begin(int rank)
{
	job_options(&job, saved_argc, saved_argv, NULL);
	job.rank = rank;
	telling = open_memstream(&told, &told_size);
	job_begin(&job);
}

void fortran_tell(const char *text)
{
	fprintf(telling, "%s\n  \"%s\"", ftell(telling) ? "," : "", text);
}

void fortran_end(void)
{
	char *truth;

	job_finish(&job);
	fclose(telling);
	if (asprintf(&truth, ",\n \"calls\":[%s]", told) < 0)
		abort();
	job.more_truth = truth;
	job_truth(&job, 1, 0, NULL, NULL, 0);
}
