/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c - which event a call is of: a number for each name of each model.
 */
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "account/account.h"

struct event_name {
	UT_hash_handle hh;
	uint32_t number;
	char key[]; /* event, model and function, each with its end, and 'i' for inner calls */
};

struct event_key event_key_of(const struct def_probe *probe, bool inner)
{
	return (struct event_key){
		.event = probe->event ?: "?",
		.model = probe->model,
		.function = probe->marks & MARK_EACH ? probe->symbol : NULL,
		.inner = inner,
	};
}

static char *append(char *at, const char *text)
{
	return stpcpy(at, text ?: "") + 1;
}

static size_t length_of(const char *text)
{
	return text ? strlen(text) : 0;
}

uint32_t event_names_number(struct event_names *names, const struct event_key *key)
{
	size_t room = length_of(key->event) + length_of(key->model) + length_of(key->function) + 4, size;
	struct event_name *name = malloc(sizeof(*name) + room), *known;
	char *end;

	if (!name)
		return NO_INDEX;
	end = append(append(append(name->key, key->event), key->model), key->function);
	if (key->inner)
		*end++ = 'i';
	size = end - name->key;
	HASH_FIND(hh, names->by_key, name->key, size, known);
	if (known) {
		free(name);
		return known->number;
	}
	name->number = names->count;
	HASH_ADD_KEYPTR(hh, names->by_key, name->key, size, name);
	if (!name->hh.tbl) {
		free(name);
		return NO_INDEX;
	}
	return names->count++;
}

void event_names_free(struct event_names *names)
{
	struct event_name *name, *next;

	HASH_ITER (hh, names->by_key, name, next) {
		HASH_DEL(names->by_key, name);
		free(name);
	}
	names->count = 0;
}
