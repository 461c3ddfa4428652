/*
 * A ring of UPC threads that uses the runtime's functions as compiled UPC code would. Each call goes through a macro that
 * counts it. A barrier leads to a notify and a wait inside the runtime, and these are counted with it.
 */
#include "job.h"
#include "upc_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS (UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC)

static struct job job = { .name = "upc_job", .rounds = 50 };
static struct counts counted, thrown_away, *counts = &thrown_away;
static uint64_t checksum;
static int right, left;
static upc_shared_ptr area, other, total, lock;         /* area, other: 512 bytes on each thread; total: one word on thread 0 */

#define PLAIN(FUNCTION, ARGUMENTS, bytes, sent, received)               \
	do {                                                            \
		FUNCTION ARGUMENTS;                                     \
		count_moved(counts, #FUNCTION, bytes, sent, received);  \
	} while (0)
#define GIVES(FUNCTION, ARGUMENTS, bytes, sent, received)               \
	({                                                              \
		__typeof__(FUNCTION ARGUMENTS) result = FUNCTION ARGUMENTS;     \
		count_moved(counts, #FUNCTION, bytes, sent, received);  \
		result;                                                 \
	})
#define PUT(FUNCTION, ARGUMENTS, n)     PLAIN(FUNCTION, ARGUMENTS, n, n, 0)
#define GET(FUNCTION, ARGUMENTS, n)     PLAIN(FUNCTION, ARGUMENTS, n, 0, n)
#define GOT(FUNCTION, ARGUMENTS, n)     GIVES(FUNCTION, ARGUMENTS, n, 0, n)

static upc_shared_ptr at(upc_shared_ptr array, int thread, size_t offset)
{
	return UPC_POINTER(UPC_ADDRESS(array) + offset, thread, 0);
}

static void learn(const void *data, size_t length)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < length; i++)
		checksum = checksum * 31 + byte[i];
	checksum = job_mix(checksum);
}

static void barrier(int id)
{
	PLAIN(__upc_barrier, (id), 0, 0, 0);
	count_call(counts, "__upc_notify", 0);
	count_call(counts, "__upc_wait", 0);
}

static void split_barrier(long round)
{
	PLAIN(__upc_notify, ((int)round), 0, 0, 0);
	checksum = job_mix(checksum + round);
	PLAIN(__upc_wait, ((int)round), 0, 0, 0);
}

static void move_blocks(long round)
{
	long out[16], in[16];

	for (int i = 0; i < 16; i++)
		out[i] = round * 100 + MYTHREAD * 10 + i;
	PUT(upc_memput, (at(area, right, 0), out, 128), 128);
	barrier(UPC_UNNAMED);
	GET(upc_memget, (in, at(area, MYTHREAD, 0), 128), 128);
	learn(in, 128);
	PLAIN(upc_memcpy, (at(area, right, 128), at(area, MYTHREAD, 0), 64), 64, 0, 0);
	PUT(upc_memset, (at(area, right, 192), (int)round & 0xff, 32), 32);
	barrier(UPC_UNNAMED);
	PUT(__putblk3, (at(area, left, 224), out, 40), 40);
	PUT(__putsblk3, (at(area, left, 264), out + 5, 24), 24);
	PLAIN(__copyblk3, (at(area, left, 288), at(area, MYTHREAD, 0), 16), 16, 0, 0);
	barrier(7);
	GET(__getblk3, (in, at(area, left, 128), 96), 96);
	learn(in, 96);
	GET(__getsblk3, (in, at(area, MYTHREAD, 224), 80), 80);
	learn(in, 80);
	barrier(UPC_UNNAMED);
}

static void move_values(long round)
{
	unsigned __int128 wide = (unsigned __int128)round << 64 | MYTHREAD;
	double real = 0.5 * (double)round + MYTHREAD;
	uint64_t sum;

	PUT(__putqi2, (at(area, right, 320), (uint8_t)(round + MYTHREAD)), 1);
	PUT(__puthi2, (at(area, right, 322), (uint16_t)(round * 3)), 2);
	PUT(__putsi2, (at(area, right, 324), (uint32_t)(round * 5 + MYTHREAD)), 4);
	PUT(__putdi2, (at(area, right, 328), (uint64_t)round * 7), 8);
	PUT(__putti2, (at(area, right, 336), wide), 16);
	PUT(__putsf2, (at(area, right, 352), (float)real), 4);
	PUT(__putdf2, (at(area, right, 360), real), 8);
	PUT(__putssi2, (at(area, right, 368), (uint32_t)round), 4);
	PUT(__putsdi2, (at(area, right, 376), (uint64_t)MYTHREAD), 8);
	barrier(UPC_UNNAMED);
	sum = GOT(__getqi2, (at(area, MYTHREAD, 320)), 1);
	sum += GOT(__gethi2, (at(area, left, 322)), 2);
	sum += GOT(__getsi2, (at(area, left, 324)), 4);
	sum += GOT(__getdi2, (at(area, left, 328)), 8);
	sum += (uint64_t)GOT(__getti2, (at(area, left, 336)), 16);
	sum += (uint64_t)(GOT(__getsf2, (at(area, left, 352)), 4) * 2);
	sum += (uint64_t)(GOT(__getdf2, (at(area, left, 360)), 8) * 2);
	sum += GOT(__getssi2, (at(area, left, 368)), 4);
	sum += GOT(__getsdi2, (at(area, left, 376)), 8);
	learn(&sum, sizeof(sum));
	barrier(UPC_UNNAMED);
}

static void locks(void)
{
	upc_shared_ptr mine = GIVES(upc_global_lock_alloc, (), 0, 0, 0);
	uint64_t value;

	PLAIN(upc_lock, (lock), 0, 0, 0);
	value = GOT(__getdi2, (total), 8);
	PUT(__putdi2, (total, value + MYTHREAD + 1), 8);
	PLAIN(upc_unlock, (lock), 0, 0, 0);
	if (GIVES(upc_lock_attempt, (mine), 0, 0, 0) == 0)
		abort();
	if (GIVES(upc_lock_attempt, (mine), 0, 0, 0) != 0)
		abort();
	PLAIN(upc_unlock, (mine), 0, 0, 0);
	PLAIN(upc_lock_free, (mine), 0, 0, 0);
	barrier(UPC_UNNAMED);
	value = GOT(__getdi2, (total), 8);
	learn(&value, sizeof(value));
	barrier(UPC_UNNAMED);
}

static void collectives(long round)
{
	int root = (int)(round % THREADS), to = right;
	long in[8];

	PUT(__putblk3, (at(other, MYTHREAD, 500), &to, sizeof(to)), sizeof(to));
	PLAIN(upc_all_broadcast, (other, at(area, root, 0), 48, FLAGS), 48, 0, 0);
	PLAIN(upc_all_scatter, (at(other, 0, 48), at(area, root, 0), 8, FLAGS), 8, 0, 0);
	PLAIN(upc_all_gather, (at(other, root, 56), at(area, 0, 0), 8, FLAGS), 8, 0, 0);
	PLAIN(upc_all_gather_all, (at(other, 0, 128), at(area, 0, 8), 8, FLAGS), 8, 0, 0);
	PLAIN(upc_all_exchange, (at(other, 0, 192), at(area, 0, 0), 8, FLAGS), 8, 0, 0);
	PLAIN(upc_all_permute, (at(other, 0, 256), at(area, 0, 0), at(other, 0, 500), 24, FLAGS), 24, 0, 0);
	PLAIN(upc_all_reduceL, (at(other, 0, 288), at(area, 0, 0), UPC_ADD, 2 * THREADS, 2, NULL, FLAGS), 16 * THREADS, 0, 0);
	PLAIN(upc_all_prefix_reduceI, (at(other, 0, 296), at(area, 0, 0), UPC_MAX, THREADS, 1, NULL, FLAGS), 4 * THREADS, 0, 0);
	for (int i = 0; i < 5; i++) {
		GET(upc_memget, (in, at(other, MYTHREAD, 64 * i), 64), 64);
		learn(in, 64);
	}
	barrier(UPC_UNNAMED);
}

static void heap(long round)
{
	size_t size = 40 + 8 * (round % 4);
	upc_shared_ptr local = GIVES(upc_alloc, (size), size, 0, 0);
	upc_shared_ptr spread = GIVES(upc_global_alloc, (THREADS, size), THREADS * size, 0, 0);
	upc_shared_ptr all = GIVES(upc_all_alloc, (2 * THREADS, 16), 32 * THREADS, 0, 0);

	if (!local || !spread || !all || UPC_THREAD(local) != MYTHREAD)
		abort();
	PLAIN(upc_free, (local), 0, 0, 0);
	PLAIN(upc_free, (spread), 0, 0, 0);
	PLAIN(upc_all_free, (all), 0, 0, 0);
}

static void at_once(long round)
{
	long out[4] = { round, MYTHREAD, 3, 4 }, in[4];
	upc_handle_t handle = GIVES(upc_memput_nb, (at(area, right, 400), out, 32), 32, 32, 0);

	PLAIN(upc_sync, (handle), 0, 0, 0);
	barrier(UPC_UNNAMED);
	handle = GIVES(upc_memget_nb, (in, at(area, MYTHREAD, 400), 32), 32, 0, 32);
	while (!GIVES(upc_sync_attempt, (handle), 0, 0, 0))
		;
	learn(in, 32);
	PUT(upc_memput_nbi, (at(area, right, 440), out, 16), 16);
	PLAIN(upc_synci, (), 0, 0, 0);
	barrier(UPC_UNNAMED);
}

static void one_round(long round)
{
	move_blocks(round);
	move_values(round);
	split_barrier(round);
	locks();
	collectives(round);
	heap(round);
	at_once(round);
}

/* Thread 0 looks at the clock for all. */
static bool another_round(long done)
{
	if (job.seconds <= 0)
		return job_more(&job, done);
	if (MYTHREAD == 0)
		PUT(__putsi2, (at(area, 0, 508), job_more(&job, done)), 4);
	barrier(UPC_UNNAMED);
	return GOT(__getsi2, (at(area, 0, 508)), 4);
}

/* All threads' checksums, one after the other by thread 0. */
static uint64_t all_checksums(void)
{
	uint64_t all = 0;

	upc_memput(at(area, MYTHREAD, 0), &checksum, sizeof(checksum));
	__upc_barrier(UPC_UNNAMED);
	for (int i = 0; MYTHREAD == 0 && i < THREADS; i++)
		all ^= __getdi2(at(area, i, 0));
	return all;
}

static void start_afresh(void)
{
	upc_memset(at(area, MYTHREAD, 0), 0, 512);
	upc_memset(at(other, MYTHREAD, 0), 0, 512);
	if (MYTHREAD == 0)
		__putdi2(total, 0);
	checksum = 0;
	__upc_barrier(UPC_UNNAMED);
}

int upc_main(int argc, char **argv)
{
	long rounds = 0;
	uint64_t all;

	job_options(&job, argc, argv, NULL);
	if (THREADS > 8)
		upc_complain("the arrays of this job are made for at most 8 threads");
	job.rank = MYTHREAD;
	right = (MYTHREAD + 1) % THREADS;
	left = (MYTHREAD + THREADS - 1) % THREADS;
	area = upc_all_alloc(THREADS, 512);
	other = upc_all_alloc(THREADS, 512);
	total = upc_all_alloc(THREADS, 8);
	lock = upc_all_lock_alloc();
	start_afresh();
	for (long i = 0; i < job.warmup; i++)
		one_round(i);
	start_afresh();

	job_begin(&job);
	counts = &counted;
	while (another_round(rounds))
		one_round(rounds++);
	counts = &thrown_away;
	job_finish(&job);

	uint64_t result = checksum;
	for (long i = 0; i < job.after; i++)
		one_round(i);
	checksum = result;
	all = all_checksums();
	if (MYTHREAD == 0)
		printf("checksum %016lx rounds %ld\n", all, rounds);
	return job_truth(&job, rounds, result, &counted, NULL, 0);
}
