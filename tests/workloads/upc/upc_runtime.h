/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program compiled for this stand-in UPC runtime refers to. README.md says what it is and what it is not. */
#ifndef WORKLOADS_UPC_RUNTIME_H
#define WORKLOADS_UPC_RUNTIME_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A pointer-to-shared: an offset in the thread's shared area, a thread, and a phase. Null is all 0: no object lies at
 *offset 0. How the three are stored is chosen when the runtime is built, and a struct of the name below tells
 *debuggers, as in GNU UPC:
 *
 *	(nothing)        64 bits: 34 of address first (the highest), 10 of thread, 20 of phase; UPC_PHASE_BITS and
 *UPC_THREAD_BITS say otherwise UPC_PACKED_LAST  64 bits: 20 of phase first, 10 of thread, 34 of address UPC_STRUCT a
 *struct of 16 bytes, address first
 */
#ifdef UPC_STRUCT
typedef struct shared_ptr_struct {
	uint64_t vaddr;
	uint32_t thread, phase;
} upc_shared_ptr;

static inline uint64_t upc_address(upc_shared_ptr p) { return p.vaddr; }
static inline int upc_thread(upc_shared_ptr p) { return (int)p.thread; }
static inline uint64_t upc_phase(upc_shared_ptr p) { return p.phase; }
static inline upc_shared_ptr upc_pointer(uint64_t address, int thread, uint64_t phase)
{
	return (upc_shared_ptr){ address, (uint32_t)thread, (uint32_t)phase };
}
typedef struct shared_ptr_struct upc_debug_ptr;
#elif defined(UPC_PACKED_LAST)
typedef uint64_t upc_shared_ptr;
typedef struct shared_ptr_struct {
	unsigned int phase : 20, thread : 10;
	unsigned long long vaddr : 34;
} upc_debug_ptr;

static inline uint64_t upc_address(upc_shared_ptr p) { return p & 0x3ffffffff; }
static inline int upc_thread(upc_shared_ptr p) { return (int)(p >> 34 & 0x3ff); }
static inline uint64_t upc_phase(upc_shared_ptr p) { return p >> 44; }
static inline upc_shared_ptr upc_pointer(uint64_t address, int thread, uint64_t phase)
{
	return phase << 44 | (uint64_t)thread << 34 | address;
}
#else
#ifndef UPC_PHASE_BITS
#define UPC_PHASE_BITS  20
#define UPC_THREAD_BITS 10
#endif
#define UPC_BELOW_ADDRESS (UPC_PHASE_BITS + UPC_THREAD_BITS)
typedef uint64_t upc_shared_ptr;
typedef struct shared_ptr_struct {
	unsigned long long vaddr : 64 - UPC_BELOW_ADDRESS;
	unsigned int thread : UPC_THREAD_BITS, phase : UPC_PHASE_BITS;
} upc_debug_ptr;

static inline uint64_t upc_address(upc_shared_ptr p) { return p >> UPC_BELOW_ADDRESS; }
static inline int upc_thread(upc_shared_ptr p) { return (int)(p >> UPC_PHASE_BITS & ((1u << UPC_THREAD_BITS) - 1)); }
static inline uint64_t upc_phase(upc_shared_ptr p) { return p & ((1u << UPC_PHASE_BITS) - 1); }
static inline upc_shared_ptr upc_pointer(uint64_t address, int thread, uint64_t phase)
{
	return address << UPC_BELOW_ADDRESS | (uint64_t)thread << UPC_PHASE_BITS | phase;
}
#endif
#define UPC_NULL upc_pointer(0, 0, 0)
static inline int upc_is_null(upc_shared_ptr p) { return !upc_address(p) && !upc_thread(p) && !upc_phase(p); }

/* UPC threads are processes, or, with UPC_PTHREADS, threads of one process: then what belongs to each is marked so. */
#ifdef UPC_PTHREADS
#define UPC_OWN __thread
#else
#define UPC_OWN
#endif

#define UPC_UNNAMED     INT_MIN         /* barrier without an id */

/* Flags of collectives: wait for all threads before and after. */
#define UPC_IN_ALLSYNC  1
#define UPC_OUT_ALLSYNC 2

typedef enum { UPC_ADD, UPC_MULT, UPC_MIN, UPC_MAX } upc_op_t;
typedef unsigned long upc_handle_t;

extern UPC_OWN int MYTHREAD;
extern int THREADS;

/* The program: runs once on every thread. */
int upc_main(int argc, char **argv);

void __upc_notify(int id);
void __upc_wait(int id);
void __upc_barrier(int id);             /* notify, then wait */
void __upc_fence(void);

upc_shared_ptr upc_global_lock_alloc(void);
upc_shared_ptr upc_all_lock_alloc(void);
void upc_lock(upc_shared_ptr lock);
int upc_lock_attempt(upc_shared_ptr lock);
void upc_unlock(upc_shared_ptr lock);
void upc_lock_free(upc_shared_ptr lock);
void upc_all_lock_free(upc_shared_ptr lock);

upc_shared_ptr upc_alloc(size_t nbytes);
upc_shared_ptr upc_global_alloc(size_t nblocks, size_t nbytes);
upc_shared_ptr upc_all_alloc(size_t nblocks, size_t nbytes);
void upc_free(upc_shared_ptr block);
void upc_all_free(upc_shared_ptr block);

void upc_memcpy(upc_shared_ptr dest, upc_shared_ptr source, size_t n);
void upc_memget(void *dest, upc_shared_ptr source, size_t n);
void upc_memput(upc_shared_ptr dest, const void *source, size_t n);
void upc_memset(upc_shared_ptr dest, int c, size_t n);

upc_handle_t upc_memcpy_nb(upc_shared_ptr dest, upc_shared_ptr source, size_t n);
upc_handle_t upc_memget_nb(void *dest, upc_shared_ptr source, size_t n);
upc_handle_t upc_memput_nb(upc_shared_ptr dest, const void *source, size_t n);
upc_handle_t upc_memset_nb(upc_shared_ptr dest, int c, size_t n);
void upc_sync(upc_handle_t handle);
int upc_sync_attempt(upc_handle_t handle);
void upc_memget_nbi(void *dest, upc_shared_ptr source, size_t n);
void upc_memput_nbi(upc_shared_ptr dest, const void *source, size_t n);
void upc_memcpy_nbi(upc_shared_ptr dest, upc_shared_ptr source, size_t n);
void upc_memset_nbi(upc_shared_ptr dest, int c, size_t n);
void upc_synci(void);
int upc_synci_attempt(void);

/* Single values. The letter pairs are machine modes: qi 1 byte, hi 2, si 4, di 8, ti 16, sf float, df double, xf long
 * double. */
#define UPC_ACCESS_MODES(_)                                                                     \
	_(qi, uint8_t) _(hi, uint16_t) _(si, uint32_t) _(di, uint64_t) _(ti, unsigned __int128) \
	_(sf, float) _(df, double) _(xf, long double)
#define UPC_DECLARE(mode, type)                                 \
	type __get##mode##2(upc_shared_ptr from);               \
	type __gets##mode##2(upc_shared_ptr from);              \
	void __put##mode##2(upc_shared_ptr to, type value);     \
	void __puts##mode##2(upc_shared_ptr to, type value);    \
	type __get##mode##3(long thread, size_t offset);        \
	type __gets##mode##3(long thread, size_t offset);       \
	void __put##mode##3(long thread, size_t offset, type value);    \
	void __puts##mode##3(long thread, size_t offset, type value);
UPC_ACCESS_MODES(UPC_DECLARE)
void __getblk3(void *dest, upc_shared_ptr source, size_t n);
void __getsblk3(void *dest, upc_shared_ptr source, size_t n);
void __putblk3(upc_shared_ptr dest, void *source, size_t n);
void __putsblk3(upc_shared_ptr dest, void *source, size_t n);
void __copyblk3(upc_shared_ptr dest, upc_shared_ptr source, size_t n);
void __copysblk3(upc_shared_ptr dest, upc_shared_ptr source, size_t n);
/* The same as clang-upc calls them: thread and offset apart. */
void __getblk4(long thread, size_t offset, void *dest, size_t n);
void __getsblk4(long thread, size_t offset, void *dest, size_t n);
void __putblk4(void *source, long thread, size_t offset, size_t n);
void __putsblk4(void *source, long thread, size_t offset, size_t n);
void __copyblk5(long dthread, size_t doffset, long sthread, size_t soffset, size_t n);
void __copysblk5(long dthread, size_t doffset, long sthread, size_t soffset, size_t n);

void upc_all_broadcast(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags);
void upc_all_scatter(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags);
void upc_all_gather(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags);
void upc_all_gather_all(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags);
void upc_all_exchange(upc_shared_ptr dest, upc_shared_ptr source, size_t nbytes, int flags);
void upc_all_permute(upc_shared_ptr dest, upc_shared_ptr source, upc_shared_ptr permutation, size_t nbytes, int flags);

#define UPC_REDUCTIONS(_)                                                                               \
	_(C, signed char)                                                                               \
	_(UC, unsigned char) _(S, short) _(US, unsigned short) _(I, int) _(UI, unsigned int) _(L, long) \
		_(UL, unsigned long) _(F, float) _(D, double) _(LD, long double)
#define UPC_DECLARE_REDUCTION(letter, type)                                                                        \
	void upc_all_reduce##letter(upc_shared_ptr dest, upc_shared_ptr source, upc_op_t op, size_t nelems,        \
				    size_t blk_size, type (*func)(type, type), int flags);                         \
	void upc_all_prefix_reduce##letter(upc_shared_ptr dest, upc_shared_ptr source, upc_op_t op, size_t nelems, \
					   size_t blk_size, type (*func)(type, type), int flags);
UPC_REDUCTIONS(UPC_DECLARE_REDUCTION)

void upc_global_exit(int status) __attribute__((noreturn));
void __upc_exit(int status) __attribute__((noreturn));

/* Inside the runtime. */
void *upc_local_address(upc_shared_ptr p);      /* where this process has the object; a wild pointer ends the program */
void upc_wait_for_all(void);                    /* a barrier of the runtime's own, which no program called */
void upc_complain(const char *what) __attribute__((noreturn));
upc_shared_ptr upc_all_agree(upc_shared_ptr of_thread_0);

#endif
