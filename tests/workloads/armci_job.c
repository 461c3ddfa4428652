/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that copy to each other's memory by ARMCI: plain, strided, by vectors, without waiting; locks, messages,
 * groups. It counts what it calls. */
#include "job.h"

#include <armci.h>
#include <message.h>
#include <mpi.h>
#include <stdio.h>

#define SIDE 16
#define CELLS (SIDE * SIDE)

static struct job job = { .name = "armci_job", .rounds = 5 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static int me, processes;
static long sure; /* what does not depend on who came first */

#define DO(FUNCTION, ARGUMENTS, bytes) (count_call(counts, #FUNCTION, bytes), FUNCTION ARGUMENTS)

static void copies(double **memory, double *mine)
{
	int next = (me + 1) % processes, rows[1] = { SIDE * sizeof(double) }, patch[2] = { 4 * sizeof(double), 3 };
	double *there = memory[next], one = 1;
	void *from[2] = { mine, mine + 8 }, *to[2] = { there, there + 8 };
	armci_giov_t out = { .src_ptr_array = from, .dst_ptr_array = to, .ptr_array_len = 2, .bytes = 32 };
	armci_giov_t in = { .src_ptr_array = to, .dst_ptr_array = from, .ptr_array_len = 2, .bytes = 32 };
	armci_hdl_t get, put;

	for (int i = 0; i < CELLS; i++)
		mine[i] = me;
	DO(ARMCI_Put, (mine, there, 64, next), 64);
	DO(ARMCI_Fence, (next), 0);
	DO(ARMCI_Get, (there, mine, 128, next), 128);
	DO(ARMCI_Acc, (ARMCI_ACC_DBL, &one, mine, there, 32, next), 32);
	DO(ARMCI_PutS, (mine, rows, there, rows, patch, 1, next), 0);
	DO(ARMCI_GetS, (there, rows, mine, rows, patch, 1, next), 0);
	DO(ARMCI_AccS, (ARMCI_ACC_DBL, &one, mine, rows, there, rows, patch, 1, next), 0);
	DO(ARMCI_PutV, (&out, 1, next), 0);
	DO(ARMCI_GetV, (&in, 1, next), 0);
	DO(ARMCI_AccV, (ARMCI_ACC_DBL, &one, &out, 1, next), 0);
	ARMCI_INIT_HANDLE(&get);
	ARMCI_INIT_HANDLE(&put);
	DO(ARMCI_NbGet, (there, mine, 256, next, &get), 256);
	DO(ARMCI_Wait, (&get), 0);
	DO(ARMCI_NbPutS, (mine, rows, there, rows, patch, 1, next, &put), 0);
	DO(ARMCI_Test, (&put), 0);
	DO(ARMCI_WaitProc, (next), 0);
	DO(ARMCI_WaitAll, (), 0);
	DO(ARMCI_AllFence, (), 0);
	DO(ARMCI_Barrier, (), 0);
}

static void round_of_work(void)
{
	void *memory[64], *counters[64];
	double *mine = DO(ARMCI_Malloc_local, (CELLS * sizeof(double)), CELLS * sizeof(double)), all[3] = { me, 1, 2 };
	int old, number[2] = { me, 1 };

	DO(ARMCI_Malloc, (memory, CELLS * sizeof(double)), CELLS * sizeof(double));
	DO(ARMCI_Malloc, (counters, sizeof(int)), sizeof(int));
	*(int *)counters[me] = 0;
	DO(ARMCI_Barrier, (), 0);
	copies((double **)memory, mine);
	for (int i = 0; i < 3; i++)
		DO(ARMCI_Rmw, (ARMCI_FETCH_AND_ADD, &old, counters[0], 1, 0), 0);
	DO(ARMCI_Create_mutexes, (me == 0), 0);
	DO(ARMCI_Lock, (0, 0), 0);
	DO(ARMCI_Unlock, (0, 0), 0);
	DO(ARMCI_Destroy_mutexes, (), 0);
	DO(armci_msg_dgop, (all, 3, "+"), sizeof(all));
	DO(armci_msg_igop, (number, 2, "max"), sizeof(number));
	DO(armci_msg_brdcst, (all, sizeof(all), 0), sizeof(all));
	DO(armci_msg_barrier, (), 0);
	sure += (long)all[0] + number[0];
	DO(ARMCI_Free, (counters[me]), 0);
	DO(ARMCI_Free, (memory[me]), 0);
	DO(ARMCI_Free_local, (mine), 0);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	ARMCI_Init();
	me = armci_msg_me();
	processes = armci_msg_nproc();
	job.rank = me;
	job_options(&job, argc, argv, NULL);
	if (job_all_rounds(&job, round_of_work, &counts, &counted, &sure))
		return 1;
	ARMCI_Finalize();
	MPI_Finalize();
	return 0;
}
