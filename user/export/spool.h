/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.h - many heaps of bytes that grow in turns and are read one after the other. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_SPOOL_H
#define GASPBPF_EXPORT_SPOOL_H

#include "util/buffer.h"

#define SPOOL_BLOCK 4096 /* what each of them needs of memory at most; the rest is in the file */
#define SPOOL_PIECE 64   /* most bytes that are put at once; they stay together */

struct spool;

/* One heap. Zero: nothing in it. */
struct heap {
	uint64_t first, here; /* numbers of blocks in the file; here: where `rest` will go; 0: nowhere so far */
	struct buffer rest;   /* what is not in the file */
};

/* The file stays the caller's; what is in it is overwritten. NULL: out of memory. */
struct spool *spool_new(int fd);
/* Where one more piece is to be put, of at most SPOOL_PIECE bytes. 0 or -errno; said, but for -ENOMEM. */
int spool_room(struct spool *spool, struct heap *heap, struct buffer **piece);
/* Hands all that was put to `take`, in order, some whole pieces at a time. 0 or -errno, as above or as take() says. */
int spool_read(struct spool *spool, const struct heap *heap, int (*take)(void *context, struct cursor *pieces),
	       void *context);
void heap_free(struct heap *heap);
void spool_free(struct spool *spool);

#endif
