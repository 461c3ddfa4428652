/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dictionary.c - the different values of one column of a row group, each with its number.
 *
 * A text stands in the page behind its length, 4 bytes, a number as its 8 bytes, the lowest one first: what Parquet
 * calls PLAIN. They are told from each other by these bytes.
 */
#include "export/parquet/dictionary.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define SLOTS_FIRST 64

/* FNV-1a, 64 bits; its upper half is mixed into the lower one. */
static size_t hash_of(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return (size_t)(hash ^ hash >> 32);
}

static size_t end_of(const struct dictionary *d, uint32_t code)
{
	return code + 1 < d->count ? d->places[code + 1] : d->page.size;
}

/* Where it stands, or is to stand. There is a free slot. */
static uint32_t *slot_of(const struct dictionary *d, const uint8_t *bytes, size_t size)
{
	size_t at = hash_of(bytes, size) & (d->nslots - 1);

	for (;; at = (at + 1) & (d->nslots - 1)) {
		uint32_t code = d->slots[at] - 1;

		if (!d->slots[at] ||
		    (end_of(d, code) - d->places[code] == size && !memcmp(d->page.data + d->places[code], bytes, size)))
			return &d->slots[at];
	}
}

static bool grow(struct dictionary *d)
{
	size_t count = d->nslots ? 2 * d->nslots : SLOTS_FIRST;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	free(d->slots);
	d->slots = slots;
	d->nslots = count;
	for (uint32_t code = 0; code < d->count; code++)
		*slot_of(d, d->page.data + d->places[code], end_of(d, code) - d->places[code]) = code + 1;
	return true;
}

static uint32_t code_of(struct dictionary *d, const void *bytes, size_t size)
{
	uint32_t *slot;

	if (2 * (size_t)d->count >= d->nslots && !grow(d))
		return NO_CODE;
	slot = slot_of(d, bytes, size);
	if (*slot)
		return *slot - 1;
	if (d->page.size + size > INT32_MAX || array_one_more(&d->places, &d->nplaces, d->count, sizeof(*d->places)))
		return NO_CODE;
	d->places[d->count] = (uint32_t)d->page.size;
	buffer_put(&d->page, bytes, size);
	if (d->page.failed)
		return NO_CODE;
	*slot = d->count + 1;
	return d->count++;
}

uint32_t dictionary_number(struct dictionary *d, int64_t number)
{
	uint64_t bytes = htole64((uint64_t)number);

	return code_of(d, &bytes, sizeof(bytes));
}

uint32_t dictionary_text(struct dictionary *d, const char *text)
{
	uint32_t length = 0;

	buffer_clear(&d->clean);
	buffer_put(&d->clean, &length, sizeof(length));
	buffer_put_utf8(&d->clean, text);
	if (d->clean.failed)
		return NO_CODE;
	length = htole32((uint32_t)(d->clean.size - sizeof(length)));
	memcpy(d->clean.data, &length, sizeof(length));
	return code_of(d, d->clean.data, d->clean.size);
}

static struct cursor text_of(const struct dictionary *d, uint32_t code)
{
	return (struct cursor){ d->page.data + d->places[code] + sizeof(uint32_t), d->page.data + end_of(d, code),
				false };
}

static bool is_before(const struct cursor *a, const struct cursor *b)
{
	size_t left = a->end - a->at, right = b->end - b->at;
	int order = memcmp(a->at, b->at, left < right ? left : right);

	return order ? order < 0 : left < right;
}

void dictionary_bounds(const struct dictionary *d, struct cursor *least, struct cursor *most)
{
	*least = *most = text_of(d, 0);
	for (uint32_t code = 1; code < d->count; code++) {
		struct cursor text = text_of(d, code);

		if (is_before(&text, least))
			*least = text;
		if (is_before(most, &text))
			*most = text;
	}
}

void dictionary_clear(struct dictionary *d)
{
	if (d->slots)
		memset(d->slots, 0, d->nslots * sizeof(*d->slots));
	buffer_clear(&d->page);
	d->count = 0;
}

void dictionary_free(struct dictionary *d)
{
	buffer_free(&d->page);
	buffer_free(&d->clean);
	free(d->places);
	free(d->slots);
	*d = (struct dictionary){ 0 };
}
