/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * array.h - arrays that grow. `array` is the address of the pointer; what it points to comes from realloc.
 */
#ifndef GASPBPF_ARRAY_H
#define GASPBPF_ARRAY_H

#include <stddef.h>

/* What the two below do where there is no room. */
int array_grow(void *array, size_t *room, size_t needed, size_t size);
int array_double(void *array, size_t *room, size_t size);

/* Makes room for at least so many elements, twice as many as before if it must grow at all; new ones are zero. 0 or
 * -ENOMEM: it is as it was. */
static inline int array_reach(void *array, size_t *room, size_t needed, size_t size)
{
	return needed <= *room ? 0 : array_grow(array, room, needed, size);
}

/* Makes room for one more than are used; new elements are not zero. 0 or -ENOMEM. */
static inline int array_one_more(void *array, size_t *room, size_t used, size_t size)
{
	return used < *room ? 0 : array_double(array, room, size);
}

#endif
