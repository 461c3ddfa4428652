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

/* How many a process has made of one, by one function. */
struct count_key {
	uint64_t of;
	uint32_t process, func;
};

struct made_count {
	UT_hash_handle hh;
	struct count_key key;
	uint64_t count;
};

struct number_key {
	uint64_t of, turn;
	int64_t color;
	uint32_t func, node; /* 0: of whichever */
};

struct made_number {
	UT_hash_handle hh;
	struct number_key key;
	uint32_t number;
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

/* The how-many-th is this? 0: no memory. */
static uint64_t turn_of(struct made_comms *made, const struct count_key *key)
{
	struct made_count *found;

	HASH_FIND(hh, made->counts, key, sizeof(*key), found);
	if (!found && HASH_COUNT(made->counts) < MADE_MOST)
		found = calloc(1, sizeof(*found));
	if (!found)
		return 0;
	if (!found->count) {
		found->key = *key;
		HASH_ADD(hh, made->counts, key, sizeof(found->key), found);
		if (!found->hh.tbl) {
			free(found);
			return 0;
		}
	}
	return ++found->count;
}

/* 0: no memory. */
static uint32_t number_of(struct made_comms *made, const struct number_key *key)
{
	struct made_number *found;

	HASH_FIND(hh, made->numbers, key, sizeof(*key), found);
	if (found)
		return found->number;
	found = HASH_COUNT(made->numbers) < MADE_MOST ? calloc(1, sizeof(*found)) : NULL;
	if (!found)
		return 0;
	found->key = *key;
	found->number = made->last + 1;
	HASH_ADD(hh, made->numbers, key, sizeof(found->key), found);
	if (!found->hh.tbl) {
		free(found);
		return 0;
	}
	return ++made->last;
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
			 uint32_t *number)
{
	const struct facts *facts = &sim->facts[span->probe];
	uint32_t process = sim->d->threads[span->thread].process;
	const struct count_key count = { of, process, facts->func };
	struct number_key key = { .of = of, .func = facts->func };

	*number = 0;
	if (!sim->processes[process].from_start || !facts->answers.count[WANT_COLOR])
		return 0;
	key.turn = turn_of(made, &count);
	if (!key.turn)
		return -ENOMEM;
	if (!fact_number(facts, WANT_COLOR, span, &key.color))
		return 0;
	if (facts->answers.count[WANT_NEAR])
		key.node = sim->d->processes[process].node;
	*number = number_of(made, &key);
	return *number ? 0 : -ENOMEM;
}

int made_note(struct made_comms *made, const struct sim *sim, const struct span *span, uint64_t of)
{
	uint32_t number;
	int64_t handle;
	int error = common_number(made, sim, span, of, &number);

	if (error || !fact_number(&sim->facts[span->probe], WANT_MADE, span, &handle))
		return error;
	return mean(made, sim->d->threads[span->thread].process, (uint64_t)handle, span->end,
		    number ? VALUE_MADE | number : VALUE_OWN | ++made->own);
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
	struct made_count *count, *after;
	struct made_number *number, *then;

	HASH_ITER (hh, made->handles, handle, next) {
		HASH_DEL(made->handles, handle);
		free(handle->meant);
		free(handle);
	}
	HASH_ITER (hh, made->counts, count, after) {
		HASH_DEL(made->counts, count);
		free(count);
	}
	HASH_ITER (hh, made->numbers, number, then) {
		HASH_DEL(made->numbers, number);
		free(number);
	}
}
