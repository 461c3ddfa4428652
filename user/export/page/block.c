/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * block.c - bytes that are packed as gzip, then as base64, and wait in a heap of the spool.
 *
 * 48 bytes are 64 characters, and so much is put into a heap at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/page/page.h"
#include "util/base64.h"

#define GZIP_LEVEL 6
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, with a gzip header */

_Static_assert(BASE64_SIZE(BLOCK_TEXT) <= SPOOL_PIECE, "a piece of base64 is a piece of a heap");

void block_begin(struct block *b, struct spool *spool)
{
	memset(b, 0, sizeof(*b));
	b->spool = spool;
	b->open = deflateInit2(&b->zip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) == Z_OK;
	b->error = b->open ? 0 : -ENOMEM;
}

/* What waits becomes text. */
static int put_text(struct block *b)
{
	char text[BASE64_SIZE(BLOCK_TEXT)];
	struct buffer *piece;
	size_t size;
	int error = b->waiting ? spool_room(b->spool, &b->heap, &piece) : 0;

	if (error || !b->waiting)
		return error;
	size = base64_put(text, b->waits, b->waiting);
	buffer_put(piece, text, size);
	b->bytes += size;
	b->waiting = 0;
	return piece->failed ? -ENOMEM : 0;
}

static int put_packed(struct block *b, size_t size)
{
	int error = 0;

	for (size_t at = 0; at < size && !error;) {
		size_t some = size - at < BLOCK_TEXT - b->waiting ? size - at : BLOCK_TEXT - b->waiting;

		memcpy(b->waits + b->waiting, b->packed + at, some);
		b->waiting += some;
		at += some;
		if (b->waiting == BLOCK_TEXT)
			error = put_text(b);
	}
	return error;
}

static int pack(struct block *b, const void *data, size_t size, int flush)
{
	b->zip.next_in = (unsigned char *)data;
	b->zip.avail_in = size;
	do {
		b->zip.next_out = b->packed;
		b->zip.avail_out = sizeof(b->packed);
		deflate(&b->zip, flush);
		b->error = put_packed(b, sizeof(b->packed) - b->zip.avail_out);
	} while (!b->error && !b->zip.avail_out);
	return b->error;
}

int block_put(void *block, const char *data, size_t size)
{
	struct block *b = block;

	return b->error ? b->error : pack(b, data, size, Z_NO_FLUSH);
}

int block_end(struct block *b)
{
	if (!b->error)
		pack(b, NULL, 0, Z_FINISH);
	if (!b->error)
		b->error = put_text(b);
	if (b->open)
		deflateEnd(&b->zip);
	b->open = false;
	return b->error;
}

int block_json(struct block *b, struct spool *spool, void (*put)(struct json *j, const void *context),
	       const void *context)
{
	struct json *j = malloc(sizeof(*j));
	int error, ended;

	if (!j)
		return -ENOMEM;
	block_begin(b, spool);
	json_init(j, block_put, b, false);
	put(j, context);
	error = json_finish(j);
	ended = block_end(b);
	free(j);
	return error ? error : ended;
}

void block_free(struct block *b)
{
	if (b->open)
		deflateEnd(&b->zip);
	heap_free(&b->heap);
	memset(b, 0, sizeof(*b));
}
