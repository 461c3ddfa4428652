/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.c - a recording that somebody hands on, merged with itself: once as of one machine, once as of two.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "merge/parts.h"
#include "shared/fuzz.h"
#include "shared/read.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	return recording_mutate(data, size, most, seed);
}

/* The same recording twice, each with a clock of its own. */
static void part_clocks(struct merge *m)
{
	for (size_t i = 1; i < m->ninputs; i++)
		m->inputs[i].clock = i;
	m->nclocks = m->ninputs;
	m->clocks[0].is_reference = true;
	m->clocks[1] = (struct node_clock){ .first = 1 };
}

/* What was written can be read, and is all there. */
static void check(int fd, const struct definitions *written)
{
	struct recording *r;

	must(!recording_open_fd(&r, fd, "result"));
	must(recording_definitions(r)->nthreads == written->nthreads);
	must(recording_definitions(r)->nsums == written->nsums);
	recording_close(r);
}

static void merge_twice(const char *path, bool parted)
{
	char *paths[] = { (char *)path, (char *)path };
	const struct merge_options options = { .paths = paths, .npaths = 2, .name = "result", .stop = -1 };
	int fd = memfd_create("result", MFD_CLOEXEC), own = dup(fd);
	struct merge *m = NULL;

	must(fd >= 0 && own >= 0);
	if (merge_open(&m, &options)) {
		close(own);
	} else {
		if (parted)
			part_clocks(m);
		if (!merge_write(m, own))
			check(fd, merge_definitions(m));
	}
	merge_close(m);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);

	merge_twice(path, false);
	merge_twice(path, true);
	return 0;
}
