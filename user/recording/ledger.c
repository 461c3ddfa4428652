/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ledger.c - which definitions stand in the file, and as what.
 */
#include "recording/ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"

struct replaced {
	uint32_t kind, index;
	uint64_t hash;
};

uint64_t ledger_hash(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ size;

	while (size--) /* FNV-1a */
		hash = (hash ^ *bytes++) * 0x100000001b3ULL;
	return hash;
}

size_t ledger_count(const struct ledger *ledger, unsigned kind)
{
	return ledger->written[kind].count;
}

bool ledger_has(const struct ledger *ledger, unsigned kind, size_t index, uint64_t hash)
{
	return index < ledger->written[kind].count && hash == ledger->written[kind].hashes[index];
}

int ledger_note(struct ledger *ledger, unsigned kind, size_t index, uint64_t hash)
{
	uint64_t *hashes = ledger->written[kind].hashes;
	size_t count = ledger->written[kind].count;

	if (index < count) {
		if (array_one_more(&ledger->replaced, &ledger->replaced_room, ledger->nreplaced,
				   sizeof(*ledger->replaced)))
			return -ENOMEM;
		ledger->replaced[ledger->nreplaced++] = (struct replaced){ kind, (uint32_t)index, hashes[index] };
		hashes[index] = hash;
		return 0;
	}
	if (array_one_more(&ledger->written[kind].hashes, &ledger->written[kind].room, count, sizeof(*hashes)))
		return -ENOMEM;
	ledger->written[kind].hashes[ledger->written[kind].count++] = hash;
	return 0;
}

void ledger_settle(struct ledger *ledger)
{
	ledger->nreplaced = 0;
	for (unsigned k = 0; k < KINDS; k++)
		ledger->written[k].before = ledger->written[k].count;
}

void ledger_take_back(struct ledger *ledger)
{
	while (ledger->nreplaced) {
		const struct replaced *r = &ledger->replaced[--ledger->nreplaced];

		ledger->written[r->kind].hashes[r->index] = r->hash;
	}
	for (unsigned k = 0; k < KINDS; k++)
		ledger->written[k].count = ledger->written[k].before;
}

void ledger_free(struct ledger *ledger)
{
	for (unsigned k = 0; k < KINDS; k++)
		free(ledger->written[k].hashes);
	free(ledger->replaced);
}
