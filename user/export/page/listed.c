/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listed.c - different texts, each with its number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "export/page/page.h"
#include "util/array.h"

struct listed_text {
	UT_hash_handle hh;
	uint32_t number;
	char text[];
};

uint32_t listed_number(struct listed *l, const char *text, size_t length, size_t most, int *error)
{
	struct listed_text *known;

	HASH_FIND(hh, l->by_text, text, length, known);
	if (known)
		return known->number;
	if (l->count >= most)
		return NO_INDEX;
	known = calloc(1, sizeof(*known) + length + 1);
	if (!known || array_one_more(&l->all, &l->room, l->count, sizeof(*l->all))) {
		free(known);
		*error = -ENOMEM;
		return NO_INDEX;
	}
	memcpy(known->text, text, length);
	known->number = l->count;
	HASH_ADD_KEYPTR(hh, l->by_text, known->text, length, known);
	if (!known->hh.tbl) {
		free(known);
		*error = -ENOMEM;
		return NO_INDEX;
	}
	l->all[l->count] = known;
	return l->count++;
}

void listed_json(const struct listed *l, struct json *j)
{
	json_array(j);
	for (size_t i = 0; i < l->count; i++)
		json_string(j, l->all[i]->text);
	json_end_array(j);
}

void listed_free(struct listed *l)
{
	struct listed_text *text, *next;

	HASH_ITER (hh, l->by_text, text, next) {
		HASH_DEL(l->by_text, text);
		free(text);
	}
	free(l->all);
	*l = (struct listed){ 0 };
}
