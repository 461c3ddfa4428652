/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows.c - which handle of a process is which window of the job, and the epochs in which it is accessed.
 *
 * A handle means something in its process only. All members make a window together, so the n-th that a process makes
 * with a communicator is the n-th of the others, too. Of a job that was joined later that was not seen: there a
 * process's only window is that of the others; of several of them nothing is known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/posts.h"
#include "util/array.h"

#define WINDOWS_MOST (1u << 18)
#define TARGETS_MOST 1024 /* of an epoch */
#define EPOCHS_MOST 64    /* of a process at a time */
#define UNSEEN UINT64_MAX /* no communicator */

static struct window *find(const struct windows *windows, uint32_t process, uint32_t model, uint64_t handle)
{
	struct window *window, wanted = { .key = { handle, process, model } };

	HASH_FIND(hh, windows->table, &wanted.key, sizeof(wanted.key), window);
	return window;
}

static struct made *find_made(const struct windows *windows, uint64_t comm, uint32_t process, uint32_t model)
{
	struct made *made, wanted = { .key = { comm, process, model } };

	HASH_FIND(hh, windows->made, &wanted.key, sizeof(wanted.key), made);
	return made;
}

/* The number of the window that a process makes now with the communicator; 0: out of memory. */
static uint64_t next_number(struct windows *windows, uint64_t comm, uint32_t process, uint32_t model)
{
	struct made *made = find_made(windows, comm, process, model);

	if (!made) {
		made = calloc(1, sizeof(*made));
		if (!made)
			return 0;
		made->key.comm = comm;
		made->key.process = process;
		made->key.model = model;
		HASH_ADD(hh, windows->made, key, sizeof(made->key), made);
		if (!made->hh.tbl) {
			free(made);
			return 0;
		}
	}
	return ++made->windows;
}

int windows_note(struct windows *windows, uint32_t process, uint32_t model, uint64_t handle, bool made)
{
	struct window *window = find(windows, process, model, handle);
	uint64_t number;

	if (window || HASH_COUNT(windows->table) >= WINDOWS_MOST)
		return 0;
	window = calloc(1, sizeof(*window));
	if (!window)
		return -ENOMEM;
	window->key.handle = handle;
	window->key.process = process;
	window->key.model = model;
	window->is.model = model;
	HASH_ADD(hh, windows->table, key, sizeof(window->key), window);
	if (!window->hh.tbl) {
		free(window);
		return -ENOMEM;
	}
	if (made) {
		window->made = true; /* it will be, before anybody uses it */
		return 0;
	}
	number = next_number(windows, UNSEEN, process, model);
	if (number > 1) /* which is which cannot be told */
		number = next_number(windows, UNSEEN, NO_INDEX, model);
	return number ? 0 : -ENOMEM;
}

int windows_make(struct sim *sim, struct windows *windows, const struct op *op, const struct span *span,
		 uint64_t handle)
{
	uint32_t process = sim->d->threads[op->thread].process;
	struct window *window = find(windows, process, op->facts->model, handle);
	uint64_t comm;

	if (!window || !groups_comm_value(sim, op->facts, span, &comm))
		return 0;
	window->made = true;
	window->is.comm = comm;
	window->is.number = next_number(windows, comm, process, op->facts->model);
	window->members = groups_members(sim, span);
	return window->is.number ? 0 : -ENOMEM;
}

const struct window *windows_find(const struct windows *windows, uint32_t process, uint32_t model, uint64_t handle)
{
	const struct window *window = find(windows, process, model, handle);

	if (!window || window->is.number)
		return window;
	return window->made || find_made(windows, UNSEEN, NO_INDEX, model) ? NULL : window;
}

uint32_t windows_process(const struct sim *sim, const struct window *window, uint32_t process, int64_t rank)
{
	if (window->is.number && !window->members)
		return NO_INDEX;
	return groups_process_among(sim, process, window->members, rank);
}

void windows_close(struct windows *windows)
{
	struct window *window, *next;
	struct made *made, *after;

	HASH_ITER (hh, windows->table, window, next) {
		HASH_DEL(windows->table, window);
		free(window);
	}
	HASH_ITER (hh, windows->made, made, after) {
		HASH_DEL(windows->made, made);
		free(made);
	}
}

/* --- epochs ------------------------------------------------------------------- */

const struct post_key no_lock;

void epoch_leave(struct epoch *epoch)
{
	if (!epoch || --epoch->users)
		return;
	free(epoch->targets);
	free(epoch);
}

static bool same_key(const struct post_key *a, const struct post_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

struct epoch **epoch_find(const struct posts *posts, uint32_t process, const struct window *window,
			  const struct post_key *lock)
{
	struct epoch **at = &posts->epochs[process];

	while (*at && ((*at)->window != window || !same_key(&(*at)->lock, lock)))
		at = &(*at)->next;
	return at;
}

void epoch_close(struct epoch **at)
{
	struct epoch *epoch = *at;

	*at = epoch->next;
	epoch->over = true;
	epoch_leave(epoch);
}

struct epoch *epoch_open(struct posts *posts, uint32_t process, const struct window *window,
			 const struct post_key *lock, const struct op *op)
{
	struct epoch **at = epoch_find(posts, process, window, lock), *epoch;
	unsigned open = 0;

	if (*at)
		epoch_close(at); /* its end was not seen */
	for (at = &posts->epochs[process]; *at && ++open < EPOCHS_MOST; at = &(*at)->next)
		;
	if (*at)
		epoch_close(at);
	epoch = calloc(1, sizeof(*epoch));
	if (!epoch)
		return NULL;
	epoch->users = 1;
	epoch->window = window;
	epoch->lock = *lock;
	epoch->began = op_call(op);
	epoch->next = posts->epochs[process];
	posts->epochs[process] = epoch;
	return epoch;
}

int epoch_add_target(struct epoch *epoch, uint32_t process)
{
	for (size_t i = epoch->ntargets; i--;)
		if (epoch->targets[i] == process)
			return 0;
	if (epoch->ntargets >= TARGETS_MOST)
		return 0;
	if (array_one_more(&epoch->targets, &epoch->room, epoch->ntargets, sizeof(*epoch->targets)))
		return -ENOMEM;
	epoch->targets[epoch->ntargets++] = process;
	return 0;
}
