/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of PEs that uses OpenSHMEM in all its ways: put and get of every shape, atomics, locks, waiting, collectives,
 * the symmetric heap.
 *
 * Some calls lead to others inside the library (allocation to a barrier, a barrier to a quiet, a lock to atomics); the
 * job counts what it called itself, libcount_shmem.so counts them all.
 *
 * Debian's shmem_finalize() crashes, so the job ends otherwise: a last barrier, then the launcher is told that this
 * process leaves in order, then _exit().
 */
#include "job.h"
#include "shmem_leave.h"

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PES_MAX 16
#define WORDS   64

static struct job job = { .name = "shmem_job", .rounds = 20 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static int me, pes, left, right;
static uint64_t checksum;

/* Symmetric: at the same place in every PE. */
static int ints[WORDS * PES_MAX];
static long longs[WORDS * PES_MAX], heard, lock, guarded, sum_work[WORDS + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double doubles[WORDS * PES_MAX];
static long barrier_sync[SHMEM_BARRIER_SYNC_SIZE], sync_sync[SHMEM_BARRIER_SYNC_SIZE];
static long broadcast_sync[SHMEM_BCAST_SYNC_SIZE], collect_sync[SHMEM_COLLECT_SYNC_SIZE];
static long alltoall_sync[SHMEM_ALLTOALL_SYNC_SIZE], alltoalls_sync[SHMEM_ALLTOALLS_SYNC_SIZE];
static long reduce_sync[SHMEM_REDUCE_SYNC_SIZE];
static int int_source[WORDS * PES_MAX];
static long long_source[WORDS * PES_MAX], max_source[WORDS];

/* Calls FUNCTION and counts it. `sent` and `received` are bytes that leave this PE or come to it; `bytes` is their sum.
 */
#define DO(FUNCTION, ARGUMENTS, sent, received)                                                 \
	do {                                                                                    \
		FUNCTION ARGUMENTS;                                                             \
		count_moved(counts, #FUNCTION, (sent) + (received), sent, received);            \
	} while (0)

/* The same for one that gives a result. */
#define GIVES(FUNCTION, ARGUMENTS, sent, received)                                              \
	({                                                                                      \
		__typeof__(FUNCTION ARGUMENTS) result = FUNCTION ARGUMENTS;                     \
		count_moved(counts, #FUNCTION, (sent) + (received), sent, received);            \
		result;                                                                         \
	})

/* What has no direction of its own: an atomic's element, a collective's share of this PE, the size asked for. */
#define PLAIN(FUNCTION, ARGUMENTS, size)                                \
	do {                                                            \
		FUNCTION ARGUMENTS;                                     \
		count_call(counts, #FUNCTION, size);                    \
	} while (0)
#define PLAIN_GIVES(FUNCTION, ARGUMENTS, size)                         \
	({                                                              \
		__typeof__(FUNCTION ARGUMENTS) result = FUNCTION ARGUMENTS;     \
		count_call(counts, #FUNCTION, size);                    \
		result;                                                 \
	})

static void learn(const void *data, size_t length)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < length; i++)
		checksum = checksum * 31 + byte[i];
	checksum = job_mix(checksum);
}

static void all_wait(void)
{
	DO(shmem_barrier_all, (), 0, 0);
}

static void prepare(long round)
{
	memset(ints, 0, sizeof(ints));
	memset(longs, 0, sizeof(longs));
	memset(doubles, 0, sizeof(doubles));
	for (int i = 0; i < WORDS * PES_MAX; i++) {
		int_source[i] = (int)(round * 3 + me * 100 + i);
		long_source[i] = round * 5 + me * 1000 + i;
	}
	guarded = 0;
	heard = 0;
	all_wait();
}

static void put_all_ways(shmem_ctx_t context)
{
	double pi = 3.25;
	char letters[16] = "sixteen letters";

	DO(shmem_putmem, (longs, long_source, 80, right), 80, 0);
	DO(shmem_int_put, (ints, int_source, 10, right), 40, 0);
	DO(shmem_double_put, (doubles, &pi, 1, right), 8, 0);
	DO(shmem_long_put, (longs + 10, long_source, 4, right), 32, 0);
	DO(shmem_char_put, ((char *)(longs + 20), letters, 16, right), 16, 0);
	DO(shmem_put32, (ints + 10, int_source, 3, right), 12, 0);
	DO(shmem_put64, (longs + 14, long_source, 2, right), 16, 0);
	DO(shmem_put128, (longs + 16, long_source, 1, right), 16, 0);
	DO(shmem_int_p, (ints + 13, (int)checksum, right), 4, 0);
	DO(shmem_long_p, (longs + 18, 77, right), 8, 0);
	DO(shmem_double_p, (doubles + 1, 1.5, right), 8, 0);
	DO(shmem_int_iput, (ints + 20, int_source, 2, 1, 5, right), 20, 0);
	DO(shmem_putmem_nbi, (longs + 24, long_source, 24, right), 24, 0);
	DO(shmem_int_put_nbi, (ints + 14, int_source, 2, right), 8, 0);
	DO(shmem_quiet, (), 0, 0);
	DO(shmem_ctx_long_put, (context, longs + 30, long_source, 3, right), 24, 0);
	DO(shmem_ctx_quiet, (context), 0, 0);
	DO(shmem_fence, (), 0, 0);
	all_wait();
	/* ints[13] holds a checksum that differs between PEs' histories, all the same in every run. */
	learn(ints, 40 * sizeof(int));
	learn(longs, 40 * sizeof(long));
	learn(doubles, 2 * sizeof(double));
	all_wait();
}

static void get_all_ways(shmem_ctx_t context)
{
	long into[16];
	int numbers[16];
	double real = 0;

	memset(into, 0, sizeof(into));
	memset(numbers, 0, sizeof(numbers));
	DO(shmem_getmem, (into, long_source, 40, right), 0, 40);
	DO(shmem_long_get, (into + 5, long_source + 5, 2, right), 0, 16);
	DO(shmem_int_get, (numbers, int_source, 6, right), 0, 24);
	DO(shmem_get32, (numbers + 6, int_source + 6, 2, right), 0, 8);
	DO(shmem_get64, (into + 7, long_source + 7, 1, right), 0, 8);
	DO(shmem_double_get, (&real, doubles, 1, right), 0, 8);
	numbers[8] = GIVES(shmem_int_g, (int_source + 8, right), 0, 4);
	into[8] = GIVES(shmem_long_g, (long_source + 8, right), 0, 8);
	real += GIVES(shmem_double_g, (doubles + 1, right), 0, 8);
	DO(shmem_int_iget, (numbers + 9, int_source + 10, 1, 3, 4, right), 0, 16);
	DO(shmem_long_get_nbi, (into + 9, long_source + 9, 3, right), 0, 24);
	DO(shmem_quiet, (), 0, 0);
	DO(shmem_ctx_int_get, (context, numbers + 13, int_source + 13, 2, right), 0, 8);
	learn(into, sizeof(into));
	learn(numbers, sizeof(numbers));
	learn(&real, sizeof(real));
	all_wait();
}

/* Every PE works on a word of its right neighbour that nobody else touches. */
static void atomics(void)
{
	long *word = longs + 50;
	int *number = ints + 50;
	long seen = 0;

	PLAIN(shmem_long_atomic_set, (word, 5, right), 8);
	PLAIN(shmem_long_atomic_add, (word, 7, right), 8);
	PLAIN(shmem_long_atomic_inc, (word, right), 8);
	seen += PLAIN_GIVES(shmem_long_atomic_fetch, (word, right), 8);
	seen += PLAIN_GIVES(shmem_long_atomic_fetch_add, (word, 3, right), 8);
	seen += PLAIN_GIVES(shmem_long_atomic_fetch_inc, (word, right), 8);
	seen += PLAIN_GIVES(shmem_long_atomic_swap, (word, 40, right), 8);
	seen += PLAIN_GIVES(shmem_long_atomic_compare_swap, (word, 40, 41, right), 8);
	PLAIN(shmem_int_atomic_or, (number, 12, right), 4);
	PLAIN(shmem_int_atomic_and, (number, 6, right), 4);
	PLAIN(shmem_int_atomic_xor, (number, 3, right), 4);
	seen += PLAIN_GIVES(shmem_int_atomic_fetch_or, (number, 1, right), 4);
	seen += PLAIN_GIVES(shmem_int_fadd, (number, 2, right), 4);
	PLAIN(shmem_int_add, (number, 2, right), 4);
	learn(&seen, sizeof(seen));
	/* All PEs add to one word of PE 0. */
	PLAIN(shmem_long_atomic_add, (longs + 52, me + 1, 0), 8);
	all_wait();
	learn(longs + 50, 3 * sizeof(long));
	learn(ints + 50, sizeof(int));
	all_wait();
}

static void locks(void)
{
	long value;

	DO(shmem_set_lock, (&lock), 0, 0);
	value = GIVES(shmem_long_g, (&guarded, 0), 0, 8);
	DO(shmem_long_p, (&guarded, value + me + 1, 0), 8, 0);
	DO(shmem_quiet, (), 0, 0);
	DO(shmem_clear_lock, (&lock), 0, 0);
	all_wait();
	learn(&guarded, sizeof(guarded));
	if (me == 0) {
		while (GIVES(shmem_test_lock, (&lock), 0, 0))
			job_sleep_us(50);
		DO(shmem_clear_lock, (&lock), 0, 0);
	}
	all_wait();
}

/* A word goes round the ring. */
static void wait_for_neighbour(void)
{
	if (me == 0)
		DO(shmem_long_p, (&heard, 1, right), 8, 0);
	DO(shmem_long_wait_until, (&heard, SHMEM_CMP_GE, 1), 0, 0);
	if (me != 0)
		DO(shmem_long_p, (&heard, heard + 1, right), 8, 0);
	while (!GIVES(shmem_long_test, (&heard, SHMEM_CMP_GE, 1), 0, 0))
		job_sleep_us(50);
	all_wait();
	learn(&heard, sizeof(heard));
}

static void collectives(int root)
{
	int all = pes;

	DO(shmem_barrier, (0, 0, all, barrier_sync), 0, 0);
	DO(shmem_sync, (0, 0, all, sync_sync), 0, 0);
	DO(shmem_sync_all, (), 0, 0);
	PLAIN(shmem_broadcast64, (longs, long_source, 8, root, 0, 0, all, broadcast_sync), 64);
	all_wait();
	PLAIN(shmem_collect32, (ints, int_source, me + 1, 0, 0, all, collect_sync), 4 * (me + 1));
	all_wait();
	PLAIN(shmem_fcollect64, (longs + 16, long_source, 2, 0, 0, all, collect_sync), 16);
	all_wait();
	PLAIN(shmem_alltoall32, (ints + 200, int_source, 2, 0, 0, all, alltoall_sync), 8);
	all_wait();
	PLAIN(shmem_alltoalls64, (longs + 200, long_source, 1, 1, 2, 0, 0, all, alltoalls_sync), 16);
	all_wait();
	PLAIN(shmem_long_sum_to_all, (longs + 100, long_source, 6, 0, 0, all, sum_work, reduce_sync), 48);
	all_wait();
	memcpy(max_source, long_source, sizeof(max_source));
	PLAIN(shmem_long_max_to_all, (longs + 110, max_source, 3, 0, 0, all, sum_work, reduce_sync), 24);
	all_wait();
	learn(longs, sizeof(longs));
	learn(ints, sizeof(ints));
}

static void symmetric_heap(long round)
{
	size_t size = 64 + 8 * (round % 5);
	long *block = PLAIN_GIVES(shmem_malloc, (size), size), *zeroed = PLAIN_GIVES(shmem_calloc, (4, 8), 32);
	long *aligned = PLAIN_GIVES(shmem_align, (64, 128), 128);

	block[0] = me;
	block = PLAIN_GIVES(shmem_realloc, (block, 2 * size), 2 * size);
	checksum += block[0] + zeroed[3] + ((uintptr_t)aligned % 64);
	DO(shmem_free, (block), 0, 0);
	DO(shmem_free, (zeroed), 0, 0);
	DO(shmem_free, (aligned), 0, 0);
}

static void one_round(long round)
{
	shmem_ctx_t context;

	if (GIVES(shmem_ctx_create, (0, &context), 0, 0))
		abort();
	prepare(round);
	put_all_ways(context);
	get_all_ways(context);
	atomics();
	locks();
	wait_for_neighbour();
	collectives((int)(round % pes));
	symmetric_heap(round);
	DO(shmem_ctx_destroy, (context), 0, 0);
}

/* PE 0 looks at the clock for all. */
static bool another_round(long done)
{
	static int more;

	if (job.seconds <= 0)
		return job_more(&job, done);
	all_wait();
	if (me == 0) {
		more = job_more(&job, done);
		for (int pe = 1; pe < pes; pe++)
			DO(shmem_int_p, (&more, more, pe), 4, 0);
	}
	all_wait();
	return more;
}

static void fill_sync(long *sync, int n)
{
	for (int i = 0; i < n; i++)
		sync[i] = SHMEM_SYNC_VALUE;
}

static void prepare_sync(void)
{
	fill_sync(barrier_sync, SHMEM_BARRIER_SYNC_SIZE);
	fill_sync(sync_sync, SHMEM_BARRIER_SYNC_SIZE);
	fill_sync(broadcast_sync, SHMEM_BCAST_SYNC_SIZE);
	fill_sync(collect_sync, SHMEM_COLLECT_SYNC_SIZE);
	fill_sync(alltoall_sync, SHMEM_ALLTOALL_SYNC_SIZE);
	fill_sync(alltoalls_sync, SHMEM_ALLTOALLS_SYNC_SIZE);
	fill_sync(reduce_sync, SHMEM_REDUCE_SYNC_SIZE);
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	static long result, all;
	long rounds = 0;

	job_options(&job, argc, argv, NULL);
	shmem_init();
	me = shmem_my_pe();
	pes = shmem_n_pes();
	if (pes < 2 || pes > PES_MAX) {
		fprintf(stderr, "shmem_job: needs 2 to %d PEs\n", PES_MAX);
		shmem_global_exit(2);
	}
	job.rank = me;
	right = (me + 1) % pes;
	left = (me + pes - 1) % pes;
	prepare_sync();

	for (long i = 0; i < job.warmup; i++)
		one_round(i);
	checksum = 0;
	job_begin(&job);
	counts = &counted;
	while (another_round(rounds))
		one_round(rounds++);
	counts = &thrown_away;
	job_finish(&job);
	result = (long)checksum;
	for (long i = 0; i < job.after; i++)
		one_round(i);

	all_wait();
	shmem_long_xor_to_all(&all, &result, 1, 0, 0, pes, sum_work, reduce_sync);
	if (me == 0)
		printf("checksum %016lx rounds %ld\n", all, rounds);
	if (job_truth(&job, rounds, result, &counted, NULL, 0))
		shmem_global_exit(1);
	shmem_barrier_all();
	leave_in_order();
}
