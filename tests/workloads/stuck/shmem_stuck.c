/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PEs that wait for one that does not come. The first argument says how:
 *
 *   barrier  all but the last one are at a barrier; that one is at the gate, and comes when it opens
 *   lock     PE 0 has a lock and goes on calling the runtime, which others need, until the gate opens; all others wait
 *            for the lock
 *   cycle    PE 0 has the first lock and waits for the second one, PE 1 has the second one and waits for the first;
 *            all others are at a barrier
 *   gone     all but the last one are at a barrier; that one has ended without a word
 *   holder   the last one has ended, with the lock that all others wait for
 *
 * Who is about to wait creates DIR/enters.PE. Who ends does so when the gate opens.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "shmem_leave.h"

static struct job job = { .name = "shmem_stuck" };
static long far[8194], total, locked; /* beyond what the file itself has of the program's variables: */
static long *const lock = &far[8192], *const second = &far[8193];

static void enter(void)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/enters.%d", job.gate, job.rank);
	file = open(path, O_CREAT | O_WRONLY, 0666);
	if (file < 0)
		exit(4);
	close(file);
}

__attribute__((noinline)) static void meet(void)
{
	enter();
	shmem_barrier_all();
	__asm__ volatile("" : : : "memory"); /* a call, not a jump */
}

/* Says that it has the lock, and keeps it until the gate opens. */
static void hold(void)
{
	char path[4096];

	enter();
	snprintf(path, sizeof(path), "%s/go", job.gate);
	locked = 1;
	for (int pe = 1; pe < shmem_n_pes(); pe++)
		shmem_long_p(&locked, 1, pe);
	shmem_quiet();
	while (access(path, F_OK))
		shmem_long_test(&total, SHMEM_CMP_LT, 0);
}

__attribute__((noinline)) static void take(long *wanted)
{
	enter();
	shmem_set_lock(wanted);
	__asm__ volatile("" : : : "memory");
}

static void take_both(void)
{
	if (job.rank < 2)
		shmem_set_lock(job.rank ? second : lock);
	shmem_barrier_all();
	if (job.rank < 2)
		take(job.rank ? lock : second);
}

/* The last one ends; the others wait for it, or for the lock that it has taken with it. */
static void be_left(bool holder)
{
	bool last = job.rank == shmem_n_pes() - 1;

	if (last && holder)
		shmem_set_lock(lock);
	shmem_barrier_all();
	if (last) {
		job_begin(&job);
		_exit(0);
	}
	if (holder)
		take(lock);
	else
		meet();
}

__attribute__((noinline)) static void add(void)
{
	if (job.rank)
		enter();
	shmem_set_lock(lock);
	if (!job.rank)
		hold();
	shmem_long_p(&total, shmem_long_g(&total, 0) + job.rank + 1, 0);
	shmem_quiet();
	shmem_clear_lock(lock);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	shmem_init();
	job.rank = shmem_my_pe();
	job_options(&job, argc - 1, argv + 1, NULL);
	shmem_barrier_all();
	if (!strcmp(how, "barrier")) {
		if (job.rank == shmem_n_pes() - 1)
			job_begin(&job);
		meet();
	} else if (!strcmp(how, "cycle"))
		take_both();
	else if (!strcmp(how, "gone") || !strcmp(how, "holder"))
		be_left(!strcmp(how, "holder"));
	else if (!strcmp(how, "lock")) {
		if (job.rank) /* PE 0 is to have it first */
			shmem_long_wait_until(&locked, SHMEM_CMP_EQ, 1);
		add();
	}
	shmem_barrier_all();
	if (!job.rank)
		printf("total %ld\n", total);
	leave_in_order();
}
