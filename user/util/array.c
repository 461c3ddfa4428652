/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static int resize(void *array, size_t *room, size_t more, size_t size)
{
	void **data = array, *larger = reallocarray(*data, more, size);

	if (!larger)
		return -ENOMEM;
	*data = larger;
	*room = more;
	return 0;
}

int array_grow(void *array, size_t *room, size_t needed, size_t size)
{
	size_t before = *room;
	void **data = array;

	if (resize(array, room, needed < 2 * before ? 2 * before : needed, size))
		return -ENOMEM;
	memset((char *)*data + before * size, 0, (*room - before) * size);
	return 0;
}

int array_double(void *array, size_t *room, size_t size)
{
	return resize(array, room, *room ? 2 * *room : 64, size);
}
