/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The job's own account of its calls: a count of each function, and, where the environment variable UPC_CALLS names a
 * file, a line for each call in the file of that name and the thread's number:
 *
 *     tid TID
 *     DEPTH FUNCTION NAME=VALUE ... > NAME=VALUE ...
 *
 * with the arguments, and behind > the results, under the names that GASP's tables have for them. A pointer-to-shared
 * is THREAD.PHASE.ADDRESS. A call made by the runtime inside another one has depth 1. What a function does not have is
 * not written.
 */
#ifndef WORKLOADS_UPC_CALLS_H
#define WORKLOADS_UPC_CALLS_H

#include "job.h"
#include "upc_runtime.h"

/* From here on calls are written down, and counts begin anew. */
void calls_begin(void);
/* So far. */
struct counts calls_counted(void);
/* Writes the file. */
void calls_write(int thread);

/* One more call; the text is what stands behind the function's name. */
void call_made(const char *function, uint64_t bytes, uint64_t sent, uint64_t received, int depth, const char *format,
	       ...) __attribute__((format(printf, 6, 7)));

#define SHARED "%d.%lx.%lx"
#define OF(p) upc_thread(p), (unsigned long)upc_phase(p), (unsigned long)upc_address(p)

/* Each evaluates its arguments before the call, and again for the account: none has a side effect. */
#define NOTE(F, bytes, sent, received, ...) call_made(#F, bytes, sent, received, 0, __VA_ARGS__)
#define NOTE_INSIDE(F, bytes, sent, received, ...) call_made(#F, bytes, sent, received, 1, __VA_ARGS__)
#define MAKE(F, arguments, bytes, sent, received, ...)                  \
	do {                                                            \
		F arguments;                                            \
		NOTE(F, bytes, sent, received, __VA_ARGS__);            \
	} while (0)

/* Where no id was written there is none; Berkeley's functions are given a 0 all the same. */
#ifdef UPC_BERKELEY
#define UNNAMED_TEXT "named=0 expr=0"
#else
#define UNNAMED_TEXT "named=0"
#endif
#define NOTE_BARRIER(F, id, depth)                                                                      \
	do {                                                                                            \
		if ((id) == UPC_UNNAMED)                                                                \
			call_made(#F, 0, 0, 0, depth, UNNAMED_TEXT);                                       \
		else                                                                                    \
			call_made(#F, 0, 0, 0, depth, "named=1 expr=%d", id);                           \
	} while (0)
#ifdef UPC_BERKELEY
#define BARRIER(F, id, depth)                                           \
	do {                                                            \
		F((id) == UPC_UNNAMED ? 0 : (id), (id) == UPC_UNNAMED); \
		NOTE_BARRIER(F, id, depth);                             \
	} while (0)
#else
#define BARRIER(F, id, depth)                   \
	do {                                    \
		F(id);                          \
		NOTE_BARRIER(F, id, depth);     \
	} while (0)
#endif
#define TRY_WAIT(F, id)                                                                                         \
	({                                                                                                      \
		int result = F((id) == UPC_UNNAMED ? 0 : (id), (id) == UPC_UNNAMED);                            \
		if ((id) == UPC_UNNAMED)                                                                        \
			NOTE(F, 0, 0, 0, UNNAMED_TEXT " > result=%d", result);                                        \
		else                                                                                            \
			NOTE(F, 0, 0, 0, "named=1 expr=%d > result=%d", id, result);                            \
		result;                                                                                         \
	})
#define INSIDE_BARRIER(F, id, depth) NOTE_BARRIER(F, id, depth)
#define FENCE(F) MAKE(F, (), 0, 0, 0, " ")
#define SYNCI(F) FENCE(F)

#define MEMPUT_TEXT(dst, src, n) "dst=" SHARED " src=%p n=%zu", OF(dst), (const void *)(src), (size_t)(n)
#define MEMGET_TEXT(dst, src, n) "dst=%p src=" SHARED " n=%zu", (void *)(dst), OF(src), (size_t)(n)
#define MEMCPY_TEXT(dst, src, n) "dst=" SHARED " src=" SHARED " n=%zu", OF(dst), OF(src), (size_t)(n)
#define MEMSET_TEXT(dst, c, n) "dst=" SHARED " c=%d n=%zu", OF(dst), c, (size_t)(n)
#define MEMPUT(F, dst, src, n) MAKE(F, (dst, src, n), n, n, 0, MEMPUT_TEXT(dst, src, n))
#define MEMGET(F, dst, src, n) MAKE(F, (dst, src, n), n, 0, n, MEMGET_TEXT(dst, src, n))
#define INSIDE_MEMGET(F, dst, src, n) NOTE_INSIDE(F, n, 0, n, MEMGET_TEXT(dst, src, n))
#define MEMCPY(F, dst, src, n) MAKE(F, (dst, src, n), n, 0, 0, MEMCPY_TEXT(dst, src, n))
#define MEMSET(F, dst, c, n) MAKE(F, (dst, c, n), n, n, 0, MEMSET_TEXT(dst, c, n))
#define COPYBLK(F, dst, src, n) MEMCPY(F, dst, src, n)
#define INSIDE_COPYBLK(F, dst, src, n) NOTE_INSIDE(F, n, 0, 0, MEMCPY_TEXT(dst, src, n))
#define COPYBLK5(F, dt, d, st, s, n) \
	MAKE(F, (dt, d, st, s, n), n, 0, 0, "dst.thread=%d src.thread=%d n=%zu", dt, st, (size_t)(n))

/* Accesses: the function's name says whether they are strict. */
#define RELAXED(F) !calls_is_strict(#F)
int calls_is_strict(const char *function);
#define PUTBLK(F, dst, src, n)                                                                            \
	MAKE(F, (dst, src, n), n, n, 0, "is_relaxed=%d dst=" SHARED " src=%p n=%zu", RELAXED(F), OF(dst), \
	     (void *)(src), (size_t)(n))
#define INSIDE_PUTBLK(F, dst, src, n)                                                                            \
	NOTE_INSIDE(F, n, n, 0, "is_relaxed=%d dst=" SHARED " src=%p n=%zu", RELAXED(F), OF(dst), (void *)(src), \
		    (size_t)(n))
#define GETBLK(F, dst, src, n)                                                                                  \
	MAKE(F, (dst, src, n), n, 0, n, "is_relaxed=%d dst=%p src=" SHARED " n=%zu", RELAXED(F), (void *)(dst), \
	     OF(src), (size_t)(n))
#define INSIDE_GETBLK(F, dst, src, n)                                                                            \
	NOTE_INSIDE(F, n, 0, n, "is_relaxed=%d dst=%p src=" SHARED " n=%zu", RELAXED(F), (void *)(dst), OF(src), \
		    (size_t)(n))
#define PUTBLK4(F, src, t, offset, n)                                                                                \
	MAKE(F, (src, t, offset, n), n, n, 0, "is_relaxed=%d src=%p n=%zu dst.thread=%d", RELAXED(F), (void *)(src), \
	     (size_t)(n), t)
#define GETBLK4(F, t, offset, dst, n)                                                                                \
	MAKE(F, (t, offset, dst, n), n, 0, n, "is_relaxed=%d dst=%p n=%zu src.thread=%d", RELAXED(F), (void *)(dst), \
	     (size_t)(n), t)
#define PUT(F, dst, value, type)                                                                               \
	MAKE(F, (dst, value), sizeof(type), sizeof(type), 0, "is_relaxed=%d dst=" SHARED " n=%zu", RELAXED(F), \
	     OF(dst), sizeof(type))
#define PUT3(F, t, offset, value, type)                                                                             \
	MAKE(F, (t, offset, value), sizeof(type), sizeof(type), 0, "is_relaxed=%d n=%zu dst.thread=%d", RELAXED(F), \
	     sizeof(type), t)
#define GIVES(F, arguments, bytes, sent, received, ...)         \
	({                                                      \
		__typeof__(F arguments) result = F arguments;   \
		NOTE(F, bytes, sent, received, __VA_ARGS__);    \
		result;                                         \
	})
#define GET(F, src, type)                                                                                         \
	GIVES(F, (src), sizeof(type), 0, sizeof(type), "is_relaxed=%d src=" SHARED " n=%zu", RELAXED(F), OF(src), \
	      sizeof(type))
#define GET3(F, t, offset, type)                                                                              \
	GIVES(F, (t, offset), sizeof(type), 0, sizeof(type), "is_relaxed=%d n=%zu src.thread=%d", RELAXED(F), \
	      sizeof(type), t)

#define LOCK(F, lck) MAKE(F, (lck), 0, 0, 0, "lck=" SHARED, OF(lck))
#define LOCK_ATTEMPT(F, lck) GIVES(F, (lck), 0, 0, 0, "lck=" SHARED " > result=%d", OF(lck), result)
#define LOCK_ALLOC(F) GIVES(F, (), 0, 0, 0, "> lck=" SHARED, OF(result))
#define ALLOC(F, n) GIVES(F, (n), n, 0, 0, "nbytes=%zu > newshrd_ptr=" SHARED, (size_t)(n), OF(result))
#define ALLOC2(F, blocks, n)                                                                                          \
	GIVES(F, (blocks, n), (blocks) * (n), 0, 0, "nblocks=%zu nbytes=%zu > newshrd_ptr=" SHARED, (size_t)(blocks), \
	      (size_t)(n), OF(result))
#define FREE(F, p) MAKE(F, (p), 0, 0, 0, "shrd_ptr=" SHARED, OF(p))

#define MEMPUT_NB(F, dst, src, n)                                                                          \
	GIVES(F, (dst, src, n), n, n, 0, "is_relaxed=1 dst=" SHARED " src=%p n=%zu > handle=%lu", OF(dst), \
	      (const void *)(src), (size_t)(n), result)
#define MEMGET_NB(F, dst, src, n)                                                                                \
	GIVES(F, (dst, src, n), n, 0, n, "is_relaxed=1 dst=%p src=" SHARED " n=%zu > handle=%lu", (void *)(dst), \
	      OF(src), (size_t)(n), result)
#define MEMSET_NB(F, dst, c, n) \
	GIVES(F, (dst, c, n), n, n, 0, "dst=" SHARED " c=%d n=%zu > handle=%lu", OF(dst), c, (size_t)(n), result)
#define MEMCPY_NB(F, dst, src, n)                                                                              \
	GIVES(F, (dst, src, n), n, 0, 0, "dst=" SHARED " src=" SHARED " n=%zu > handle=%lu", OF(dst), OF(src), \
	      (size_t)(n), result)
#define MEMPUT_NBI(F, dst, src, n)                                                                                \
	MAKE(F, (dst, src, n), n, n, 0, "is_relaxed=1 dst=" SHARED " src=%p n=%zu", OF(dst), (const void *)(src), \
	     (size_t)(n))
#define MEMGET_NBI(F, dst, src, n) \
	MAKE(F, (dst, src, n), n, 0, n, "is_relaxed=1 dst=%p src=" SHARED " n=%zu", (void *)(dst), OF(src), (size_t)(n))
#define MEMSET_NBI(F, dst, c, n) MEMSET(F, dst, c, n)
#define MEMCPY_NBI(F, dst, src, n) MEMCPY(F, dst, src, n)
#define SYNC(F, handle_given)                                                           \
	do {                                                                            \
		upc_handle_t given = handle_given;                                      \
		MAKE(F, (given), 0, 0, 0, "handle=%lu", given);                         \
	} while (0)
#define TRYSYNC(F, h) GIVES(F, (h), 0, 0, 0, "handle=%lu > result=%d", h, result)
#define TRYSYNCI(F) GIVES(F, (), 0, 0, 0, "> result=%d", result)

#define COLLECTIVE(F, dst, src, n)                                                                               \
	MAKE(F, (dst, src, n, FLAGS), n, 0, 0, "dst=" SHARED " src=" SHARED " nbytes=%zu upc_flags=%d", OF(dst), \
	     OF(src), (size_t)(n), FLAGS)
#define PERMUTE(F, dst, src, perm, n)                                                                             \
	MAKE(F, (dst, src, perm, n, FLAGS), n, 0, 0,                                                              \
	     "dst=" SHARED " src=" SHARED " perm=" SHARED " nbytes=%zu upc_flags=%d", OF(dst), OF(src), OF(perm), \
	     (size_t)(n), FLAGS)
#define REDUCE(F, dst, src, operation, nelems, blocks, ctype)                                                          \
	MAKE(F, (dst, src, operation, nelems, blocks, NULL, FLAGS), (nelems) * sizeof(ctype), 0, 0,                    \
	     "dst=" SHARED " src=" SHARED " upc_op=%d nelems=%zu blk_size=%zu func=0x0 upc_flags=%d type=%d", OF(dst), \
	     OF(src), operation, (size_t)(nelems), (size_t)(blocks), FLAGS, calls_reduction(#F))
/* gasp_upc_reduction_t of upc_all_reduceX. */
int calls_reduction(const char *function);

/* Noted before it is made: it does not return. */
#define EXIT(F, status) NOTE(F, 0, 0, 0, "status=%d", status)

#endif
