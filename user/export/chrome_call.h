/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_call.h - one call as an event of the Chrome trace. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CHROME_CALL_H
#define GASPBPF_EXPORT_CHROME_CALL_H

#include "recording/recording.h"
#include "util/buffer.h"

/* The part of an event that says on which track it is, and all that is the same for every event of a track. */
struct chrome_place {
	uint8_t length;
	char text[64]; /* "pid":1,"tid":2,"ts": */
};

void chrome_place_set(struct chrome_place *place, uint64_t pid, uint64_t tid);

/* How the calls of each probe are written, and from where they came: texts that are made once. */
struct chrome_calls;
/* colours: with the name of one, by what a call is for. NULL: out of memory. */
struct chrome_calls *chrome_calls_new(const struct definitions *d, bool colours);
void chrome_calls_free(struct chrome_calls *calls);

/* Appends the event of a call; start and end are ns since the run began. 0 or -ENOMEM. */
int chrome_call_put(struct chrome_calls *calls, struct buffer *to, const struct span *span,
		    const struct chrome_place *place, uint64_t start, uint64_t end);

#endif
