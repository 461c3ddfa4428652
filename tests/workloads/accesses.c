/* SPDX-License-Identifier: BSD-2-Clause */
/* PEs that access each other's memory and their own, each another number of times, and count whose. */
#include "job.h"
#include "shmem_leave.h"

#include <shmem.h>

#define PES_MAX 16
#define WORDS   100

static struct job job = { .name = "accesses", .rounds = 10 };
static struct counts none;
static int me, pes;
static long numbers[WORDS];

enum kind { PUT, GET, ATOMIC, KINDS };

static uint64_t accesses[KINDS][PES_MAX], bytes[KINDS][PES_MAX];

static void note(enum kind kind, int pe, uint64_t size)
{
	accesses[kind][pe]++;
	bytes[kind][pe] += size;
}

static void one_round(void)
{
	long here[WORDS] = { 0 };
	int right = (me + 1) % pes, left = (me + pes - 1) % pes;

	for (int i = 0; i <= me; i++) {
		shmem_putmem(numbers, here, 10 + i, right);
		note(PUT, right, 10 + i);
	}
	for (int i = 0; i < 3; i++) {
		shmem_long_get(here, numbers, WORDS, left);
		note(GET, left, sizeof(numbers));
	}
	shmem_long_p(&numbers[1], 1, me);
	note(PUT, me, sizeof(long));
	shmem_long_atomic_add(&numbers[0], 1, 0);
	note(ATOMIC, 0, sizeof(long));
	shmem_barrier_all();
}

static char *matrix(void)
{
	static const char *const names[KINDS] = { "put", "got", "atomic" };
	static char text[8192];
	int at = 0;

	for (int kind = 0; kind < KINDS; kind++) {
		at += snprintf(text + at, sizeof(text) - at, ",\n \"%s\":{", names[kind]);
		for (int i = 0, first = 1; i < pes; i++) {
			if (!accesses[kind][i])
				continue;
			at += snprintf(text + at, sizeof(text) - at, "%s\"%d\":[%lu,%lu]", first ? "" : ",", i,
				       accesses[kind][i], bytes[kind][i]);
			first = 0;
		}
		at += snprintf(text + at, sizeof(text) - at, "}");
	}
	return text;
}

int main(int argc, char **argv)
{
	long done = 0;

	job_options(&job, argc, argv, NULL);
	shmem_init();
	me = shmem_my_pe();
	pes = shmem_n_pes();
	if (pes > PES_MAX)
		shmem_global_exit(2);
	job.rank = me;
	shmem_barrier_all();
	job_begin(&job);
	for (; job_more(&job, done); done++)
		one_round();
	job_finish(&job);
	job.more_truth = matrix();
	if (job_truth(&job, done, 0, &none, NULL, 0))
		shmem_global_exit(1);
	shmem_barrier_all();
	leave_in_order();
}
