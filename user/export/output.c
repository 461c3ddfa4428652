/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c - bytes on their way to a file, compressed or not.
 *
 * Making a trace and writing it take about as long as each other: a large trace fills the page cache, and the kernel
 * then takes memory and disk for every page; and compressing takes five times as long as either. So a thread of its own
 * compresses and writes one block while the next is filled. The blocks go round: `filled` and `written` count them, and
 * the block of either number belongs to the side that has it next. Where no thread can be had, each block is written
 * when it is full.
 */
#include "export/output.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "util/files.h"
#include "util/log.h"

#define GZIP_LEVEL 2          /* traces shrink tenfold at any level; higher ones cost more time than they save space */
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, with a gzip header */
#define SQUEEZED_SIZE 65536
#define BLOCKS 3
#define BLOCK_SIZE (256 << 10)

struct block {
	size_t used;
	char data[BLOCK_SIZE];
};

struct output {
	int fd;
	const char *name;
	bool zipped;
	bool said; /* the error, by the side that fills */
	unsigned percent;
	uint64_t filled; /* blocks; the next one is being filled */

	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	uint64_t ready, written; /* blocks */
	bool ended;              /* no more will be ready */
	int error;               /* the first */

	z_stream zip; /* of the side that writes, as is `squeezed` */
	unsigned char squeezed[SQUEEZED_SIZE];
	struct block blocks[BLOCKS];
};

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

/* --- the side that writes ----------------------------------------------------------- */

/* Hands bytes to the compressor and writes what comes out. 0 or -errno. */
static int squeeze(struct output *out, const char *data, size_t size, int flush)
{
	int error;

	out->zip.next_in = (unsigned char *)data;
	out->zip.avail_in = size;
	do {
		out->zip.next_out = out->squeezed;
		out->zip.avail_out = sizeof(out->squeezed);
		deflate(&out->zip, flush);
		error = write_all(out->fd, out->squeezed, sizeof(out->squeezed) - out->zip.avail_out);
	} while (!error && !out->zip.avail_out);
	return error;
}

static int write_block(struct output *out, const struct block *block)
{
	return out->zipped ? squeeze(out, block->data, block->used, Z_NO_FLUSH)
			   : write_all(out->fd, block->data, block->used);
}

/* After an error the blocks that still come are let go. */
static void *write_blocks(void *context)
{
	struct output *out = context;

	pthread_mutex_lock(&out->lock);
	for (;;) {
		while (out->written == out->ready && !out->ended)
			pthread_cond_wait(&out->changed, &out->lock);
		if (out->written == out->ready)
			break;
		if (!out->error) {
			struct block *block = &out->blocks[out->written % BLOCKS];

			pthread_mutex_unlock(&out->lock);
			int error = write_block(out, block);

			pthread_mutex_lock(&out->lock);
			out->error = error;
		}
		out->written++;
		pthread_cond_signal(&out->changed);
	}
	pthread_mutex_unlock(&out->lock);
	return NULL;
}

/* Signals are for the rest of the program. */
static void start_thread(struct output *out)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_mutex_init(&out->lock, NULL);
	pthread_cond_init(&out->changed, NULL);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	out->threaded = !pthread_create(&out->thread, NULL, write_blocks, out);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- the side that fills ------------------------------------------------------------- */

struct output *output_open(int fd, const char *name)
{
	struct output *out = calloc(1, sizeof(*out));

	if (!out) {
		log_error("%s: out of memory: free some memory and try again", log_safe(name));
		return NULL;
	}
	out->fd = fd;
	out->name = name;
	out->zipped = ends_in(name, ".gz");
	if (out->zipped &&
	    deflateInit2(&out->zip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
		log_error("%s: out of memory: free some memory and try again", log_safe(name));
		free(out);
		return NULL;
	}
	start_thread(out);
	return out;
}

static int say_error(struct output *out, int error)
{
	if (error && !out->said) {
		log_status("%s", "");
		log_error("%s: cannot write: %s: make room or choose another place", log_safe(out->name),
			  strerror(-error));
		out->said = true;
	}
	return error;
}

/* The block is full: hands it on, and waits until the next one is free. */
static int hand_on(struct output *out)
{
	struct block *block = &out->blocks[out->filled % BLOCKS];
	int error;

	if (!out->threaded) {
		if (!out->error)
			out->error = write_block(out, block);
		block->used = 0;
		return say_error(out, out->error);
	}
	pthread_mutex_lock(&out->lock);
	out->ready = ++out->filled;
	pthread_cond_signal(&out->changed);
	while (out->filled - out->written >= BLOCKS)
		pthread_cond_wait(&out->changed, &out->lock);
	error = out->error;
	pthread_mutex_unlock(&out->lock);
	out->blocks[out->filled % BLOCKS].used = 0;
	return say_error(out, error);
}

int output_write(void *output, const char *data, size_t size)
{
	struct output *out = output;
	int error = 0;

	while (size && !error) {
		struct block *block = &out->blocks[out->filled % BLOCKS];
		size_t some = BLOCK_SIZE - block->used < size ? BLOCK_SIZE - block->used : size;

		memcpy(block->data + block->used, data, some);
		block->used += some;
		data += some;
		size -= some;
		if (block->used == BLOCK_SIZE)
			error = hand_on(out);
	}
	return error;
}

int output_close(struct output *out)
{
	int error;

	hand_on(out);
	if (out->threaded) {
		pthread_mutex_lock(&out->lock);
		out->ended = true;
		pthread_cond_signal(&out->changed);
		pthread_mutex_unlock(&out->lock);
		pthread_join(out->thread, NULL);
	}
	pthread_mutex_destroy(&out->lock);
	pthread_cond_destroy(&out->changed);
	error = out->error;
	if (out->zipped) {
		if (!error)
			error = squeeze(out, NULL, 0, Z_FINISH);
		deflateEnd(&out->zip);
	}
	say_error(out, error);
	log_status("%s", "");
	free(out);
	return error;
}

void tell_progress(unsigned *told, const char *name, size_t done, size_t all)
{
	unsigned percent = all ? done * 100 / all : 100;

	if (percent == *told)
		return;
	*told = percent;
	log_status("%s: %u %%", log_safe(name), percent);
}

void output_progress(struct output *output, size_t done, size_t all)
{
	tell_progress(&output->percent, output->name, done, all);
}
