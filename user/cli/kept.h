/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kept.h - what is kept of a run in memory, for what the report at its end has to look up: who waited for whom.
 */
#ifndef GASPBPF_KEPT_H
#define GASPBPF_KEPT_H

#include "recording/recording.h"

/*
 * A recording in memory of at most KEPT_CALLS calls (about 6 bytes each); where there are more, none. Nothing is kept
 * as long as no call is observed that could wait for another thread.
 */
#define KEPT_CALLS 5000000

struct kept_calls {
	struct recording_writer *writer; /* NULL: not begun, or given up */
	int fd;                          /* -1: none */
	uint64_t calls;
	size_t probes; /* so many were looked at: */
	bool wanted;   /* one of them may wait */
};

/* Where there is no memory for it, that is said, and nothing is kept. */
void kept_begin(struct kept_calls *kept, const struct definitions *d);
struct span_sink kept_sink(struct kept_calls *kept);
/* No more comes. 0: kept->fd is a whole recording; -E2BIG: there were too many calls; -ENODATA: none that could wait;
 * else -errno, said. */
int kept_finish(struct kept_calls *kept);
void kept_free(struct kept_calls *kept);

#endif
