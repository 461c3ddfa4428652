/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window_comms.c - of which communicator the ranks are that accesses name.
 */
#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

#include "recording/communicators.h"

#define WINDOWS_MOST (1u << 16)

struct window_comm {
	struct {
		uint64_t handle;
		uint32_t process, zero;
	} key;
	uint32_t comm; /* index in the definitions; NO_INDEX: not known */
	UT_hash_handle hh;
};

static struct window_comm *find(const struct window_comms *windows, uint32_t process, uint64_t handle)
{
	struct window_comm *window, wanted = { .key = { handle, process, 0 } };

	HASH_FIND(hh, windows->by_handle, &wanted.key, sizeof(wanted.key), window);
	return window;
}

int window_comms_note(struct window_comms *windows, uint32_t process, uint64_t handle, uint32_t comm)
{
	struct window_comm *window = find(windows, process, handle);

	if (!window && HASH_COUNT(windows->by_handle) >= WINDOWS_MOST)
		return 0;
	if (!window) {
		window = calloc(1, sizeof(*window));
		if (!window)
			return -ENOMEM;
		window->key.handle = handle;
		window->key.process = process;
		HASH_ADD(hh, windows->by_handle, key, sizeof(window->key), window);
		if (!window->hh.tbl) {
			free(window);
			return -ENOMEM;
		}
	}
	window->comm = comm;
	return 0;
}

bool window_comms_find(const struct window_comms *windows, uint32_t process, uint64_t handle, uint32_t *comm)
{
	const struct window_comm *window = windows->by_handle ? find(windows, process, handle) : NULL;

	if (window)
		*comm = window->comm;
	return window;
}

void window_comms_free(struct window_comms *windows)
{
	struct window_comm *window, *next;

	HASH_ITER (hh, windows->by_handle, window, next) {
		HASH_DEL(windows->by_handle, window);
		free(window);
	}
}
