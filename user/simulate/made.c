/* SPDX-License-Identifier: BSD-2-Clause */
/* made.c - see made.h. */
#include "simulate/made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "util/array.h"

/* No handle, and no number of a library's, has these bits. */
#define VALUE_MADE (1ull << 63) /* the same in all processes */
#define VALUE_OWN (1ull << 62)  /* what was made there, which may be something else in other processes */
#define MADE_MOST (1u << 20)

struct handle_key {
	uint64_t handle;
	uint32_t process, zero;
};

/* What it meant, from when on: handles are used again. */
struct made_handle {
	UT_hash_handle hh;
	struct handle_key key;
	struct meant {
		uint64_t since, value;
	} * meant; /* ascending */
	size_t count, room;
};

/* How many a process has made of one, by one function (turn 0); and what the turn-th of all of them is. */
struct turn_key {
	uint64_t of, turn;
	int64_t color;
	uint32_t func, node;    /* 0: of whichever */
	uint32_t process, zero; /* turn 0: whose count it is */
};

struct made_turn {
	UT_hash_handle hh;
	struct turn_key key;
	uint64_t number;
};

bool made_is_handle(const struct facts *facts, const struct span *span)
{
	int64_t number;

	return facts->answers.count[WANT_ID] && facts->answers.count[WANT_HANDLE] &&
	       !fact_number(facts, WANT_ID, span, &number);
}

bool made_is_known(uint64_t value)
{
	return value & VALUE_MADE;
}

/* The number that is kept for it, 0 at first. NULL: no memory. */
static uint64_t *number_of(struct made_comms *made, const struct turn_key *key)
{
	struct made_turn *found;

	HASH_FIND(hh, made->turns, key, sizeof(*key), found);
	if (found)
		return &found->number;
	found = HASH_COUNT(made->turns) < MADE_MOST ? calloc(1, sizeof(*found)) : NULL;
	if (!found)
		return NULL;
	found->key = *key;
	HASH_ADD(hh, made->turns, key, sizeof(found->key), found);
	if (found->hh.tbl)
		return &found->number;
	free(found);
	return NULL;
}

static int mean(struct made_comms *made, uint32_t process, uint64_t handle, uint64_t since, uint64_t value)
{
	const struct handle_key key = { handle, process, 0 };
	struct made_handle *found;

	HASH_FIND(hh, made->handles, &key, sizeof(key), found);
	if (!found) {
		found = HASH_COUNT(made->handles) < MADE_MOST ? calloc(1, sizeof(*found)) : NULL;
		if (!found)
			return -ENOMEM;
		found->key = key;
		HASH_ADD(hh, made->handles, key, sizeof(found->key), found);
		if (!found->hh.tbl) {
			free(found);
			return -ENOMEM;
		}
	}
	if (array_one_more(&found->meant, &found->room, found->count, sizeof(*found->meant)))
		return -ENOMEM;
	found->meant[found->count++] = (struct meant){ since, value };
	return 0;
}

/* What is the same for it in all processes. 0: that cannot be told, as others may have made more before they were
 * observed, or not all of the old one's members are in this one. */
static int common_number(struct made_comms *made, const struct sim *sim, const struct span *span, uint64_t of,
			 uint64_t *number)
{
	const struct facts *facts = &sim->facts[span->probe];
	uint32_t process = sim->d->threads[span->thread].process;
	struct turn_key key = { .of = of, .func = facts->func, .process = process };
	uint64_t *turn, *known;

	*number = 0;
	if (!sim->processes[process].from_start || !facts->answers.count[WANT_COLOR])
		return 0;
	turn = number_of(made, &key);
	if (!turn)
		return -ENOMEM;
	key.turn = ++*turn;
	key.process = 0;
	if (!fact_number(facts, WANT_COLOR, span, &key.color))
		return 0;
	if (facts->answers.count[WANT_NEAR])
		key.node = sim->d->processes[process].node;
	known = number_of(made, &key);
	if (!known)
		return -ENOMEM;
	if (!*known)
		*known = VALUE_MADE | ++made->last;
	*number = *known;
	return 0;
}

int made_note(struct made_comms *made, const struct sim *sim, const struct span *span, uint64_t of)
{
	uint64_t number;
	int64_t handle;
	int error = common_number(made, sim, span, of, &number);

	if (error || !fact_number(&sim->facts[span->probe], WANT_MADE, span, &handle))
		return error;
	return mean(made, sim->d->threads[span->thread].process, (uint64_t)handle, span->end,
		    number ?: VALUE_OWN | ++made->last);
}

bool made_find(const struct made_comms *made, uint32_t process, uint64_t handle, uint64_t time, uint64_t *value)
{
	const struct handle_key key = { handle, process, 0 };
	const struct made_handle *found;

	HASH_FIND(hh, made->handles, &key, sizeof(key), found);
	for (size_t i = found ? found->count : 0; i--;)
		if (found->meant[i].since <= time) {
			*value = found->meant[i].value;
			return true;
		}
	return false;
}

void made_free(struct made_comms *made)
{
	struct made_handle *handle, *next;
	struct made_turn *turn, *after;

	HASH_ITER (hh, made->handles, handle, next) {
		HASH_DEL(made->handles, handle);
		free(handle->meant);
		free(handle);
	}
	HASH_ITER (hh, made->turns, turn, after) {
		HASH_DEL(made->turns, turn);
		free(turn);
	}
}
