/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_private.h - what the files of user/stacks share.
 */
#ifndef GASPBPF_STACKS_LOOK_PRIVATE_H
#define GASPBPF_STACKS_LOOK_PRIVATE_H

#include "arch/steps.h"
#include "stacks/stacks.h"

#define STACK_MOST (128u << 10) /* bytes that are copied of a stack */

/*
 * Catches a thread that runs: registers and stack at one tick of its processor's clock, for which it waits at most so
 * long (ms). 0, -EAGAIN: it did not run, or -errno: no rights. Nothing is said.
 */
int sample_thread(struct thread_look *look, int patience);

/*
 * The instructions of a function, which in this process begins at `start`; malloc'ed. *count is 0 where they cannot be
 * had. They are read once for all processes (steps.c).
 */
void function_steps(struct stack_space *space, const struct image *image, const struct symbol *symbol, uint64_t start,
		    struct code_step **steps, size_t *count);

/* What of that is kept, with the files. */
struct kept_steps;
void kept_steps_free(struct kept_steps *kept);
/* unwind.c: where. */
struct kept_steps **space_kept_steps(struct stack_space *space);

/* The mapping at an address of the process; NULL: none. */
const struct mapping *space_mapping(const struct stack_space *space, uint64_t address);

#endif
