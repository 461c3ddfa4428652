/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * patched.c - is a function's code in memory still that of its file?
 *
 * Hooks, live patches and tracing frameworks (UCX's memory hooks, XRay) write a jump over a function's first
 * instructions. The kernel does not compare: it writes its breakpoint over what is there, and lets the instruction of
 * the file run in its place. Then the rest of the jump is executed as code. So before a process's probes go in, its
 * code is read where they would be, and a function whose code is another one is left out. Bytes of breakpoints, ours
 * and others', do not count, nor does an instruction that the kernel has replaced by a call (Linux 6.18).
 *
 * What is patched later is not noticed: a jump that is written over a breakpoint is as good as without one, and its
 * calls are not seen.
 */
#include <string.h>
#include <unistd.h>

#include "arch/instruction.h"
#include "probe/plan_private.h"
#include "util/pieces.h"

#define BATCH 16

static const char other_code[] = "its code in memory is not that of the file: something has patched it";
static const char writable_code[] = "its code is mapped writable, and the kernel puts no probes there";

/* Code of one function: from its first instruction to behind the one with the probe. */
struct compared {
	struct site *site;
	uint8_t file[64], memory[64];
};

static void leave_out(struct site *site, const char *why)
{
	site->patched = why;
	site->left_out = why;
}

static void compare(const struct process *process, struct compared *some, struct memory_piece *pieces, size_t count)
{
	if (!memory_read_pieces(process->pid, pieces, count))
		return; /* it has ended, or does not let its code be read */
	for (size_t i = 0; i < count; i++)
		if (instructions_are_changed(some[i].file, some[i].memory, pieces[i].size))
			leave_out(some[i].site, other_code);
}

/* Functions of a process that are to be compared, some at a time. */
struct batch {
	const struct process *process;
	struct compared some[BATCH];
	struct memory_piece pieces[BATCH];
	size_t count;
};

static void compare_all(struct batch *b)
{
	if (b->count)
		compare(b->process, b->some, b->pieces, b->count);
	b->count = 0;
}

/* So many bytes of the file from `first` on, in one of the places where the process has them. */
static void add(struct batch *b, struct site *site, uint64_t first, uint64_t size, const struct mapping *mapping)
{
	struct compared *next = &b->some[b->count];

	if (mapping->writable)
		leave_out(site, writable_code);
	if (mapping->writable || pread(site->image->fd, next->file, size, first) != (ssize_t)size)
		return;
	next->site = site;
	b->pieces[b->count++] = (struct memory_piece){ .address = mapping->start + (first - mapping->offset),
						       .bytes = next->memory,
						       .size = size };
	if (b->count == BATCH)
		compare_all(b);
}

void plan_find_patched(struct plan *plan, const struct process *process)
{
	struct batch batch = { .process = process };

	for (uint32_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];
		uint64_t first = site->offset < site->probe_offset ? site->offset : site->probe_offset;
		uint64_t end = (site->offset < site->probe_offset ? site->probe_offset : site->offset) +
			       INSTRUCTION_MOST;
		uint64_t own = site->body.offset + site->body.size,
			 size = (site->body.size && end > own ? own : end) - first;
		const struct mapping *mapping = NULL;

		if (site->patched || !size || size > sizeof(batch.some[0].file))
			continue;
		while ((mapping = process_code_of(process, site->image, first, size, mapping)))
			add(&batch, site, first, size, mapping);
	}
	compare_all(&batch);
}
