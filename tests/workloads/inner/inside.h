/* SPDX-License-Identifier: BSD-2-Clause */
/* A small runtime that is linked into its program: an allocation takes the lock that the program may take, too. */
#ifndef INSIDE_H
#define INSIDE_H

#include <stddef.h>

void inside_lock(int *lock);
void inside_unlock(int *lock);
void *inside_alloc(size_t size);
void inside_reduce(int *data, void (*op)(int *));

#endif
