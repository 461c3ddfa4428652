/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_stack.c - see own_stack.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "own_stack.h"

#define KEPT (1u << 3 | 1u << 6 | 1u << REGISTER_SP | 0xfu << 12 | 1u << REGISTER_IP) /* by calls */

struct noted noted;
struct process *self;
struct stack_files *opened;
struct stack_space *space;
struct thread_look look;
uint8_t stack_copy[STACK_ROOM];

static struct image *own_image;

int own_stack_open(void **state)
{
	uint64_t offset;

	assert_int_equal(process_open(&self, getpid()), 0);
	opened = stack_files_new();
	assert_non_null(opened);
	assert_int_equal(stack_space_new(&space, opened, self), 0);
	own_image = stack_image(space, (uint64_t)own_stack_open, &offset);
	assert_non_null(own_image);
	return 0;
}

int own_stack_close(void **state)
{
	stack_space_free(space);
	stack_files_free(opened);
	process_close(self);
	return 0;
}

void own_stack_begin(void)
{
	memset(&noted, 0, sizeof(noted));
	memset(&look, 0, sizeof(look));
	look.pid = look.tid = getpid();
	look.state = 'S';
	look.system_call = -1;
}

OWN void own_stack_keep(void)
{
	uint64_t *r = look.registers.value, from, room;
	const struct mapping *mapping;

	NOTE();
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)\n\t"
			 "leaq 1f(%%rip), %%rax\n\tmovq %%rax, 128(%0)\n1:"
			 :
			 : "r"(r)
			 : "rax", "memory");
	for (int i = 0; i < GB_LOOK_REGISTERS; i++)
		if (!(KEPT >> i & 1))
			r[i] = 0xdeadbeef00000000 + i; /* such as the function has used for itself */
	look.registers.known = (1u << GB_LOOK_REGISTERS) - 1;
	mapping = process_mapping_at(self, r[REGISTER_SP]);
	assert_non_null(mapping);
	from = r[REGISTER_SP] - ARCH_RED_ZONE;
	room = mapping->end - from;
	look.stack = stack_copy;
	look.stack_at = from;
	look.stack_size = room < STACK_ROOM ? room : STACK_ROOM;
	assert_int_equal(memory_read(getpid(), from, stack_copy, look.stack_size), look.stack_size);
	STAY();
}

bool is_own(uint64_t address)
{
	uint64_t offset;

	return stack_image(space, address, &offset) == own_image;
}
