/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * texts.c - what stands behind an address, by process, address and time.
 */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "recording/recording.h"
#include "util/array.h"

struct text_key {
	uint64_t address;
	uint32_t process, zero;
};

struct text_record {
	struct text_key key;
	uint32_t *entries; /* by time */
	size_t count, room;
	UT_hash_handle hh;
};

struct texts {
	const struct definitions *d;
	struct text_record *records;
	size_t known; /* entries of definitions */
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

static struct text_record *find_or_add(struct texts *texts, uint32_t process, uint64_t address)
{
	struct text_record *record = find(texts, process, address);

	if (record)
		return record;
	record = calloc(1, sizeof(*record));
	if (!record)
		return NULL;
	record->key = (struct text_key){ .address = address, .process = process };
	HASH_ADD(hh, texts->records, key, sizeof(record->key), record);
	if (record->hh.tbl)
		return record;
	free(record);
	return NULL;
}

/* How many entries of the record hold from this time on, or from before. */
static size_t entries_until(const struct texts *texts, const struct text_record *record, uint64_t time)
{
	size_t low = 0, high = record->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (texts->d->texts[record->entries[middle]].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Behind those of the same time. Mostly that is the end. */
static bool insert(struct texts *texts, struct text_record *record, uint32_t entry)
{
	size_t at = entries_until(texts, record, texts->d->texts[entry].time);

	if (array_reach(&record->entries, &record->room, record->count + 1, sizeof(*record->entries)))
		return false;
	memmove(&record->entries[at + 1], &record->entries[at], (record->count - at) * sizeof(*record->entries));
	record->entries[at] = entry;
	record->count++;
	return true;
}

/* Learns the entries that are new. Those that find no memory stay unknown. */
static void learn(struct texts *texts)
{
	for (; texts->known < texts->d->ntexts; texts->known++) {
		const struct def_text *text = &texts->d->texts[texts->known];
		struct text_record *record = find_or_add(texts, text->process, text->address);

		if (!record || !insert(texts, record, texts->known))
			return;
	}
}

uint32_t texts_entry(struct texts *texts, uint32_t process, uint64_t address, uint64_t time)
{
	const struct text_record *record;
	size_t before;

	if (texts->known < texts->d->ntexts)
		learn(texts);
	record = find(texts, process, address);
	if (!record || !record->count)
		return NO_INDEX;
	before = entries_until(texts, record, time);
	if (before)
		return record->entries[before - 1];
	/* A descriptor was another file's then; a name has always been there. */
	return address & TEXT_OF_FILE ? NO_INDEX : record->entries[0];
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
		free(record->entries);
		free(record);
	}
	free(texts);
}
