/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/ring.h"

/* The head of a record, include/uapi/linux/bpf.h BPF_RINGBUF_*: length with two flags, page offset. */
#define RECORD_HEAD 8
#define RECORD_BUSY (1U << 31)
#define RECORD_DISCARDED (1U << 30)

int ring_open(struct ring *ring, int fd, size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *producer;

	if (consumer == MAP_FAILED)
		return -errno;
	producer = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, page);
	if (producer == MAP_FAILED) {
		int err = -errno;

		munmap(consumer, page);
		return err;
	}
	*ring = (struct ring){
		.fd = fd,
		.bytes = bytes,
		.consumer = consumer,
		.producer = producer,
		.data = (const uint8_t *)producer + page,
	};
	return 0;
}

void ring_close(struct ring *ring)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (!ring->consumer)
		return;
	munmap(ring->consumer, page);
	munmap(ring->producer, page + 2 * ring->bytes);
	ring->consumer = NULL;
}

unsigned long ring_filled(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

unsigned long ring_taken(const struct ring *ring)
{
	return *ring->consumer;
}

bool ring_drain(struct ring *ring, unsigned long limit, void (*take)(void *context, const void *record, size_t size),
		void *context)
{
	unsigned long at = *ring->consumer;

	while (at < limit) {
		const uint32_t *head = (const uint32_t *)(ring->data + (at & (ring->bytes - 1)));
		uint32_t length = __atomic_load_n(head, __ATOMIC_ACQUIRE);

		if (length & RECORD_BUSY)
			break;
		if (!(length & RECORD_DISCARDED))
			take(context, (const uint8_t *)head + RECORD_HEAD, length);
		length &= ~RECORD_DISCARDED;
		at += (length + RECORD_HEAD + 7) & ~7UL;
		__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
	}
	return at >= limit;
}

void ring_peek(const struct ring *ring, void (*show)(void *context, const void *record, size_t size), void *context)
{
	unsigned long end = ring_filled(ring);

	for (unsigned long at = *ring->consumer; at < end;) {
		const uint32_t *head = (const uint32_t *)(ring->data + (at & (ring->bytes - 1)));
		uint32_t length = __atomic_load_n(head, __ATOMIC_ACQUIRE);

		if (length & RECORD_BUSY)
			return;
		if (!(length & RECORD_DISCARDED))
			show(context, (const uint8_t *)head + RECORD_HEAD, length);
		at += ((length & ~RECORD_DISCARDED) + RECORD_HEAD + 7) & ~7UL;
	}
}
