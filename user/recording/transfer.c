/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.c - definitions on their way to another process: (kind, index, length, fields) each.
 */
#include "recording/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "recording/chunk.h"
#include "recording/definitions.h"

#define ENTRY_LARGEST 1024 /* bytes of any struct def_ that is sent */

_Static_assert(KINDS <= TRANSFER_KINDS, "TRANSFER_KINDS is too small");

static bool is_sent(const struct kind *kind)
{
	return kind->type != CHUNK_SUMS && kind->type != CHUNK_STEPS;
}

static void put_entry(struct buffer *out, const struct definitions *d, unsigned kind, size_t index)
{
	struct buffer fields = { 0 };

	entry_encode(&fields, kinds[kind].fields, kind_entry(&kinds[kind], d, index));
	buffer_put_varint(out, kind);
	buffer_put_varint(out, index);
	buffer_put_varint(out, fields.size);
	if (fields.size)
		buffer_put(out, fields.data, fields.size);
	out->failed |= fields.failed;
	buffer_free(&fields);
}

void definitions_put_new(struct buffer *out, const struct definitions *d, size_t sent[TRANSFER_KINDS])
{
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (size_t count = kind_count(&kinds[kind], d); is_sent(&kinds[kind]) && sent[kind] < count;
		     sent[kind]++)
			put_entry(out, d, kind, sent[kind]);
}

void definitions_put_process(struct buffer *out, const struct definitions *d, uint32_t index)
{
	for (unsigned kind = 0; kind < KINDS; kind++)
		if (kinds[kind].type == CHUNK_PROCESSES && index < d->nprocesses)
			put_entry(out, d, kind, index);
}

void definitions_put_processes(struct buffer *out, const struct definitions *d)
{
	for (uint32_t i = 0; i < d->nprocesses; i++)
		definitions_put_process(out, d, i);
}

/* The entry after the last one is added, one before it replaced. */
static const char *store(struct definitions *d, const struct kind *kind, size_t index, const void *entry)
{
	size_t count = kind_count(kind, d);

	if (index > count)
		return "a definition is missing";
	if (index == count && definitions_add(d, kind) == NO_INDEX)
		return "there is not enough memory";
	if (index < count)
		entry_free(kind->fields, kind_entry(kind, d, index));
	memcpy(kind_entry(kind, d, index), entry, kind->size);
	return NULL;
}

static const char *take_entry(struct cursor *in, struct definitions *d)
{
	uint64_t kind = cursor_varint(in), index = cursor_varint(in), size = cursor_varint(in);
	struct cursor fields = cursor_part(in, size);
	_Alignas(16) char entry[ENTRY_LARGEST];
	const char *wrong;

	if (in->failed || fields.failed || kind >= KINDS || kinds[kind].size > sizeof(entry) || !is_sent(&kinds[kind]))
		return "a definition is bad";
	wrong = entry_decode(&fields, kinds[kind].fields, kinds[kind].size, entry);
	if (wrong)
		return wrong;
	wrong = entry_check(&kinds[kind], d, entry);
	if (!wrong)
		wrong = store(d, &kinds[kind], index, entry);
	if (wrong)
		entry_free(kinds[kind].fields, entry);
	return wrong;
}

const char *definitions_take(struct cursor *in, struct definitions *d)
{
	const char *wrong = NULL;

	while (!wrong && in->at < in->end)
		wrong = take_entry(in, d);
	return wrong;
}

void run_put(struct buffer *out, const struct def_run *run)
{
	entry_encode(out, run_fields, run);
}

const char *run_take(struct cursor *in, struct def_run *run)
{
	struct def_run taken;
	const char *wrong = entry_decode(in, run_fields, sizeof(taken), &taken);

	if (wrong)
		return wrong;
	entry_free(run_fields, run);
	*run = taken;
	return NULL;
}
