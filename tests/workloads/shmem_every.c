/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls every function of OpenSHMEM 1.4 once, the deprecated ones and Open MPI's extensions too, and writes down what
 * each was given: one line a call in EVERY_LOG.RANK, "EVENT name=value ...", in the words of the model's events.
 * --global-exit STATUS ends all PEs at once instead, --finalize 1 calls shmem_finalize(), which crashes in Debian's
 * library.
 */
#include "job.h"
#include "shmem_leave.h"

#include <complex.h>
#include <inttypes.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM 1024       /* bytes: more than any transfer below reaches */

static struct job job = { .name = "shmem_every", .rounds = 1 };
static FILE *log_file;
static int me, pes, right;
static shmem_ctx_t context;

/* Symmetric: at the same place in every PE. */
static _Alignas(16) char there[ROOM], here[ROOM];
static _Alignas(16) char work[SHMEM_REDUCE_MIN_WRKDATA_SIZE * 32];
static long reduce_sync[SHMEM_REDUCE_SYNC_SIZE], collect_sync[SHMEM_COLLECT_SYNC_SIZE],
	broadcast_sync[SHMEM_BCAST_SYNC_SIZE];
static long alltoall_sync[SHMEM_ALLTOALL_SYNC_SIZE], alltoalls_sync[SHMEM_ALLTOALLS_SYNC_SIZE],
	barrier_sync[SHMEM_BARRIER_SYNC_SIZE];
static long lock;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(log_file, format, arguments);
	va_end(arguments);
}

#define TYPES(X)                                                                                                       \
	X(float, float)                                                                                                \
	X(double, double) X(longdouble, long double) X(char, char) X(schar, signed char) X(short, short) X(int, int)   \
		X(long, long) X(longlong, long long) X(uchar, unsigned char) X(ushort, unsigned short)                 \
			X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int8, int8_t) \
				X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t)                \
					X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)    \
						X(ptrdiff, ptrdiff_t)

/* A value of type T as the log has it: nobody can see those in floating-point registers. */
static const char *shown(bool is_integer, long value)
{
	static char text[2][32];
	static int turn;

	turn = !turn;
	if (!is_integer)
		return "unknown";
	snprintf(text[turn], sizeof(text[turn]), "%ld", value);
	return text[turn];
}
#define IS_INTEGER(T) _Generic((T)0, float: false, double: false, long double: false, default: true)
#define SHOWN(T, value) shown(IS_INTEGER(T), (long)(value))

#define OF_TYPE(T) #T, sizeof(T)
#define WITH(context) (void *)(context)

/* --- puts and gets ---------------------------------------------------------- */

#define BLOCK(EVENT, FUNCTION, T)                                                                       \
	FUNCTION((void *)there, (void *)here, 3, right);                                                \
	say(#EVENT " dest=%p source=%p nelems=3 pe=%d type=%s size=%zu ctx=unknown\n", there, here, right, OF_TYPE(T));
#define CTX_BLOCK(EVENT, FUNCTION, T)                                                                             \
	FUNCTION(context, (void *)there, (void *)here, 2, right);                                                 \
	say(#EVENT " dest=%p source=%p nelems=2 pe=%d type=%s size=%zu ctx=%p\n", there, here, right, OF_TYPE(T), \
	    WITH(context));
#define STRIDED(EVENT, FUNCTION, T)                                                                                    \
	FUNCTION((void *)there, (void *)here, 2, 1, 4, right);                                                         \
	say(#EVENT " dest=%p source=%p dst=2 sst=1 nelems=4 pe=%d type=%s size=%zu ctx=unknown\n", there, here, right, \
	    OF_TYPE(T));
#define CTX_STRIDED(EVENT, FUNCTION, T)                                                                           \
	FUNCTION(context, (void *)there, (void *)here, 1, 3, 2, right);                                           \
	say(#EVENT " dest=%p source=%p dst=1 sst=3 nelems=2 pe=%d type=%s size=%zu ctx=%p\n", there, here, right, \
	    OF_TYPE(T), WITH(context));
#define ONE_PUT(FUNCTION, T)                                                                            \
	FUNCTION((T *)there, (T)77, right);                                                             \
	say("P dest=%p value=%s pe=%d type=%s size=%zu ctx=unknown\n", there, SHOWN(T, 77), right, OF_TYPE(T));
#define CTX_ONE_PUT(FUNCTION, T)                                                                          \
	FUNCTION(context, (T *)there, (T)78, right);                                                      \
	say("P dest=%p value=%s pe=%d type=%s size=%zu ctx=%p\n", there, SHOWN(T, 78), right, OF_TYPE(T), \
	    WITH(context));
#define ONE_GET(FUNCTION, T)                                                                               \
	{                                                                                                  \
		T got = FUNCTION((T *)here, right);                                                        \
		say("G source=%p pe=%d type=%s size=%zu ctx=unknown result=%s\n", here, right, OF_TYPE(T), \
		    SHOWN(T, got));                                                                        \
	}
#define CTX_ONE_GET(FUNCTION, T)                                                                                     \
	{                                                                                                            \
		T got = FUNCTION(context, (T *)here, right);                                                         \
		say("G source=%p pe=%d type=%s size=%zu ctx=%p result=%s\n", here, right, OF_TYPE(T), WITH(context), \
		    SHOWN(T, got));                                                                                  \
	}

#define TYPED(NAME, T)                                                          \
	static void transfer_##NAME(void)                                       \
	{                                                                       \
		BLOCK(PUT, shmem_##NAME##_put, T)                               \
		CTX_BLOCK(PUT, shmem_ctx_##NAME##_put, T)                       \
		BLOCK(PUT_NBI, shmem_##NAME##_put_nbi, T)                       \
		CTX_BLOCK(PUT_NBI, shmem_ctx_##NAME##_put_nbi, T)               \
		STRIDED(IPUT, shmem_##NAME##_iput, T)                           \
		CTX_STRIDED(IPUT, shmem_ctx_##NAME##_iput, T)                   \
		ONE_PUT(shmem_##NAME##_p, T)                                    \
		CTX_ONE_PUT(shmem_ctx_##NAME##_p, T)                            \
		BLOCK(GET, shmem_##NAME##_get, T)                               \
		CTX_BLOCK(GET, shmem_ctx_##NAME##_get, T)                       \
		BLOCK(GET_NBI, shmem_##NAME##_get_nbi, T)                       \
		CTX_BLOCK(GET_NBI, shmem_ctx_##NAME##_get_nbi, T)               \
		STRIDED(IGET, shmem_##NAME##_iget, T)                           \
		CTX_STRIDED(IGET, shmem_ctx_##NAME##_iget, T)                   \
		ONE_GET(shmem_##NAME##_g, T)                                    \
		CTX_ONE_GET(shmem_ctx_##NAME##_g, T)                            \
	}
TYPES(TYPED)

#define SIZED(BITS, T)                                                          \
	BLOCK(PUT, shmem_put##BITS, T)                                          \
	CTX_BLOCK(PUT, shmem_ctx_put##BITS, T)                                  \
	BLOCK(PUT_NBI, shmem_put##BITS##_nbi, T)                                \
	CTX_BLOCK(PUT_NBI, shmem_ctx_put##BITS##_nbi, T)                        \
	BLOCK(GET, shmem_get##BITS, T)                                          \
	CTX_BLOCK(GET, shmem_ctx_get##BITS, T)                                  \
	BLOCK(GET_NBI, shmem_get##BITS##_nbi, T)                                \
	CTX_BLOCK(GET_NBI, shmem_ctx_get##BITS##_nbi, T)
#define SIZED_STRIDED(BITS, T)                                                  \
	STRIDED(IPUT, shmem_iput##BITS, T)                                      \
	CTX_STRIDED(IPUT, shmem_ctx_iput##BITS, T)                              \
	STRIDED(IGET, shmem_iget##BITS, T)                                      \
	CTX_STRIDED(IGET, shmem_ctx_iget##BITS, T)

#define MEMORY(EVENT, NAME)                                                                                     \
	shmem_##NAME(there, here, 30, right);                                                                   \
	say(#EVENT " dest=%p source=%p nelems=30 pe=%d type=unknown size=1 ctx=unknown\n", there, here, right); \
	shmem_ctx_##NAME(context, there, here, 31, right);                                                      \
	say(#EVENT " dest=%p source=%p nelems=31 pe=%d type=unknown size=1 ctx=%p\n", there, here, right,       \
	    WITH(context));

static void quiet(void)
{
	shmem_quiet();
	say("QUIET ctx=unknown\n");
	shmem_ctx_quiet(context);
	say("QUIET ctx=%p\n", WITH(context));
	shmem_fence();
	say("FENCE ctx=unknown\n");
	shmem_ctx_fence(context);
	say("FENCE ctx=%p\n", WITH(context));
}

static void transfers(void)
{
#define CALL(NAME, T) transfer_##NAME();
	TYPES(CALL)
	SIZED(8, int8_t)
	SIZED(16, int16_t)
	SIZED(32, int32_t)
	SIZED(64, int64_t)
	SIZED(128, __int128)
	SIZED_STRIDED(8, int8_t)
	SIZED_STRIDED(16, int16_t)
	SIZED_STRIDED(32, int32_t)
	SIZED_STRIDED(64, int64_t)
	SIZED_STRIDED(128, __int128)
	MEMORY(PUT, putmem)
	MEMORY(PUT_NBI, putmem_nbi)
	MEMORY(GET, getmem)
	MEMORY(GET_NBI, getmem_nbi)
	ONE_PUT(shmemx_int16_p, int16_t)
	ONE_PUT(shmemx_int32_p, int32_t)
	ONE_PUT(shmemx_int64_p, int64_t)
	ONE_GET(shmemx_int16_g, int16_t)
	ONE_GET(shmemx_int32_g, int32_t)
	ONE_GET(shmemx_int64_g, int64_t)
	quiet();
}

/* --- atomics: on a word of the right neighbour that nobody else works on ---------- */

#define TOLD(op, T, value, cond, ctx, result)                                                                          \
	say("ATOMIC op=" op " dest=%p value=%s cond=%s pe=%d type=%s size=%zu ctx=%s result=%s\n", there, value, cond, \
	    right, OF_TYPE(T), ctx, result)
static char context_text[32];

#define CHANGE(op, FUNCTION, T, v)                              \
	FUNCTION((T *)there, (T)v, right);                      \
	TOLD(op, T, SHOWN(T, v), "unknown", "unknown", "unknown");
#define CTX_CHANGE(op, FUNCTION, T, v)                          \
	FUNCTION(context, (T *)there, (T)v, right);             \
	TOLD(op, T, SHOWN(T, v), "unknown", context_text, "unknown");
#define FETCHING(op, FUNCTION, T, v)                            \
	{                                                       \
		T was = FUNCTION((T *)there, (T)v, right);      \
		TOLD(op, T, SHOWN(T, v), "unknown", "unknown", SHOWN(T, was));  \
	}
#define CTX_FETCHING(op, FUNCTION, T, v)                        \
	{                                                       \
		T was = FUNCTION(context, (T *)there, (T)v, right);     \
		TOLD(op, T, SHOWN(T, v), "unknown", context_text, SHOWN(T, was));       \
	}
#define PLUS_ONE(op, FUNCTION, T)                               \
	FUNCTION((T *)there, right);                            \
	TOLD(op, T, "unknown", "unknown", "unknown", "unknown");
#define CTX_PLUS_ONE(op, FUNCTION, T)                           \
	FUNCTION(context, (T *)there, right);                   \
	TOLD(op, T, "unknown", "unknown", context_text, "unknown");
#define READING(op, FUNCTION, T)                                \
	{                                                       \
		T was = FUNCTION((T *)there, right);            \
		TOLD(op, T, "unknown", "unknown", "unknown", SHOWN(T, was));    \
	}
#define CTX_READING(op, FUNCTION, T)                            \
	{                                                       \
		T was = FUNCTION(context, (T *)there, right);   \
		TOLD(op, T, "unknown", "unknown", context_text, SHOWN(T, was)); \
	}
#define SWAPPING(op, FUNCTION, T)                               \
	{                                                       \
		T was = FUNCTION((T *)there, (T)3, (T)40, right);       \
		TOLD(op, T, "40", "3", "unknown", SHOWN(T, was));       \
	}
#define CTX_SWAPPING(op, FUNCTION, T)                           \
	{                                                       \
		T was = FUNCTION(context, (T *)there, (T)3, (T)40, right);      \
		TOLD(op, T, "40", "3", context_text, SHOWN(T, was));    \
	}

#define COUNTING(NAME, T)                                                       \
	CHANGE("add", shmem_##NAME##_atomic_add, T, 5)                          \
	CTX_CHANGE("add", shmem_ctx_##NAME##_atomic_add, T, 6)                  \
	FETCHING("fetch_add", shmem_##NAME##_atomic_fetch_add, T, 7)            \
	CTX_FETCHING("fetch_add", shmem_ctx_##NAME##_atomic_fetch_add, T, 8)    \
	PLUS_ONE("inc", shmem_##NAME##_atomic_inc, T)                           \
	CTX_PLUS_ONE("inc", shmem_ctx_##NAME##_atomic_inc, T)                   \
	READING("fetch_inc", shmem_##NAME##_atomic_fetch_inc, T)                \
	CTX_READING("fetch_inc", shmem_ctx_##NAME##_atomic_fetch_inc, T)
/* Not of 4 bytes: Open MPI 4.1.4 writes 8 bytes of result, and the stack is destroyed. */
#define COMPARING(NAME, T)                                                      \
	SWAPPING("compare_swap", shmem_##NAME##_atomic_compare_swap, T)         \
	CTX_SWAPPING("compare_swap", shmem_ctx_##NAME##_atomic_compare_swap, T)
#define SETTING(NAME, T)                                                        \
	CHANGE("set", shmem_##NAME##_atomic_set, T, 9)                          \
	CTX_CHANGE("set", shmem_ctx_##NAME##_atomic_set, T, 10)                 \
	FETCHING("swap", shmem_##NAME##_atomic_swap, T, 11)                     \
	CTX_FETCHING("swap", shmem_ctx_##NAME##_atomic_swap, T, 12)             \
	READING("fetch", shmem_##NAME##_atomic_fetch, T)                        \
	CTX_READING("fetch", shmem_ctx_##NAME##_atomic_fetch, T)
#define BITS_OF(NAME, T)                                                        \
	CHANGE("and", shmem_##NAME##_atomic_and, T, 15)                         \
	CTX_CHANGE("and", shmem_ctx_##NAME##_atomic_and, T, 14)                 \
	FETCHING("fetch_and", shmem_##NAME##_atomic_fetch_and, T, 13)           \
	CTX_FETCHING("fetch_and", shmem_ctx_##NAME##_atomic_fetch_and, T, 12)   \
	CHANGE("or", shmem_##NAME##_atomic_or, T, 1)                            \
	CTX_CHANGE("or", shmem_ctx_##NAME##_atomic_or, T, 2)                    \
	FETCHING("fetch_or", shmem_##NAME##_atomic_fetch_or, T, 4)              \
	CTX_FETCHING("fetch_or", shmem_ctx_##NAME##_atomic_fetch_or, T, 8)      \
	CHANGE("xor", shmem_##NAME##_atomic_xor, T, 1)                          \
	CTX_CHANGE("xor", shmem_ctx_##NAME##_atomic_xor, T, 2)                  \
	FETCHING("fetch_xor", shmem_##NAME##_atomic_fetch_xor, T, 4)            \
	CTX_FETCHING("fetch_xor", shmem_ctx_##NAME##_atomic_fetch_xor, T, 8)
#define OLD_COUNTING(PREFIX, NAME, T)                                           \
	CHANGE("add", PREFIX##NAME##_add, T, 5)                                 \
	FETCHING("fadd", PREFIX##NAME##_fadd, T, 7)                             \
	PLUS_ONE("inc", PREFIX##NAME##_inc, T)                                  \
	READING("finc", PREFIX##NAME##_finc, T)
#define OLD_SETTING(PREFIX, NAME, T)                                            \
	CHANGE("set", PREFIX##NAME##_set, T, 9)                                 \
	FETCHING("swap", PREFIX##NAME##_swap, T, 11)                            \
	READING("fetch", PREFIX##NAME##_fetch, T)
#define NEW_BITS(NAME, T)                                                       \
	CHANGE("and", shmemx_##NAME##_atomic_and, T, 15)                        \
	FETCHING("fetch_and", shmemx_##NAME##_atomic_fetch_and, T, 13)          \
	CHANGE("or", shmemx_##NAME##_atomic_or, T, 1)                           \
	FETCHING("fetch_or", shmemx_##NAME##_atomic_fetch_or, T, 4)             \
	CHANGE("xor", shmemx_##NAME##_atomic_xor, T, 1)                         \
	FETCHING("fetch_xor", shmemx_##NAME##_atomic_fetch_xor, T, 4)

#define WORDS(X)                                                                                \
	X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long)  \
	X(ulonglong, unsigned long long)

static void atomics(void)
{
	snprintf(context_text, sizeof(context_text), "%p", WITH(context));
	WORDS(COUNTING)
	COMPARING(long, long)
	COMPARING(longlong, long long)
	COMPARING(ulong, unsigned long)
	COMPARING(ulonglong, unsigned long long)
	SWAPPING("cswap", shmem_long_cswap, long)
	SWAPPING("cswap", shmem_longlong_cswap, long long)
	SWAPPING("cswap", shmemx_int64_cswap, int64_t)
	WORDS(SETTING)
	SETTING(float, float)
	SETTING(double, double)
	BITS_OF(int, int)
	BITS_OF(long, long)
	BITS_OF(longlong, long long)
	BITS_OF(uint, unsigned int)
	BITS_OF(ulong, unsigned long)
	BITS_OF(ulonglong, unsigned long long)
	BITS_OF(int32, int32_t)
	BITS_OF(int64, int64_t)
	BITS_OF(uint32, uint32_t)
	BITS_OF(uint64, uint64_t)
	OLD_COUNTING(shmem_, int, int)
	OLD_COUNTING(shmem_, long, long)
	OLD_COUNTING(shmem_, longlong, long long)
	OLD_SETTING(shmem_, int, int)
	OLD_SETTING(shmem_, long, long)
	OLD_SETTING(shmem_, longlong, long long)
	OLD_SETTING(shmem_, float, float)
	OLD_SETTING(shmem_, double, double)
	OLD_COUNTING(shmemx_, int32, int32_t)
	OLD_COUNTING(shmemx_, int64, int64_t)
	OLD_SETTING(shmemx_, int32, int32_t)
	OLD_SETTING(shmemx_, int64, int64_t)
	NEW_BITS(int32, int32_t)
	NEW_BITS(int64, int64_t)
	NEW_BITS(uint32, uint32_t)
	NEW_BITS(uint64, uint64_t)
}

/* --- waiting, on a word of this PE that is right already -------------------------- */

#define WAIT_UNTIL(FUNCTION, T)                                                                 \
	*(T *)here = 5;                                                                         \
	FUNCTION((T *)here, SHMEM_CMP_GE, 4);                                                   \
	say("WAIT_UNTIL ivar=%p cmp=%d cmp_value=4 type=%s\n", here, SHMEM_CMP_GE, #T);
#define ASK(FUNCTION, T)                                                                        \
	{                                                                                       \
		int yes = FUNCTION((T *)here, SHMEM_CMP_EQ, 5), no = FUNCTION((T *)here, SHMEM_CMP_NE, 5);      \
		say("TEST ivar=%p cmp=%d cmp_value=5 type=%s result=%d\n", here, SHMEM_CMP_EQ, #T, yes);        \
		say("TEST ivar=%p cmp=%d cmp_value=5 type=%s result=%d\n", here, SHMEM_CMP_NE, #T, no); \
	}
#define POINT(NAME, T)                                                                          \
	WAIT_UNTIL(shmem_##NAME##_wait_until, T)                                                \
	ASK(shmem_##NAME##_test, T)
#define WAIT(FUNCTION, T)                                                                       \
	*(T *)here = 5;                                                                         \
	FUNCTION((T *)here, 4);                                                                 \
	say("WAIT ivar=%p cmp_value=4 type=%s\n", here, #T);

static void wait_for_nothing(void)
{
	POINT(short, short)
	WORDS(POINT)
	POINT(ushort, unsigned short)
	POINT(int32, int32_t)
	POINT(int64, int64_t)
	POINT(uint32, uint32_t)
	POINT(uint64, uint64_t)
	POINT(size, size_t)
	POINT(ptrdiff, ptrdiff_t)
	WAIT_UNTIL(shmemx_int32_wait_until, int32_t)
	WAIT_UNTIL(shmemx_int64_wait_until, int64_t)
	WAIT(shmem_short_wait, short)
	WAIT(shmem_int_wait, int)
	WAIT(shmem_long_wait, long)
	WAIT(shmem_longlong_wait, long long)
	WAIT(shmemx_int32_wait, int32_t)
	WAIT(shmemx_int64_wait, int64_t)
	*(long *)here = 5;
	shmem_wait((long *)here, 4);
	say("WAIT ivar=%p cmp_value=4 type=unknown\n", here);
}

/* --- all together ------------------------------------------------------------------ */

static void all_wait(void)
{
	shmem_barrier_all();
	say("BARRIER_ALL\n");
}

#define GROUP "PE_start=0 logPE_stride=0 PE_size=%d"

#define REDUCE(op, FUNCTION, T)                                                                                        \
	all_wait();                                                                                                    \
	FUNCTION((void *)there, (void *)here, 2, 0, 0, pes, (void *)work, reduce_sync);                                \
	say("REDUCE op=" op " dest=%p source=%p nreduce=2 " GROUP " pWrk=%p pSync=%p type=%s size=%zu\n", there, here, \
	    pes, work, (void *)reduce_sync, OF_TYPE(T));
#define BITWISE(PREFIX, NAME, T)                                                \
	REDUCE("and", PREFIX##NAME##_and_to_all, T)                             \
	REDUCE("or", PREFIX##NAME##_or_to_all, T)                               \
	REDUCE("xor", PREFIX##NAME##_xor_to_all, T)
#define ARITHMETIC(PREFIX, NAME, T)                                             \
	REDUCE("sum", PREFIX##NAME##_sum_to_all, T)                             \
	REDUCE("prod", PREFIX##NAME##_prod_to_all, T)
#define ORDERED(PREFIX, NAME, T)                                                \
	REDUCE("min", PREFIX##NAME##_min_to_all, T)                             \
	REDUCE("max", PREFIX##NAME##_max_to_all, T)                             \
	ARITHMETIC(PREFIX, NAME, T)

#define OF_ALL(EVENT, FUNCTION, SYNC, size)        \
	all_wait();                                \
	FUNCTION(there, here, 2, 0, 0, pes, SYNC); \
	say(#EVENT " dest=%p source=%p nelems=2 " GROUP " pSync=%p size=%d\n", there, here, pes, (void *)SYNC, size);
#define BROADCAST(BITS)                                                                                      \
	all_wait();                                                                                          \
	shmem_broadcast##BITS(there, here, 2, 1, 0, 0, pes, broadcast_sync);                                 \
	say("BROADCAST dest=%p source=%p nelems=2 PE_root=1 " GROUP " pSync=%p size=%d\n", there, here, pes, \
	    (void *)broadcast_sync, BITS / 8);
#define ALLTOALLS(BITS)                                                                                        \
	all_wait();                                                                                            \
	shmem_alltoalls##BITS(there, here, 2, 1, 3, 0, 0, pes, alltoalls_sync);                                \
	say("ALLTOALLS dest=%p source=%p dst=2 sst=1 nelems=3 " GROUP " pSync=%p size=%d\n", there, here, pes, \
	    (void *)alltoalls_sync, BITS / 8);

static void collectives(void)
{
	OF_ALL(COLLECT, shmem_collect32, collect_sync, 4)
	OF_ALL(COLLECT, shmem_collect64, collect_sync, 8)
	OF_ALL(FCOLLECT, shmem_fcollect32, collect_sync, 4)
	OF_ALL(FCOLLECT, shmem_fcollect64, collect_sync, 8)
	OF_ALL(ALLTOALL, shmem_alltoall32, alltoall_sync, 4)
	OF_ALL(ALLTOALL, shmem_alltoall64, alltoall_sync, 8)
	BROADCAST(32)
	BROADCAST(64)
	ALLTOALLS(32)
	ALLTOALLS(64)
	memset(here, 0, sizeof(here));
	BITWISE(shmem_, short, short)
	BITWISE(shmem_, int, int)
	BITWISE(shmem_, long, long)
	BITWISE(shmem_, longlong, long long)
	BITWISE(shmemx_, int16, int16_t)
	BITWISE(shmemx_, int32, int32_t)
	BITWISE(shmemx_, int64, int64_t)
	ORDERED(shmem_, short, short)
	ORDERED(shmem_, int, int)
	ORDERED(shmem_, long, long)
	ORDERED(shmem_, longlong, long long)
	ORDERED(shmem_, float, float)
	ORDERED(shmem_, double, double)
	ORDERED(shmem_, longdouble, long double)
	ORDERED(shmemx_, int16, int16_t)
	ORDERED(shmemx_, int32, int32_t)
	ORDERED(shmemx_, int64, int64_t)
	ARITHMETIC(shmem_, complexf, float _Complex)
	ARITHMETIC(shmem_, complexd, double _Complex)
	all_wait();
	shmem_barrier(0, 0, pes, barrier_sync);
	say("BARRIER " GROUP " pSync=%p\n", pes, (void *)barrier_sync);
	shmem_sync(0, 0, pes, barrier_sync);
	say("SYNC " GROUP " pSync=%p\n", pes, (void *)barrier_sync);
	shmem_sync_all();
	say("SYNC_ALL\n");
	all_wait();
}

static void locks(void)
{
	if (me)
		return;
	shmem_set_lock(&lock);
	say("LOCK lock=%p\n", (void *)&lock);
	say("LOCK_ATTEMPT lock=%p result=%d\n", (void *)&lock, shmem_test_lock(&lock));
	shmem_clear_lock(&lock);
	say("UNLOCK lock=%p\n", (void *)&lock);
}

static void *allocated(const char *event, void *block)
{
	say("%s returnptr=%p\n", event, block);
	return block;
}

static void freed(void (*free)(void *), void *block)
{
	free(block);
	say("FREE ptr=%p\n", block);
}

static void heap(void)
{
	void *blocks[4], *moved;
	shmem_ctx_t another;

	blocks[0] = allocated("MALLOC size=100", shmem_malloc(100));
	blocks[1] = allocated("CALLOC count=5 size=24", shmem_calloc(5, 24));
	blocks[2] = allocated("ALIGN alignment=256 size=300", shmem_align(256, 300));
	moved = shmem_realloc(blocks[0], 400);
	say("REALLOC ptr=%p size=400 returnptr=%p\n", blocks[0], moved);
	blocks[0] = moved;
	blocks[3] = allocated("MALLOC size=64", shmemx_malloc_with_hint(64, 0));
	for (int i = 0; i < 4; i++)
		freed(shmem_free, blocks[i]);
	blocks[0] = allocated("MALLOC size=48", shmalloc(48));
	blocks[1] = allocated("ALIGN alignment=64 size=80", shmemalign(64, 80));
	moved = shrealloc(blocks[0], 96);
	say("REALLOC ptr=%p size=96 returnptr=%p\n", blocks[0], moved);
	freed(shfree, moved);
	freed(shfree, blocks[1]);
	if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &another))
		abort();
	say("CTX_CREATE options=%ld ctx=%p result=0\n", (long)SHMEM_CTX_PRIVATE, WITH(another));
	shmem_ctx_destroy(another);
	say("CTX_DESTROY ctx=%p\n", WITH(another));
}

static void every(void)
{
	transfers();
	all_wait();
	atomics();
	all_wait();
	wait_for_nothing();
	collectives();
	locks();
	heap();
	all_wait();
}

static void fill_sync(long *sync, int n)
{
	for (int i = 0; i < n; i++)
		sync[i] = SHMEM_SYNC_VALUE;
}

static void open_log(void)
{
	char name[4096];

	if (!getenv("EVERY_LOG"))
		abort();
	snprintf(name, sizeof(name), "%s.%d", getenv("EVERY_LOG"), me);
	log_file = fopen(name, "w");
	if (!log_file)
		abort();
	setlinebuf(log_file);
}

int main(int argc, char **argv)
{
	long exit_early = 0, finalize = 0;
	const struct job_option more[] = { { "--global-exit", &exit_early },
					   { "--finalize", &finalize },
					   { NULL, NULL } };
	struct counts none = { 0 };

	job_options(&job, argc, argv, more);
	shmem_init();
	me = job.rank = shmem_my_pe();
	pes = shmem_n_pes();
	right = (me + 1) % pes;
	fill_sync(reduce_sync, SHMEM_REDUCE_SYNC_SIZE);
	fill_sync(collect_sync, SHMEM_COLLECT_SYNC_SIZE);
	fill_sync(broadcast_sync, SHMEM_BCAST_SYNC_SIZE);
	fill_sync(alltoall_sync, SHMEM_ALLTOALL_SYNC_SIZE);
	fill_sync(alltoalls_sync, SHMEM_ALLTOALLS_SYNC_SIZE);
	fill_sync(barrier_sync, SHMEM_BARRIER_SYNC_SIZE);
	if (exit_early)
		shmem_global_exit((int)exit_early);
	if (finalize) {
		printf("finalizes\n");
		fflush(stdout);
		shmem_finalize();
		return 0;
	}
	open_log();
	if (shmem_ctx_create(0, &context))
		abort();
	shmem_barrier_all();
	job_begin(&job);
	every();
	job_finish(&job);
	fclose(log_file);
	if (job_truth(&job, 1, 0, &none, NULL, 0))
		shmem_global_exit(1);
	shmem_barrier_all();
	leave_in_order();
}
