/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - reading a BPF ring buffer.
 *
 * libbpf's reader drains a ring until it is empty, which a busy producer never lets it be, so other rings
 * overflow meanwhile. This one stops where it is told to.
 */
#ifndef GASPBPF_RING_H
#define GASPBPF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	int fd;
	size_t bytes;            /* of data; a power of two */
	unsigned long *consumer; /* our position, shared with the kernel */
	unsigned long *producer; /* the kernel's position; the data follows one page later */
	const uint8_t *data;     /* mapped twice in a row, so no record wraps */
};

int ring_open(struct ring *ring, int fd, size_t bytes);
void ring_close(struct ring *ring);

/* How far the kernel has come: a limit for ring_drain(). And how far we have. */
unsigned long ring_filled(const struct ring *ring);
unsigned long ring_taken(const struct ring *ring);
/*
 * Hands every record up to the limit to `take`. Returns true when all of them were read, false when one is
 * still being written (it and those behind it come next time).
 */
bool ring_drain(struct ring *ring, unsigned long limit, void (*take)(void *context, const void *record, size_t size),
		void *context);
/* Shows every record that is there, from the one being taken on; all of them stay. */
void ring_peek(const struct ring *ring, void (*show)(void *context, const void *record, size_t size), void *context);

#endif
