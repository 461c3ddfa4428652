/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of UPC threads that uses every function of the runtime as compiled UPC code would. Each call goes through a
 * macro that counts it and, where UPC_CALLS names a file, writes it down with its arguments and its result
 * (upc_calls.h). What a call leads to inside the runtime is counted and written with it: a barrier's notify and wait, a
 * strict block's relaxed one.
 */
#include "job.h"
#include "upc_berkeley.h"
#include "upc_calls.h"
#include "upc_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS (UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC)
#define PART 1024               /* bytes of area and other on each thread */

static UPC_OWN struct job job = { .name = "upc_job", .rounds = 50 };
static UPC_OWN uint64_t checksum;
static UPC_OWN int right, left;
static UPC_OWN upc_shared_ptr area, other, total, lock; /* total: one word on thread 0 */
static UPC_OWN long global_exit;                        /* thread 0 ends all with this status; 0: it does not */

static upc_shared_ptr at(upc_shared_ptr array, int thread, size_t offset)
{
	return upc_pointer(upc_address(array) + offset, thread, 0);
}

static size_t offset_at(upc_shared_ptr array, size_t offset)
{
	return upc_address(array) + offset;
}

static void learn(const void *data, size_t length)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < length; i++)
		checksum = checksum * 31 + byte[i];
	checksum = job_mix(checksum);
}

/* An id of UPC_UNNAMED: none. */
static void barrier(int id)
{
#ifdef UPC_BERKELEY
	BARRIER(_upcr_notify, id, 0);
	BARRIER(_upcr_wait, id, 0);
#else
	BARRIER(__upc_barrier, id, 0);
	INSIDE_BARRIER(__upc_notify, id, 1);
	INSIDE_BARRIER(__upc_wait, id, 1);
#endif
}

static void split_barrier(long round)
{
	int id = round % 2 ? (int)round : UPC_UNNAMED;

#ifdef UPC_BERKELEY
	BARRIER(_upcr_notify, id, 0);
	checksum = job_mix(checksum + round);
	if (!TRY_WAIT(_upcr_try_wait, id))
		abort();
#else
	BARRIER(__upc_notify, id, 0);
	checksum = job_mix(checksum + round);
	BARRIER(__upc_wait, id, 0);
#endif
}

static void move_blocks(long round)
{
	long out[16], in[16];

	for (int i = 0; i < 16; i++)
		out[i] = round * 100 + MYTHREAD * 10 + i;
	MEMPUT(upc_memput, at(area, right, 0), out, 128);
	barrier(UPC_UNNAMED);
	MEMGET(upc_memget, in, at(area, MYTHREAD, 0), 128);
	learn(in, 128);
	MEMCPY(upc_memcpy, at(area, right, 128), at(area, MYTHREAD, 0), 64);
	MEMSET(upc_memset, at(area, right, 192), (int)round & 0xff, 32);
	barrier(UPC_UNNAMED);
	PUTBLK(__putblk3, at(area, left, 224), out, 40);
	PUTBLK(__putsblk3, at(area, left, 264), out + 5, 24);
	INSIDE_PUTBLK(__putblk3, at(area, left, 264), out + 5, 24);
	COPYBLK(__copyblk3, at(area, left, 288), at(area, MYTHREAD, 0), 16);
	COPYBLK(__copysblk3, at(area, left, 304), at(area, MYTHREAD, 16), 16);
	INSIDE_COPYBLK(__copyblk3, at(area, left, 304), at(area, MYTHREAD, 16), 16);
	barrier(7);
	GETBLK(__getblk3, in, at(area, left, 128), 96);
	learn(in, 96);
	GETBLK(__getsblk3, in, at(area, MYTHREAD, 224), 96);
	INSIDE_GETBLK(__getblk3, in, at(area, MYTHREAD, 224), 96);
	learn(in, 96);
	barrier(UPC_UNNAMED);
	PUTBLK4(__putblk4, out, right, offset_at(area, 0), 24);
	PUTBLK4(__putsblk4, out + 3, right, offset_at(area, 24), 16);
	FENCE(__upc_fence);
	barrier(UPC_UNNAMED);
	COPYBLK5(__copyblk5, left, offset_at(area, 48), MYTHREAD, offset_at(area, 0), 16);
	COPYBLK5(__copysblk5, left, offset_at(area, 64), MYTHREAD, offset_at(area, 24), 16);
	barrier(UPC_UNNAMED);
	GETBLK4(__getblk4, MYTHREAD, offset_at(area, 0), in, 40);
	GETBLK4(__getsblk4, MYTHREAD, offset_at(area, 48), in + 5, 32);
	learn(in, 72);
	barrier(UPC_UNNAMED);
}

/* One value of each size, written to the right, read from the left: relaxed and strict, by pointer and by thread and
 * offset. */
static void move_values(long round)
{
	uint64_t sum = 0;
	size_t offset = 320;

#define PUT_ONE(mode, type)                                                                     \
	PUT(__put##mode##2, at(area, right, offset), (type)(round + 1), type);                  \
	PUT(__puts##mode##2, at(area, right, offset + 16), (type)(round + 2), type);            \
	PUT3(__put##mode##3, right, offset_at(area, offset + 32), (type)(round + 3), type);     \
	PUT3(__puts##mode##3, right, offset_at(area, offset + 48), (type)(round + 4), type);    \
	offset += 64;
#define GET_ONE(mode, type)                                                                     \
	sum = sum * 3 + (uint64_t)GET(__get##mode##2, at(area, left, offset), type);            \
	sum = sum * 3 + (uint64_t)GET(__gets##mode##2, at(area, left, offset + 16), type);      \
	sum = sum * 3 + (uint64_t)GET3(__get##mode##3, left, offset_at(area, offset + 32), type);       \
	sum = sum * 3 + (uint64_t)GET3(__gets##mode##3, left, offset_at(area, offset + 48), type);      \
	offset += 64;
	UPC_ACCESS_MODES(PUT_ONE)
	barrier(UPC_UNNAMED);
	offset = 320;
	UPC_ACCESS_MODES(GET_ONE)
	learn(&sum, sizeof(sum));
	barrier(UPC_UNNAMED);
}

static void locks(void)
{
	upc_shared_ptr mine = LOCK_ALLOC(upc_global_lock_alloc), all = LOCK_ALLOC(upc_all_lock_alloc);
	uint64_t value;

	LOCK(upc_lock, lock);
	value = GET(__getdi2, total, uint64_t);
	PUT(__putdi2, total, value + MYTHREAD + 1, uint64_t);
	LOCK(upc_unlock, lock);
	if (LOCK_ATTEMPT(upc_lock_attempt, mine) == 0)
		abort();
	if (LOCK_ATTEMPT(upc_lock_attempt, mine) != 0)
		abort();
	LOCK(upc_unlock, mine);
	LOCK(upc_lock_free, mine);
	LOCK(upc_all_lock_free, all);
	barrier(UPC_UNNAMED);
	value = GET(__getdi2, total, uint64_t);
	learn(&value, sizeof(value));
	barrier(UPC_UNNAMED);
}

static void collectives(long round)
{
	int root = (int)(round % THREADS), to = right;
	long in[8];

	PUTBLK(__putblk3, at(other, MYTHREAD, 500), &to, sizeof(to));
	COLLECTIVE(upc_all_broadcast, other, at(area, root, 0), 48);
	COLLECTIVE(upc_all_scatter, at(other, 0, 48), at(area, root, 0), 8);
	COLLECTIVE(upc_all_gather, at(other, root, 56), at(area, 0, 0), 8);
	COLLECTIVE(upc_all_gather_all, at(other, 0, 128), at(area, 0, 8), 8);
	COLLECTIVE(upc_all_exchange, at(other, 0, 192), at(area, 0, 0), 8);
	PERMUTE(upc_all_permute, at(other, 0, 256), at(area, 0, 0), at(other, 0, 500), 24);
	REDUCE(upc_all_reduceL, at(other, 0, 288), at(area, 0, 0), UPC_ADD, 2 * THREADS, 2, long);
	REDUCE(upc_all_prefix_reduceI, at(other, 0, 296), at(area, 0, 0), UPC_MAX, THREADS, 1, int);
	for (int i = 0; i < 5; i++) {
		MEMGET(upc_memget, in, at(other, MYTHREAD, 64 * i), 64);
		learn(in, 64);
	}
	barrier(UPC_UNNAMED);
}

/* Every type once; what comes out lies beyond what anybody looks at. */
static void reductions(void)
{
#define REDUCE_ONE(letter, type)                                                                         \
	REDUCE(upc_all_reduce##letter, at(other, 0, 512), at(other, 0, 640), UPC_MIN, THREADS, 1, type); \
	REDUCE(upc_all_prefix_reduce##letter, at(other, 0, 528), at(other, 0, 640), UPC_ADD, THREADS, 1, type);
	UPC_REDUCTIONS(REDUCE_ONE)
}

static void heap(long round)
{
	size_t size = 40 + 8 * (round % 4);
	upc_shared_ptr local = ALLOC(upc_alloc, size);
	upc_shared_ptr spread = ALLOC2(upc_global_alloc, THREADS, size);
	upc_shared_ptr all = ALLOC2(upc_all_alloc, 2 * THREADS, 16);

	if (upc_is_null(local) || upc_is_null(spread) || upc_is_null(all) || upc_thread(local) != MYTHREAD)
		abort();
	FREE(upc_free, local);
	FREE(upc_free, spread);
	FREE(upc_all_free, all);
}

static void at_once(long round)
{
	long out[4] = { round, MYTHREAD, 3, 4 }, in[4];

	SYNC(upc_sync, MEMPUT_NB(upc_memput_nb, at(area, right, 896), out, 32));
	SYNC(upc_sync, MEMSET_NB(upc_memset_nb, at(area, right, 928), (int)round & 0x7f, 16));
	barrier(UPC_UNNAMED);
	SYNC(upc_sync, MEMCPY_NB(upc_memcpy_nb, at(area, right, 944), at(area, MYTHREAD, 928), 16));
	upc_handle_t handle = MEMGET_NB(upc_memget_nb, in, at(area, MYTHREAD, 896), 32);

	while (!TRYSYNC(upc_sync_attempt, handle))
		;
	learn(in, 32);
	MEMPUT_NBI(upc_memput_nbi, at(area, right, 960), out, 16);
	MEMSET_NBI(upc_memset_nbi, at(area, right, 976), (int)round & 0x7f, 8);
	MEMCPY_NBI(upc_memcpy_nbi, at(area, right, 984), at(area, MYTHREAD, 896), 8);
	SYNCI(upc_synci);
	barrier(UPC_UNNAMED);
	MEMGET_NBI(upc_memget_nbi, in, at(area, MYTHREAD, 960), 32);
	INSIDE_MEMGET(upc_memget, in, at(area, MYTHREAD, 960), 32);
	while (!TRYSYNCI(upc_synci_attempt))
		;
	learn(in, 32);
	barrier(UPC_UNNAMED);
}

/* What lies below Berkeley UPC. */
static void transfers(long round)
{
#ifdef UPC_BERKELEY
	long out[4] = { round, 2, 3, 4 }, in[4], more[4];

	G_PUT(gasnete_put_bulk, right, in, out, 32);
	G_GET(gasnete_get_bulk, more, left, in, 24);
	G_SET(gasnete_memset, right, more + 3, 0, 8);
	learn(more, 32);
	G_SYNC(gasnete_wait_syncnb, G_PUT_NB(gasnete_put_nb_bulk, right, in, out, 16));
	G_SYNC(gasnete_wait_syncnb, G_GET_NB(gasnete_get_nb_bulk, more, left, in, 16));
	void *handle = G_SET_NB(gasnete_memset_nb, left, more + 2, 1, 16);

	if (G_TRYSYNC(gasnete_try_syncnb, handle))
		abort();
	G_PUT(gasnete_put_nbi_bulk, left, in, more, 8);
	G_GET(gasnete_get_nbi_bulk, out, right, in, 8);
	G_SET(gasnete_memset_nbi, left, out + 1, 2, 8);
	learn(out, 32);
#else
	(void)round;
#endif
}

static void one_round(long round)
{
	transfers(round);
	move_blocks(round);
	move_values(round);
	split_barrier(round);
	locks();
	collectives(round);
	reductions();
	heap(round);
	at_once(round);
}

/* Thread 0 looks at the clock for all. */
static bool another_round(long done)
{
	if (job.seconds <= 0)
		return job_more(&job, done);
	if (MYTHREAD == 0)
		PUT(__putssi2, at(area, 0, 1016), job_more(&job, done), uint32_t);
	barrier(UPC_UNNAMED);
	return GET(__getssi2, at(area, 0, 1016), uint32_t);
}

/* All threads' checksums, one after the other by thread 0. */
static uint64_t all_checksums(void)
{
	uint64_t all = 0;

	MEMPUT(upc_memput, at(area, MYTHREAD, 0), &checksum, sizeof(checksum));
	barrier(UPC_UNNAMED);
	for (int i = 0; MYTHREAD == 0 && i < THREADS; i++)
		all ^= GET(__getdi2, at(area, i, 0), uint64_t);
	return all;
}

static void start_afresh(void)
{
	upc_memset(at(area, MYTHREAD, 0), 0, PART);
	upc_memset(at(other, MYTHREAD, 0), 0, PART);
	if (MYTHREAD == 0)
		__putdi2(total, 0);
	checksum = 0;
	__upc_barrier(UPC_UNNAMED);
}

int upc_main(int argc, char **argv)
{
	const struct job_option options[] = { { "--global-exit", &global_exit }, { NULL, NULL } };
	struct counts counted = { .used = 0 };
	long rounds = 0;
	uint64_t all;

	job_options(&job, argc, argv, options);
	if (THREADS > 8)
		upc_complain("the arrays of this job are made for at most 8 threads");
	job.rank = MYTHREAD;
	right = (MYTHREAD + 1) % THREADS;
	left = (MYTHREAD + THREADS - 1) % THREADS;
	area = upc_all_alloc(THREADS, PART);
	other = upc_all_alloc(THREADS, PART);
	total = upc_all_alloc(THREADS, 8);
	lock = upc_all_lock_alloc();
	start_afresh();
	for (long i = 0; i < job.warmup; i++)
		one_round(i);
	start_afresh();

	job_begin(&job);
	calls_begin();
	while (another_round(rounds))
		one_round(rounds++);
	counted = calls_counted();
	job_finish(&job);

	uint64_t result = checksum;
	for (long i = 0; i < job.after; i++)
		one_round(i);
	checksum = result;
	all = all_checksums();
	if (MYTHREAD == 0)
		printf("checksum %016lx rounds %ld\n", all, rounds);
	if (job_truth(&job, rounds, result, &counted, NULL, 0))
		return 1;
	if (global_exit && MYTHREAD == 0) {
		EXIT(upc_global_exit, (int)global_exit);
		calls_write(MYTHREAD);
		upc_global_exit((int)global_exit);
	}
	if (global_exit) { /* ended by thread 0 */
		calls_write(MYTHREAD);
		for (;;)
			job_sleep_us(1000);
	}
	EXIT(__upc_exit, 0);
	calls_write(MYTHREAD);
	return 0;
}
