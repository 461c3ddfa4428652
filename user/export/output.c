/*
 * output.c - bytes on their way to a file, compressed or not.
 */
#include "export/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "util/files.h"
#include "util/log.h"

#define GZIP_LEVEL 2        /* traces shrink tenfold at any level; higher ones cost more time than they save space */
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, with a gzip header */
#define BUFFER_SIZE 65536

struct output {
	int fd;
	const char *name;
	bool zipped;
	int error;
	unsigned percent;
	z_stream zip;
	unsigned char buffer[BUFFER_SIZE];
};

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

struct output *output_open(int fd, const char *name)
{
	struct output *out = calloc(1, sizeof(*out));

	if (!out) {
		log_error("%s: out of memory", log_safe(name));
		return NULL;
	}
	out->fd = fd;
	out->name = name;
	out->zipped = ends_in(name, ".gz");
	if (out->zipped && deflateInit2(&out->zip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
		log_error("%s: out of memory", log_safe(name));
		free(out);
		return NULL;
	}
	return out;
}

static int put(struct output *out, const void *data, size_t size)
{
	if (out->error || !size)
		return out->error;
	out->error = write_all(out->fd, data, size);
	if (out->error) {
		log_status("%s", "");
		log_error("%s: cannot write: %s: make room or choose another place", log_safe(out->name), strerror(-out->error));
	}
	return out->error;
}

/* Hands bytes to the compressor and writes what comes out. */
static int squeeze(struct output *out, const char *data, size_t size, int flush)
{
	out->zip.next_in = (unsigned char *)data;
	out->zip.avail_in = size;
	do {
		out->zip.next_out = out->buffer;
		out->zip.avail_out = sizeof(out->buffer);
		deflate(&out->zip, flush);
		if (put(out, out->buffer, sizeof(out->buffer) - out->zip.avail_out))
			return out->error;
	} while (!out->zip.avail_out);
	return 0;
}

int output_write(void *output, const char *data, size_t size)
{
	struct output *out = output;

	if (out->error)
		return out->error;
	return out->zipped ? squeeze(out, data, size, Z_NO_FLUSH) : put(out, data, size);
}

int output_close(struct output *out)
{
	int error;

	if (out->zipped) {
		if (!out->error)
			squeeze(out, NULL, 0, Z_FINISH);
		deflateEnd(&out->zip);
	}
	log_status("%s", "");
	error = out->error;
	free(out);
	return error;
}

void output_progress(struct output *out, size_t done, size_t all)
{
	unsigned percent = all ? done * 100 / all : 100;

	if (percent == out->percent)
		return;
	out->percent = percent;
	log_status("%s: %u %%", log_safe(out->name), percent);
}
