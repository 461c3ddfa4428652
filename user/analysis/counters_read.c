/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters_read.c - the counters of a recording.
 */
#include <errno.h>
#include <stddef.h>

#include "analysis/counters.h"

int counters_read(struct counters **result, struct recording *recording)
{
	struct counters *c = counters_new(recording_definitions(recording));
	struct timeline_ops ops = { .event = counters_event, .context = c };
	int error = c ? timeline_read_merged(recording, &ops) : -ENOMEM;

	*result = c;
	if (error) {
		counters_free(c);
		*result = NULL;
	}
	return error;
}
