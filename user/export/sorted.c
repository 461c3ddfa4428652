/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sorted.c - small records in the order of time, more of them than memory should hold.
 *
 * What fills a piece of memory is sorted and goes into the file, as a run. In the end all runs are read side by side, a
 * little of each at a time, and the earliest of their next records is handed on.
 */
#include "export/sorted.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/log.h"

#define RUN 16384  /* records */
#define WINDOW 128 /* records of a run that are in memory when runs are read */

struct run {
	uint64_t next, end; /* records of the file: what is not in the window yet */
	unsigned at, count; /* of the window */
	struct sorted_record window[WINDOW];
};

struct sorted {
	int fd;
	uint64_t written; /* records */
	size_t count;     /* of those below, which are not in the file */
	struct sorted_record records[RUN];
};

struct sorted *sorted_new(int fd)
{
	struct sorted *sorted = malloc(sizeof(*sorted));

	if (sorted) {
		sorted->fd = fd;
		sorted->written = sorted->count = 0;
	}
	return sorted;
}

void sorted_free(struct sorted *sorted)
{
	free(sorted);
}

static int compare(const void *left, const void *right)
{
	const struct sorted_record *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Writes or reads records of the file, all of them. 0 or -errno, said. */
static int move(int fd, bool in, struct sorted_record *records, size_t count, uint64_t from)
{
	char *data = (char *)records;
	size_t size = count * sizeof(*records);
	off_t place = (off_t)(from * sizeof(*records));

	while (size) {
		ssize_t some = in ? pread(fd, data, size, place) : pwrite(fd, data, size, place);

		if (some <= 0 && !(some < 0 && errno == EINTR)) {
			int error = some ? errno : EIO;

			log_error("temporary file: cannot %s: %s: set TMPDIR to a folder with space",
				  in ? "read" : "write", strerror(error));
			return -error;
		}
		if (some > 0) {
			data += some;
			size -= (size_t)some;
			place += some;
		}
	}
	return 0;
}

static int write_run(struct sorted *sorted)
{
	int error;

	qsort(sorted->records, sorted->count, sizeof(*sorted->records), compare);
	error = move(sorted->fd, false, sorted->records, sorted->count, sorted->written);
	sorted->written += sorted->count;
	sorted->count = 0;
	return error;
}

int sorted_put(struct sorted *sorted, const struct sorted_record *record)
{
	sorted->records[sorted->count++] = *record;
	return sorted->count == RUN ? write_run(sorted) : 0;
}

/* The next record of a run; NULL: there is none, or *error. */
static const struct sorted_record *next_of(const struct sorted *sorted, struct run *run, int *error)
{
	if (run->at == run->count && run->next < run->end) {
		uint64_t left = run->end - run->next;

		run->count = left < WINDOW ? (unsigned)left : WINDOW;
		run->at = 0;
		*error = move(sorted->fd, true, run->window, run->count, run->next);
		run->next += run->count;
		if (*error)
			return NULL;
	}
	return run->at < run->count ? &run->window[run->at] : NULL;
}

/* A heap of runs by their next records, the earliest on top. */
static void sink(struct run **heap, size_t count, size_t at)
{
	for (size_t least = at;; at = least) {
		for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < count; below++)
			if (compare(&heap[below]->window[heap[below]->at], &heap[least]->window[heap[least]->at]) < 0)
				least = below;
		if (least == at)
			return;
		struct run *run = heap[at];

		heap[at] = heap[least];
		heap[least] = run;
	}
}

static int merge(struct sorted *sorted, struct run **heap, size_t count,
		 int (*take)(void *context, const struct sorted_record *record), void *context)
{
	int error = 0;

	for (size_t i = count; i--;)
		sink(heap, count, i);
	while (count && !error) {
		error = take(context, &heap[0]->window[heap[0]->at++]);
		if (!error && !next_of(sorted, heap[0], &error) && !error)
			heap[0] = heap[--count];
		sink(heap, count, 0);
	}
	return error;
}

int sorted_read(struct sorted *sorted, int (*take)(void *context, const struct sorted_record *record), void *context)
{
	size_t count = (sorted->written + sorted->count + RUN - 1) / RUN;
	struct run *runs = calloc(count + 1, sizeof(*runs)), **heap = calloc(count + 1, sizeof(*heap));
	int error = runs && heap ? 0 : -ENOMEM;

	if (!error && sorted->count)
		error = write_run(sorted);
	for (size_t i = 0; i < count && !error; i++) {
		runs[i].next = (uint64_t)i * RUN;
		runs[i].end = i + 1 < count ? (uint64_t)(i + 1) * RUN : sorted->written;
		heap[i] = &runs[i];
		next_of(sorted, &runs[i], &error);
	}
	if (!error)
		error = merge(sorted, heap, count, take, context);
	free(runs);
	free(heap);
	return error;
}
