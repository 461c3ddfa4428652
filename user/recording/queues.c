/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queues.c - in the file: when threads waited for a processor.
 */
#include "recording/definitions.h"

#define QUEUE(n, t, member)                                      \
	{                                                        \
		n, FIELD_##t, offsetof(struct def_queue, member) \
	}

const struct field queue_fields[] = { QUEUE(1, INDEX, thread), QUEUE(2, U64, from), QUEUE(3, U64, to),
				      QUEUE(4, U64, queued),   QUEUE(5, U64, run),  { 0, FIELD_END, 0 } };

const char *queue_check(const struct def_queue *queue, const struct definitions *d)
{
	if (queue->thread >= d->nthreads)
		return "a wait for a processor is of no thread";
	return queue->from > queue->to ? "a wait for a processor ends before it begins" : NULL;
}
