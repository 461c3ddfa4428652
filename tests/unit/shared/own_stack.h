/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_stack.h - the stack of the test itself, as a look at another thread would give it, and what is known of it.
 *
 * Functions of a test note their own return addresses, by the compiler's word, while they call each other. The
 * innermost one keeps registers and stack.
 */
#ifndef GASPBPF_TESTS_OWN_STACK_H
#define GASPBPF_TESTS_OWN_STACK_H

#include "stacks/look_private.h"

#ifdef __clang__
#define OWN __attribute__((noinline, used))
#else
#define OWN __attribute__((noinline, noclone, used))
#endif
#define DEPTH_MOST 40 /* of calls that are noted */
#define STACK_ROOM (64u << 10)

extern struct noted {
	uint64_t returns[2 * DEPTH_MOST + 3];
	uint64_t ends[2 * DEPTH_MOST + 3]; /* of the frames: the stack pointer in the caller; 0: not noted */
	unsigned count, signals;
} noted;

/* At the beginning of a function; it must not be a jump that ends it. */
#define NOTE()                                                                      \
	do {                                                                        \
		noted.returns[noted.count] = (uint64_t)__builtin_return_address(0); \
		noted.ends[noted.count++] = (uint64_t)__builtin_dwarf_cfa();        \
	} while (0)
/* It calls libc now, which notes nothing: the return address is somewhere in here. */
#define NOTE_LIBC(function)                                        \
	do {                                                       \
		noted.returns[noted.count] = (uint64_t)(function); \
		noted.ends[noted.count++] = 0;                     \
	} while (0)
#define STAY() __asm__ volatile("" ::: "memory")

extern struct process *self;
extern struct stack_files *opened;
extern struct stack_space *space;
extern struct thread_look look;
extern uint8_t stack_copy[STACK_ROOM];

/* As cmocka wants them. */
int own_stack_open(void **state);
int own_stack_close(void **state);
/* Nothing is noted yet. */
void own_stack_begin(void);
/* Registers as they are here, and the stack from here on: in `look`. */
void own_stack_keep(void);
/* Is this code of the test's own file? */
bool is_own(uint64_t address);

#endif
