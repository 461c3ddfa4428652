/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_private.h - what the files of user/stacks share.
 */
#ifndef GASPBPF_STACKS_LOOK_PRIVATE_H
#define GASPBPF_STACKS_LOOK_PRIVATE_H

#include "stacks/stacks.h"

#define STACK_MOST (128u << 10) /* bytes that are copied of a stack */

/*
 * Catches a thread that runs: registers and stack at one tick of its processor's clock, for which it waits at most so
 * long (ms). 0, -EAGAIN: it did not run, or -errno: no rights. Nothing is said.
 */
int sample_thread(struct thread_look *look, int patience);

/* The mapping at an address of the process; NULL: none. */
const struct mapping *space_mapping(const struct stack_space *space, uint64_t address);

#endif
