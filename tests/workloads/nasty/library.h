/* SPDX-License-Identifier: BSD-2-Clause */
/* library.h - the observed library of the nasty processes: one function for each way in which a call can go
 * (nasty.model). */
#ifndef NASTY_LIBRARY_H
#define NASTY_LIBRARY_H

#include <semaphore.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spin {
	volatile int entered, leave; /* set by the call; set by a signal's handler */
};

long nasty_leaf(long n);                               /* 3 n + 1; short */
long nasty_plain(long n);                              /* n + 7; calls others, none of them the user's */
long nasty_spin(struct spin *spin);                    /* a leaf that lasts until spin->leave */
long nasty_call(long (*f)(void *), void *argument);    /* what f() returns, plus 1 */
void nasty_sort(long *values, long n, int (*order)(const void *, const void *));
long nasty_wait(sem_t *semaphore);                     /* a cancellation point: sem_wait() */
void nasty_set_handler(long (*handler)(long));
long nasty_trigger(long n);                            /* what the handler that was set returns for n */

#ifdef __cplusplus
}
#endif

#endif
