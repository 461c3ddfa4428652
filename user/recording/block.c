/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * block.c - spans kept in memory: the payload of a SPAN chunk, packed, for whoever keeps the last of them
 * (user/flight).
 *
 * A block is a SPAN chunk as docs/recording.md has it. Nothing carries over from one to the next, so each can be read
 * alone, and any can be dropped. Two things that a file has are left to whoever writes one from the blocks: which spans
 * are late, and the watermark, which here is that of the block alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "recording/chunk.h"
#include "recording/span_code.h"

struct block_maker {
	const struct definitions *d;
	struct packer *packer;
	struct span_code code, reading;
	struct buffer spans; /* of the block that is being filled, its head included */
	struct buffer sealed;
	struct buffer stored, decoded;
	uint32_t nspans, ngaps;
	uint64_t watermark;
};

struct block_maker *block_maker_new(const struct definitions *d)
{
	struct block_maker *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->d = d;
	m->packer = packer_new();
	if (m->packer)
		return m;
	free(m);
	return NULL;
}

void block_maker_free(struct block_maker *m)
{
	if (!m)
		return;
	packer_free(m->packer);
	span_code_free(&m->code);
	span_code_free(&m->reading);
	buffer_free(&m->spans);
	buffer_free(&m->sealed);
	buffer_free(&m->stored);
	buffer_free(&m->decoded);
	free(m);
}

static void empty(struct block_maker *m)
{
	m->nspans = m->ngaps = 0;
	m->watermark = 0;
	m->spans.failed = false;
	buffer_clear(&m->spans);
}

/* Where the next record goes; base: as of a SPAN chunk, for the first one. NULL: no memory, or the block is full. */
static uint8_t *begin_record(struct block_maker *m, uint64_t base)
{
	if (m->nspans + m->ngaps >= RECORDING_CHUNK_SPANS)
		return NULL;
	if (!m->nspans && !m->ngaps) {
		empty(m);
		span_code_reset(&m->code, base);
		if (!buffer_reserve(&m->spans, SPAN_HEAD))
			return NULL;
		m->spans.size = SPAN_HEAD;
	}
	return buffer_reserve(&m->spans, RECORD_MOST);
}

int block_add_span(struct block_maker *m, const struct span *span)
{
	uint8_t *to;

	if (!span_is_sound(m->d, span))
		return -EINVAL;
	if (span_code_fit(&m->code, (size_t)span->thread + 1, (size_t)span->probe + 1))
		return -ENOMEM;
	to = begin_record(m, span->start);
	if (!to)
		return -ENOMEM;
	m->spans.size = (size_t)(span_encode(&m->code, to, span) - m->spans.data);
	m->nspans++;
	if (span->end > m->watermark)
		m->watermark = span->end;
	return 0;
}

int block_add_gap(struct block_maker *m, const struct gap *gap)
{
	uint8_t *to;

	if (gap->thread >= m->d->nthreads)
		return -EINVAL;
	to = begin_record(m, gap->after);
	if (!to)
		return -ENOMEM;
	m->spans.size = (size_t)(gap_encode(&m->code, to, gap) - m->spans.data);
	m->ngaps++;
	return 0;
}

size_t block_filled(const struct block_maker *m)
{
	if (m->nspans + m->ngaps >= RECORDING_CHUNK_SPANS)
		return SIZE_MAX; /* no more goes in, however small they are */
	return m->nspans || m->ngaps ? m->spans.size : 0;
}

ssize_t block_seal(struct block_maker *m, const uint8_t **bytes)
{
	int error;

	if (!m->nspans && !m->ngaps)
		return 0;
	put_u32(m->spans.data, m->nspans);
	put_u32(m->spans.data + 4, m->ngaps);
	put_u64(m->spans.data + 8, m->code.base);
	put_u64(m->spans.data + 16, m->watermark);
	m->sealed.failed = false;
	buffer_clear(&m->sealed);
	error = m->spans.failed ? -ENOMEM
				: chunk_append(m->packer, &m->sealed, CHUNK_SPANS, m->spans.data, m->spans.size, true);
	empty(m);
	if (error)
		return error;
	*bytes = m->sealed.data;
	return (ssize_t)m->sealed.size;
}

static int hand_on(struct block_maker *m, const uint8_t *raw, size_t size, const struct span_sink *sink)
{
	struct span_bounds bounds = { m->d->nthreads, m->d->nprobes, m->d->nsites };
	const uint8_t *at = raw + SPAN_HEAD, *end = raw + size;
	const char *wrong = NULL;
	struct span span;
	struct gap gap;
	int error = 0;

	while (!error && at < end) {
		switch (record_decode(&m->reading, &at, end, &bounds, &span, &gap, &wrong)) {
		case RECORD_SPAN:
			error = sink->span(sink->context, m->d, &span);
			break;
		case RECORD_GAP:
			error = sink->gap ? sink->gap(sink->context, m->d, &gap) : 0;
			break;
		case RECORD_BAD:
			return -EBADMSG;
		}
	}
	return error;
}

int block_read(struct block_maker *m, const uint8_t *bytes, size_t size, const struct span_sink *sink)
{
	const uint8_t *raw;
	struct chunk chunk = { 0 };

	if (chunk_in_memory(m->packer, bytes, size, &chunk, &m->stored, &m->decoded, &raw) ||
	    chunk.type != CHUNK_SPANS || chunk.raw < SPAN_HEAD)
		return -EBADMSG;
	if (span_code_fit(&m->reading, m->d->nthreads, m->d->nprobes))
		return -ENOMEM;
	span_code_reset(&m->reading, get_u64(raw + 8));
	return hand_on(m, raw, chunk.raw, sink);
}
