/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - who holds a lock, as the lock itself says: a decoder of glibc's objects.
 *
 * Their layout is part of glibc's binary interface on 64-bit machines, since programs contain such objects, made by
 * initialisers that were compiled into them: it has been this since 2.25. Which type an object has is told by the
 * prototype of the function that waits for it.
 */
#include <string.h>

#include "waitgraph/waitgraph.h"

#define NOWHERE (-1)
#define FUTEXES 2

struct layout {
	const char *type;   /* of the function's first parameter */
	int holder;         /* int: the thread that has it */
	int futex[FUTEXES]; /* where threads that wait for it may sleep */
	int count, in,
		round; /* of a barrier, unsigned: needs so many; have come in all; had come when the last round ended */
};

static const struct layout layouts[] = {
	{ "pthread_mutex_t *", 8, { 0, NOWHERE }, NOWHERE, NOWHERE, NOWHERE },
	{ "pthread_rwlock_t *", 24, { 8, 12 }, NOWHERE, NOWHERE, NOWHERE },
	{ "pthread_barrier_t *", NOWHERE, { 4, 0 }, 8, 0, 4 },
};

static const struct layout *layout_of(const char *prototype)
{
	const char *open = strchr(prototype, '(');

	for (size_t i = 0; open && i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (!strncmp(open + 1, layouts[i].type, strlen(layouts[i].type)))
			return &layouts[i];
	return NULL;
}

static bool sleeps_at(const struct layout *layout, uint64_t futex, uint64_t object)
{
	for (int i = 0; i < FUTEXES; i++)
		if (layout->futex[i] != NOWHERE && futex == object + layout->futex[i])
			return true;
	return false;
}

static uint32_t word(uint64_t address, int offset, waits_read read, void *context)
{
	uint32_t value = 0;

	return offset != NOWHERE && read(context, address + offset, &value, sizeof(value)) ? value : 0;
}

struct lock_state lock_read(const char *prototype, uint64_t futex, uint64_t argument, bool known, bool certain,
			    waits_read read, void *context)
{
	const struct layout *layout = layout_of(prototype);
	struct lock_state state = { 0 };
	uint32_t in, round;

	if (!layout)
		return state;
	if (futex && known && sleeps_at(layout, futex, argument))
		state = (struct lock_state){ .address = argument, .certain = true };
	else if (futex && layout->futex[1] == NOWHERE) /* there is but one place in it to sleep at */
		state = (struct lock_state){ .address = futex - layout->futex[0], .certain = true };
	else if (known)
		state = (struct lock_state){ .address = argument, .certain = certain && !futex };
	else
		return state;
	state.is_barrier = layout->count != NOWHERE;
	state.holder = word(state.address, layout->holder, read, context);
	state.of = word(state.address, layout->count, read, context);
	in = word(state.address, layout->in, read, context);
	round = word(state.address, layout->round, read, context);
	if (state.of && in - round <= state.of)
		state.come = in - round;
	else
		state.of = 0;
	return state;
}
