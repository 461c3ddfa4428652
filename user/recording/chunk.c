/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk.c - chunks: head, checksum, compression.
 */
#include "recording/chunk.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define PACK_LEVEL 1
#define PACK_FROM 128 /* bytes below which compression is not worth a frame */

static const char no_memory[] = "there is not enough memory to read it";

void put_u32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

void put_u64(uint8_t *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

uint32_t get_u32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

uint64_t get_u64(const uint8_t *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

struct packer {
	ZSTD_CCtx *compress; /* made at the first use: a reader needs none */
	ZSTD_DCtx *decompress;
};

struct packer *packer_new(void)
{
	return calloc(1, sizeof(struct packer));
}

void packer_free(struct packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->compress);
	ZSTD_freeDCtx(packer->decompress);
	free(packer);
}

/* The checksum covers the head before it too, so that a chunk cannot silently become one of another type. */
static uint32_t checksum(const uint8_t *head, const uint8_t *payload, size_t size)
{
	return (uint32_t)crc32(crc32(0, head, 16), payload, (uInt)size);
}

/* Compresses into `to`; the size, or 0 where that is not possible or brings nothing. */
static size_t pack(struct packer *packer, uint8_t *to, size_t room, const uint8_t *raw, size_t size)
{
	size_t packed;

	if (!packer->compress)
		packer->compress = ZSTD_createCCtx();
	if (!packer->compress)
		return 0;
	packed = ZSTD_compressCCtx(packer->compress, to, room, raw, size, PACK_LEVEL);
	return ZSTD_isError(packed) || packed >= size ? 0 : packed;
}

int chunk_append(struct packer *packer, struct buffer *out, uint32_t type, const uint8_t *raw, size_t size, bool packed)
{
	size_t room = ZSTD_compressBound(size), stored = 0;
	uint8_t *head;

	if (size > CHUNK_RAW_MOST)
		return -EFBIG;
	head = buffer_reserve(out, CHUNK_HEAD + room);
	if (!head)
		return -ENOMEM;
	if (packed && size >= PACK_FROM)
		stored = pack(packer, head + CHUNK_HEAD, room, raw, size);
	put_u32(head, type);
	put_u32(head + 4, stored ? CHUNK_ZSTD : 0);
	if (!stored) {
		memcpy(head + CHUNK_HEAD, raw, size);
		stored = size;
	}
	put_u32(head + 8, (uint32_t)stored);
	put_u32(head + 12, (uint32_t)size);
	put_u32(head + 16, checksum(head, head + CHUNK_HEAD, stored));
	put_u32(head + 20, 0);
	out->size += CHUNK_HEAD + stored;
	return 0;
}

/* All of it; false where the file does not give it. */
static bool read_all(int fd, uint8_t *to, size_t size, uint64_t at)
{
	while (size) {
		ssize_t got = pread(fd, to, size, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		at += (uint64_t)got;
		size -= (size_t)got;
	}
	return true;
}

/* left: bytes from the chunk's first one on. */
static const char *parse_head(const uint8_t *head, uint64_t left, struct chunk *chunk)
{
	chunk->type = get_u32(head);
	chunk->flags = get_u32(head + 4);
	chunk->stored = get_u32(head + 8);
	chunk->raw = get_u32(head + 12);
	chunk->crc = get_u32(head + 16);
	if (chunk->flags & ~CHUNK_ZSTD || get_u32(head + 20))
		return "the head of a chunk has unknown flags";
	if (chunk->raw > CHUNK_RAW_MOST || chunk->stored > chunk->raw ||
	    (!(chunk->flags & CHUNK_ZSTD) && chunk->stored != chunk->raw))
		return "the head of a chunk has impossible lengths";
	if (left - CHUNK_HEAD < chunk->stored)
		return "the file ends inside a chunk";
	return NULL;
}

const char *chunk_read_head(int fd, uint64_t file_size, struct chunk *chunk)
{
	uint8_t head[CHUNK_HEAD];

	if (file_size - chunk->at < CHUNK_HEAD)
		return "the file ends inside a chunk";
	if (!read_all(fd, head, sizeof(head), chunk->at))
		return "it cannot be read";
	return parse_head(head, file_size - chunk->at, chunk);
}

/* Room for the payload with its slack, zeroed, from the buffer's start. */
static uint8_t *room_for(struct buffer *buffer, size_t size)
{
	uint8_t *to;

	buffer_clear(buffer);
	to = buffer_reserve(buffer, size + CHUNK_SLACK);
	if (to)
		memset(to + size, 0, CHUNK_SLACK);
	return to;
}

/* What the payload says; where it was stored as it is, that is the payload itself. */
static const char *unpack(struct packer *packer, const struct chunk *chunk, const uint8_t *head, const uint8_t *payload,
			  struct buffer *decoded, const uint8_t **raw)
{
	uint8_t *to;

	if (checksum(head, payload, chunk->stored) != chunk->crc)
		return "a checksum does not match";
	if (!(chunk->flags & CHUNK_ZSTD)) {
		*raw = payload;
		return NULL;
	}
	/* The head's claim is checked against the frame's own before memory is taken for it. */
	if (ZSTD_getFrameContentSize(payload, chunk->stored) != chunk->raw)
		return "the compressed data has another size than stated";
	if (!packer->decompress)
		packer->decompress = ZSTD_createDCtx();
	to = room_for(decoded, chunk->raw);
	if (!packer->decompress || !to)
		return no_memory;
	if (ZSTD_decompressDCtx(packer->decompress, to, chunk->raw, payload, chunk->stored) != chunk->raw)
		return "the compressed data is bad";
	*raw = to;
	return NULL;
}

const char *chunk_read_payload(struct packer *packer, int fd, const struct chunk *chunk, struct buffer *stored,
			       struct buffer *decoded, const uint8_t **raw)
{
	uint8_t head[CHUNK_HEAD], *payload = room_for(stored, chunk->stored);

	if (!payload)
		return no_memory;
	if (!read_all(fd, head, sizeof(head), chunk->at) ||
	    !read_all(fd, payload, chunk->stored, chunk->at + CHUNK_HEAD))
		return "it cannot be read";
	return unpack(packer, chunk, head, payload, decoded, raw);
}

const char *chunk_in_memory(struct packer *packer, const uint8_t *bytes, size_t size, struct chunk *chunk,
			    struct buffer *stored, struct buffer *decoded, const uint8_t **raw)
{
	const char *wrong = size < CHUNK_HEAD ? "it ends inside a chunk" : parse_head(bytes, size, chunk);
	uint8_t *payload;

	if (wrong)
		return wrong;
	if (chunk->flags & CHUNK_ZSTD)
		return unpack(packer, chunk, bytes, bytes + CHUNK_HEAD, decoded, raw);
	payload = room_for(stored, chunk->stored);
	if (!payload)
		return no_memory;
	memcpy(payload, bytes + CHUNK_HEAD, chunk->stored);
	return unpack(packer, chunk, bytes, payload, decoded, raw);
}
