/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/early.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define ROOM_KEPT 1024 /* elements that an empty heap keeps room for */

int early_put(struct early_spans *spans, uint64_t sequence, const struct gb_span *raw, size_t size)
{
	struct early early = { .sequence = sequence, .span = calloc(1, sizeof(*raw)) };
	size_t at = spans->count;

	if (!early.span || array_one_more(&spans->heap, &spans->room, spans->count, sizeof(early))) {
		free(early.span);
		return -ENOMEM;
	}
	memcpy(early.span, raw, size < sizeof(*raw) ? size : sizeof(*raw));
	spans->count++;
	for (; at && spans->heap[(at - 1) / 2].sequence > sequence; at = (at - 1) / 2)
		spans->heap[at] = spans->heap[(at - 1) / 2];
	spans->heap[at] = early;
	return 0;
}

struct early early_take(struct early_spans *spans)
{
	struct early first = spans->heap[0], last = spans->heap[--spans->count];
	size_t at = 0, below;

	while ((below = 2 * at + 1) < spans->count) {
		if (below + 1 < spans->count && spans->heap[below + 1].sequence < spans->heap[below].sequence)
			below++;
		if (last.sequence <= spans->heap[below].sequence)
			break;
		spans->heap[at] = spans->heap[below];
		at = below;
	}
	spans->heap[at] = last;
	if (!spans->count && spans->room > ROOM_KEPT)
		early_free(spans);
	return first;
}

void early_free(struct early_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++)
		free(spans->heap[i].span);
	free(spans->heap);
	*spans = (struct early_spans){ 0 };
}
