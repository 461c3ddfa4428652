/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * early.h - private to user/capture: a thread's records that came before one that ought to precede them.
 *
 * There may be a ringful of them: a thread has moved to another CPU, or the record due was lost. So putting one in and
 * taking the first one out take steps by the logarithm of their number, none where they come in order (a binary heap).
 */
#ifndef GASPBPF_CAPTURE_EARLY_H
#define GASPBPF_CAPTURE_EARLY_H

#include <stddef.h>
#include <stdint.h>

#include "gaspbpf/wire.h"

struct early {
	uint64_t sequence;
	struct gb_span *span; /* malloc'ed, whole: values that the record has not are 0 */
};

struct early_spans {
	struct early *heap; /* heap[0] has the lowest sequence number, else in no order */
	size_t count, room;
};

/* Keeps a copy of the record. 0 or -ENOMEM. */
int early_put(struct early_spans *spans, uint64_t sequence, const struct gb_span *raw, size_t size);
/* Takes out the one with the lowest number; there is one. The caller frees its span. */
struct early early_take(struct early_spans *spans);
void early_free(struct early_spans *spans);

#endif
