/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.c - many heaps of bytes that grow in turns and are read one after the other.
 *
 * The timeline tells of all threads in turns, and some formats want one thread after the other. Memory must not grow
 * with the recording, so what has to wait is in a temporary file, in blocks of one size. Each begins with the number of
 * the next block of the same heap, which is given out when the block is written: so a heap is read from its first block
 * to its last, and no list of them is kept. Number 0 is no block.
 */
#include "export/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/log.h"

struct block_head {
	uint64_t next;
	uint64_t size; /* bytes in use behind the head */
};

#define BLOCK_ROOM (SPOOL_BLOCK - sizeof(struct block_head))

struct block {
	struct block_head head;
	uint8_t data[BLOCK_ROOM];
};

struct spool {
	int fd;
	uint64_t given; /* numbers of blocks */
	struct block block;
};

struct spool *spool_new(int fd)
{
	struct spool *spool = malloc(sizeof(*spool));

	if (spool)
		*spool = (struct spool){ .fd = fd };
	return spool;
}

void spool_free(struct spool *spool)
{
	free(spool);
}

void heap_free(struct heap *heap)
{
	buffer_free(&heap->rest);
}

/* Where a block stands in the file. */
static off_t place_of(uint64_t number)
{
	return (off_t)((number - 1) * SPOOL_BLOCK);
}

/* All of the spool's block. 0 or -errno, said. */
static int write_block(struct spool *spool, uint64_t number)
{
	const char *data = (const char *)&spool->block;
	size_t done = 0;

	while (done < SPOOL_BLOCK) {
		ssize_t some = pwrite(spool->fd, data + done, SPOOL_BLOCK - done, place_of(number) + (off_t)done);

		if (some > 0) {
			done += some;
		} else if (some == 0 || errno != EINTR) {
			int error = some ? errno : EIO;

			log_error("temporary file: cannot write: %s: set TMPDIR to a folder with space",
				  strerror(error));
			return -error;
		}
	}
	return 0;
}

/* The inverse. */
static int read_block(const struct spool *spool, uint64_t number, struct block *block)
{
	char *data = (char *)block;
	size_t done = 0;

	while (done < SPOOL_BLOCK) {
		ssize_t some = pread(spool->fd, data + done, SPOOL_BLOCK - done, place_of(number) + (off_t)done);

		if (some > 0) {
			done += some;
		} else if (some == 0 || errno != EINTR) {
			int error = some ? errno : EIO;

			log_error("temporary file: cannot read: %s: set TMPDIR to another folder", strerror(error));
			return -error;
		}
	}
	return 0;
}

/* The heap's memory is full: into the file with it. */
static int move_out(struct spool *spool, struct heap *heap)
{
	int error;

	if (!heap->here)
		heap->first = heap->here = ++spool->given;
	memset(&spool->block, 0, sizeof(spool->block));
	spool->block.head = (struct block_head){ .next = ++spool->given, .size = heap->rest.size };
	memcpy(spool->block.data, heap->rest.data, heap->rest.size);
	error = write_block(spool, heap->here);
	heap->here = spool->block.head.next;
	buffer_clear(&heap->rest);
	return error;
}

int spool_room(struct spool *spool, struct heap *heap, struct buffer **piece)
{
	*piece = &heap->rest;
	if (heap->rest.failed)
		return -ENOMEM;
	return heap->rest.size + SPOOL_PIECE > BLOCK_ROOM ? move_out(spool, heap) : 0;
}

int spool_read(struct spool *spool, const struct heap *heap, int (*take)(void *context, struct cursor *pieces),
	       void *context)
{
	struct block block; /* its own: take() may put into another heap */
	struct cursor rest;

	for (uint64_t number = heap->first; number != heap->here; number = block.head.next) {
		int error = read_block(spool, number, &block);

		if (!error && block.head.size > BLOCK_ROOM)
			error = -EIO;
		if (error)
			return error;
		struct cursor pieces = { .at = block.data, .end = block.data + block.head.size };

		error = take(context, &pieces);
		if (error)
			return error;
	}
	if (!heap->rest.size)
		return 0;
	rest = (struct cursor){ .at = heap->rest.data, .end = heap->rest.data + heap->rest.size };
	return take(context, &rest);
}
