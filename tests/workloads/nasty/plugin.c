/* SPDX-License-Identifier: BSD-2-Clause */
/* plugin.c - a library that nasty processes load late: makes calls, and can cancel a thread. In C and in C++, there
 * with exceptions. */
#include "library.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

static long inner(void *n)
{
	long result = nasty_leaf((long)n) ? 4 : 0;

#ifdef __cplusplus
	throw result;
#endif
	return result;
}

/* n calls of nasty_leaf() and of nasty_call(): 5 n. */
long plugin_work(long n)
{
	long total = 0;

	for (long i = 0; i < n; i++) {
#ifdef __cplusplus
		try {
			nasty_call(inner, (void *)i);
		} catch (long result) {
			total += result + 1;
		}
#else
		total += nasty_call(inner, (void *)i);
#endif
	}
	return total;
}

int plugin_cancel(pthread_t thread)
{
	return pthread_cancel(thread);
}

#ifdef __cplusplus
}
#endif
