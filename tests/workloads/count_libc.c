/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls of libc's allocator and of pthreads (LD_PRELOAD=libcount_libc.so).
 *
 * The real allocator is reached through glibc's other names for it (__libc_malloc and so on): looking it up would
 * itself allocate. Not seen here, but seen by a probe at the function's address: realloc(NULL) and aligned_alloc with
 * an alignment of 16 or less, which run malloc inside libc, and a thread's end, which frees its cache. The jobs under
 * test do neither inside their window.
 */
#include "count.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

const char *const count_library = "libc";

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

void *malloc(size_t size)
{
	TALLY(malloc, size, 0, 0);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	TALLY(calloc, count * size, 0, 0);
	return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	TALLY(realloc, size, 0, 0);
	return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	TALLY(aligned_alloc, size, 0, 0);
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	NEXT(posix_memalign);
	TALLY(posix_memalign, size, 0, 0);
	return next(block, alignment, size);
}

void free(void *block)
{
	TALLY(free, 0, 0, 0);
	__libc_free(block);
}

/* A function whose arguments do not matter for the count. */
#define PASS(FUNCTION, PARAMETERS, ARGUMENTS)           \
	int FUNCTION PARAMETERS                         \
	{                                               \
		NEXT(FUNCTION);                         \
		TALLY(FUNCTION, 0, 0, 0);               \
		return next ARGUMENTS;                  \
	}

/* Condition variables have an older form under the same name, which a plain lookup might find. */
#define PASS_VERSION(FUNCTION, VERSION, PARAMETERS, ARGUMENTS)  \
	int FUNCTION PARAMETERS                                 \
	{                                                       \
		static __typeof__(FUNCTION) *next;              \
		if (!next)                                      \
			next = count_next(#FUNCTION, VERSION);  \
		TALLY(FUNCTION, 0, 0, 0);                       \
		return next ARGUMENTS;                          \
	}

PASS(pthread_mutex_lock, (pthread_mutex_t *m), (m))
PASS(pthread_mutex_trylock, (pthread_mutex_t *m), (m))
PASS(pthread_mutex_timedlock, (pthread_mutex_t *m, const struct timespec *until), (m, until))
PASS(pthread_mutex_unlock, (pthread_mutex_t *m), (m))
PASS(pthread_barrier_wait, (pthread_barrier_t *b), (b))
PASS(pthread_rwlock_rdlock, (pthread_rwlock_t *l), (l))
PASS(pthread_rwlock_wrlock, (pthread_rwlock_t *l), (l))
PASS(pthread_rwlock_tryrdlock, (pthread_rwlock_t *l), (l))
PASS(pthread_rwlock_trywrlock, (pthread_rwlock_t *l), (l))
PASS(pthread_rwlock_unlock, (pthread_rwlock_t *l), (l))
PASS(pthread_create, (pthread_t *thread, const pthread_attr_t *a, void *(*start)(void *), void *argument),
     (thread, a, start, argument))
PASS(pthread_join, (pthread_t thread, void **result), (thread, result))
PASS_VERSION(pthread_cond_wait, "GLIBC_2.3.2", (pthread_cond_t *c, pthread_mutex_t *m), (c, m))
PASS_VERSION(pthread_cond_timedwait, "GLIBC_2.3.2",
	     (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *until), (c, m, until))
PASS_VERSION(pthread_cond_signal, "GLIBC_2.3.2", (pthread_cond_t *c), (c))
PASS_VERSION(pthread_cond_broadcast, "GLIBC_2.3.2", (pthread_cond_t *c), (c))
