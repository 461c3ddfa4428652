/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that share Global Arrays in all the ways that a program of its kind does: patches got, put and added to,
 * also without waiting, single elements, a counter of tasks, locks, groups, whole arrays; by the names that C calls and
 * by those that Fortran calls. It counts what it calls.
 */
#include "job.h"

#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>

#define SIDE 24

static struct job job = { .name = "ga_job", .rounds = 5 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static int me, processes;
static double sum;
static long sure; /* what does not depend on who came first */

#define DO(FUNCTION, ARGUMENTS, bytes) (count_call(counts, #FUNCTION, bytes), FUNCTION ARGUMENTS)

static void transfer(int array)
{
	int lo[2] = { 0, 0 }, hi[2] = { 3, 4 }, row[1] = { 5 }, skip[2] = { 1, 1 }, last[2] = { SIDE - 1, SIDE - 1 };
	int first[2] = { 1, 2 }, second[2] = { 3, 4 }, *elements[2] = { first, second };
	double patch[20] = { 0 }, values[2] = { 1, 2 }, one = 1;
	ga_nbhdl_t get, put, add;

	DO(NGA_Get, (array, lo, hi, patch, row), 0);
	patch[0] += me;
	DO(NGA_Put, (array, lo, hi, patch, row), 0);
	DO(NGA_Acc, (array, lo, hi, patch, row, &one), 0);
	DO(NGA_NbGet, (array, lo, hi, patch, row, &get), 0);
	DO(NGA_NbWait, (&get), 0);
	DO(NGA_NbPut, (array, lo, hi, patch, row, &put), 0);
	sum += DO(NGA_NbTest, (&put), 0);
	DO(NGA_NbAcc, (array, lo, hi, patch, row, &one, &add), 0);
	DO(NGA_NbWait, (&add), 0);
	DO(NGA_Strided_get, (array, lo, hi, skip, patch, row), 0);
	DO(NGA_Scatter, (array, values, elements, 2), 0);
	DO(NGA_Gather, (array, values, elements, 2), 0);
	DO(NGA_Scatter_acc, (array, values, elements, 2, &one), 0);
	DO(GA_Init_fence, (), 0);
	DO(NGA_Put, (array, last, last, values, row), 0);
	DO(GA_Fence, (), 0);
	DO(GA_Sync, (), 0);
	DO(NGA_Get, (array, first, first, values, row), 0);
	sum += values[0];
}

static void tasks(int counter)
{
	int zero[1] = { 0 };

	for (int i = 0; i < 3; i++)
		DO(NGA_Read_inc, (counter, zero, 1), 0);
	DO(GA_Lock, (0), 0);
	sum += 1;
	DO(GA_Unlock, (0), 0);
	DO(GA_Sync, (), 0);
	sure += DO(NGA_Read_inc, (counter, zero, 0), 0);
	DO(GA_Sync, (), 0);
}

static void whole(int a, int b)
{
	double two = 2, all[4] = { me, 1, 2, 3 };
	int numbers[3] = { me, me, me }, everybody[64], group;
	long more[2] = { me, 1 };

	DO(GA_Fill, (b, &two), 0);
	DO(GA_Copy, (a, b), 0);
	DO(GA_Add, (&two, a, &two, b, b), 0);
	DO(GA_Scale, (b, &two), 0);
	sum += DO(GA_Ddot, (a, b), 0);
	DO(GA_Transpose, (a, b), 0);
	DO(GA_Symmetrize, (a), 0);
	DO(GA_Dgemm, ('n', 'n', SIDE, SIDE, SIDE, 1.0, a, a, 0.0, b), 0);
	DO(GA_Dgop, (all, 4, "+"), 4 * sizeof(double));
	DO(GA_Igop, (numbers, 3, "max"), 3 * sizeof(int));
	DO(GA_Lgop, (more, 2, "+"), 2 * sizeof(long));
	DO(GA_Brdcst, (all, sizeof(all), 0), sizeof(all));
	DO(GA_Zero, (a), 0);
	for (int i = 0; i < processes; i++)
		everybody[i] = i;
	group = DO(GA_Pgroup_create, (everybody, processes), 0);
	DO(GA_Pgroup_sync, (group), 0);
	DO(GA_Pgroup_dgop, (group, all, 4, "+"), 4 * sizeof(double));
	DO(GA_Pgroup_destroy, (group), 0);
	sure += (long)all[0] + numbers[0] + more[0];
}

/* As a Fortran compiler passes them: all by reference, the lengths of texts at the end. */
long nga_create_(long *type, long *ndim, long *dims, char *name, long *chunk, long *g_a, int length);
long ga_duplicate_(long *g_a, long *g_b, char *name, int length);
long ga_destroy_(long *g_a);
void ga_zero_(long *g_a);
void ga_copy_(long *g_a, long *g_b);
double ga_ddot_(long *g_a, long *g_b);
void nga_put_(long *g_a, long *lo, long *hi, void *buf, long *ld);
void nga_get_(long *g_a, long *lo, long *hi, void *buf, long *ld);
void nga_acc_(long *g_a, long *lo, long *hi, void *buf, long *ld, void *alpha);
void ga_put_(long *g_a, long *ilo, long *ihi, long *jlo, long *jhi, void *buf, long *ld);
void ga_get_(long *g_a, long *ilo, long *ihi, long *jlo, long *jhi, void *buf, long *ld);
void ga_sync_(void);
void ga_lock_(long *mutex);
void ga_unlock_(long *mutex);
void ga_dgop_(long *type, double *x, long *n, char *op, int length);
void ga_brdcst_(long *type, void *buf, long *length, long *root);

static void as_fortran(void)
{
	long type = MT_F_DBL, two = 2, sides[2] = { SIDE, SIDE }, any[2] = { -1, -1 }, lo[2] = { 1, 1 }, hi[2] = { 4, 5 };
	long row = 4, mutex = 0, four = 4, tag = 7, size = 4 * sizeof(double), root = 0, a, b;
	double patch[20] = { 1 }, one = 1;

	DO(nga_create_, (&type, &two, sides, "a", any, &a, 1), 0);
	DO(ga_duplicate_, (&a, &b, "b", 1), 0);
	DO(ga_zero_, (&a), 0);
	DO(nga_put_, (&a, lo, hi, patch, &row), 0);
	DO(nga_acc_, (&a, lo, hi, patch, &row, &one), 0);
	DO(nga_get_, (&a, lo, hi, patch, &row), 0);
	DO(ga_put_, (&a, &lo[0], &hi[0], &lo[1], &hi[1], patch, &row), 0);
	DO(ga_get_, (&a, &lo[0], &hi[0], &lo[1], &hi[1], patch, &row), 0);
	DO(ga_lock_, (&mutex), 0);
	DO(ga_unlock_, (&mutex), 0);
	DO(ga_sync_, (), 0);
	DO(ga_copy_, (&a, &b), 0);
	sum += DO(ga_ddot_, (&a, &b), 0);
	DO(ga_dgop_, (&tag, patch, &four, "+", 1), 4 * sizeof(double));
	DO(ga_brdcst_, (&tag, patch, &size, &root), size);
	DO(ga_destroy_, (&b), 0);
	DO(ga_destroy_, (&a), 0);
}

static void round_of_work(void)
{
	int sides[2] = { SIDE, SIDE }, any[2] = { -1, -1 }, one[1] = { 1 };
	int a = DO(NGA_Create, (C_DBL, 2, sides, "a", any), 0), b = DO(GA_Duplicate, (a, "b"), 0);
	int counter = DO(NGA_Create, (C_LONG, 1, one, "tasks", any), 0);

	DO(GA_Zero, (a), 0);
	DO(GA_Zero, (counter), 0);
	DO(GA_Create_mutexes, (1), 0);
	transfer(a);
	tasks(counter);
	whole(a, b);
	as_fortran();
	DO(GA_Destroy_mutexes, (), 0);
	DO(GA_Destroy, (counter), 0);
	DO(GA_Destroy, (b), 0);
	DO(GA_Destroy, (a), 0);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	GA_Initialize();
	MA_init(C_DBL, 1000000, 1000000);
	me = GA_Nodeid();
	processes = GA_Nnodes();
	job.rank = me;
	job_options(&job, argc, argv, NULL);
	if (job_all_rounds(&job, round_of_work, &counts, &counted, &sure))
		return 1;
	GA_Terminate();
	MPI_Finalize();
	return 0;
}
