/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample.c - one sample of a thread that runs: the kernel copies its registers and the top of its stack at a tick of
 * the clock, so both belong together.
 *
 * Only ticks count that find it in its own code: of a thread that is in the kernel a sample has not the registers that
 * calls keep, and it would be found off its processor soon (look.c).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/look_private.h"

#define SAMPLE_STACK 32768 /* a record has less than 64 KiB */
#define PAGES 32           /* of the ring; a power of two */

static uint64_t registers_mask(void)
{
	uint64_t mask = 0;

	for (int i = 0; i < GB_LOOK_REGISTERS; i++)
		mask |= 1ULL << arch_sampled[i];
	return mask;
}

/* The ring's bytes from `at` on, which may go round its end. */
static void copy_out(const uint8_t *ring, size_t size, uint64_t at, void *to, size_t count)
{
	size_t first = at % size, whole = count < size - first ? count : size - first;

	memcpy(to, ring + first, whole);
	memcpy((uint8_t *)to + whole, ring, count - whole);
}

/* The body of a sample: abi, the registers in the order of the kernel's numbers, size, bytes, how many of them count.
 */
static int take_sample(struct thread_look *look, const uint8_t *body, size_t size)
{
	uint64_t abi, dynamic, room, registers[GB_LOOK_REGISTERS];
	size_t head = sizeof(abi) + sizeof(registers) + sizeof(room);
	const uint64_t mask = registers_mask();
	unsigned place[64] = { 0 };

	if (size < head + sizeof(dynamic))
		return -EAGAIN;
	memcpy(&abi, body, sizeof(abi));
	if (abi != PERF_SAMPLE_REGS_ABI_64)
		return -EAGAIN;
	memcpy(registers, body + sizeof(abi), sizeof(registers));
	memcpy(&room, body + sizeof(abi) + sizeof(registers), sizeof(room));
	if (!room || room > size - head - sizeof(dynamic))
		return -EAGAIN;
	memcpy(&dynamic, body + head + room, sizeof(dynamic));
	if (dynamic > room)
		return -EAGAIN;
	for (unsigned number = 0, next = 0; number < 64; number++)
		if (mask >> number & 1)
			place[number] = next++;
	free(look->stack);
	look->stack = malloc(dynamic ?: 1);
	if (!look->stack)
		return -ENOMEM;
	memcpy(look->stack, body + head, dynamic);
	look->stack_size = dynamic;
	for (int i = 0; i < GB_LOOK_REGISTERS; i++)
		look->registers.value[i] = registers[place[arch_sampled[i]]];
	look->registers.known = (1u << GB_LOOK_REGISTERS) - 1;
	look->stack_at = look->registers.value[REGISTER_SP];
	look->torn = false;
	look->system_call = -1;
	return 0;
}

static int read_ring(struct thread_look *look, struct perf_event_mmap_page *page, const uint8_t *ring, size_t size)
{
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
	static uint8_t body[65536];

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		copy_out(ring, size, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.type == PERF_RECORD_SAMPLE) {
			size_t count = header.size - sizeof(header);

			copy_out(ring, size, tail + sizeof(header), body, count);
			return take_sample(look, body, count);
		}
		tail += header.size;
	}
	return -EAGAIN;
}

int sample_thread(struct thread_look *look, int patience)
{
	size_t page = sysconf(_SC_PAGESIZE), size = page * PAGES;
	struct pollfd wait = { .events = POLLIN };
	uint8_t *memory;
	int err;

	wait.fd = sampler_open(look->tid, registers_mask(), SAMPLE_STACK);
	if (wait.fd < 0)
		return wait.fd;
	memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, wait.fd, 0);
	if (memory == MAP_FAILED) {
		err = -errno;
		close(wait.fd);
		return err;
	}
	poll(&wait, 1, patience);
	ioctl(wait.fd, PERF_EVENT_IOC_DISABLE, 0);
	err = read_ring(look, (struct perf_event_mmap_page *)memory, memory + page, size);
	munmap(memory, page + size);
	close(wait.fd);
	return err;
}
