/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * texts.c - what stands behind an address, by process, address and time.
 */
#include <stdlib.h>
#include <uthash.h>

#include "recording/recording.h"

#define CHANGES_MOST 4096 /* looked back over, of one address */

struct text_key {
	uint64_t address;
	uint32_t process, zero;
};

struct text_record {
	struct text_key key;
	uint32_t last; /* the latest entry */
	UT_hash_handle hh;
};

struct texts {
	const struct definitions *d;
	struct text_record *records;
	uint32_t *before; /* by entry: the one before it of the same key; NO_INDEX: none */
	size_t known, room;
};

struct texts *texts_new(const struct definitions *d)
{
	struct texts *texts = calloc(1, sizeof(*texts));

	if (texts)
		texts->d = d;
	return texts;
}

static struct text_record *find(const struct texts *texts, uint32_t process, uint64_t address)
{
	struct text_key key = { .address = address, .process = process };
	struct text_record *record;

	HASH_FIND(hh, texts->records, &key, sizeof(key), record);
	return record;
}

/* Learns the entries that are new. Those that find no memory stay unknown. */
static void learn(struct texts *texts)
{
	if (texts->room < texts->d->ntexts) {
		size_t room = texts->d->ntexts * 2;
		uint32_t *grown = realloc(texts->before, room * sizeof(*grown));

		if (!grown)
			return;
		texts->before = grown;
		texts->room = room;
	}
	for (; texts->known < texts->d->ntexts; texts->known++) {
		const struct def_text *text = &texts->d->texts[texts->known];
		struct text_record *record = find(texts, text->process, text->address);

		texts->before[texts->known] = record ? record->last : NO_INDEX;
		if (!record) {
			record = calloc(1, sizeof(*record));
			if (!record)
				return;
			record->key = (struct text_key){ .address = text->address, .process = text->process };
			HASH_ADD(hh, texts->records, key, sizeof(record->key), record);
			if (!record->hh.tbl) {
				free(record);
				return;
			}
		}
		record->last = texts->known;
	}
}

uint32_t texts_entry(struct texts *texts, uint32_t process, uint64_t address, uint64_t time)
{
	const struct text_record *record;
	uint32_t at;

	if (texts->known < texts->d->ntexts)
		learn(texts);
	record = find(texts, process, address);
	if (!record)
		return NO_INDEX;
	at = record->last;
	for (unsigned steps = 0;
	     texts->d->texts[at].time > time && texts->before[at] != NO_INDEX && steps < CHANGES_MOST; steps++)
		at = texts->before[at];
	return at;
}

const char *texts_find(struct texts *texts, uint32_t process, uint64_t address, uint64_t time)
{
	uint32_t at = texts_entry(texts, process, address, time);

	return at == NO_INDEX ? NULL : texts->d->texts[at].text;
}

void texts_free(struct texts *texts)
{
	struct text_record *record, *next;

	if (!texts)
		return;
	HASH_ITER (hh, texts->records, record, next) {
		HASH_DEL(texts->records, record);
		free(record);
	}
	free(texts->before);
	free(texts);
}
