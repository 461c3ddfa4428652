/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.h - what the instructions of a function do to registers, as far as it takes to follow a value.
 */
#ifndef GASPBPF_ARCH_STEPS_H
#define GASPBPF_ARCH_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How it goes on. */
enum step_flow {
	STEP_JUMPS = 1,    /* it may go on somewhere else */
	STEP_ENDS = 2,     /* it never goes on to the next one */
	STEP_CALLS = 4,    /* and comes back */
	STEP_RESTORES = 8, /* it gives registers back what was saved of them */
};

enum step_move {
	MOVE_NONE,     /* nothing that can be followed */
	MOVE_CONSTANT, /* `to` gets `value` */
	MOVE_REGISTER, /* what the register `from` has */
	MOVE_MEMORY,   /* what is in memory */
	MOVE_ADDRESS,  /* the address of that */
};

/* One instruction. Registers have DWARF's numbers; -1: none of the general ones. */
struct code_step {
	uint64_t address;
	uint64_t target; /* where it jumps or calls */
	int64_t value; /* of MEMORY and ADDRESS: the distance from `base`; where it is relative to the code, the address
			*/
	uint32_t writes; /* bit i: it changes register i; of a call: all but those that it keeps */
	uint8_t size;
	uint8_t flow;      /* enum step_flow */
	bool aims;         /* `target` is known */
	bool through_word; /* `target` is the address of a word that says where it calls */
	bool relative;     /* to the code: there is no base */
	bool plain;        /* no index, no segment */
	bool sign_extends; /* what it reads from memory */
	uint8_t reads;     /* bytes of memory */
	uint8_t move;      /* enum step_move */
	uint8_t width;     /* bytes of `to` that it sets; of 4 the rest becomes 0 */
	int8_t to, from;   /* -1 for `to`: memory */
	int8_t base;
};

/*
 * The instructions from `address` on, up to one that cannot be decoded. *steps comes from malloc(). 0, -ENOMEM, or
 * -ENOTSUP.
 */
int code_steps_read(const uint8_t *code, size_t size, uint64_t address, struct code_step **steps, size_t *count);

/* As if the code had been read so many bytes further on. */
void code_steps_move(struct code_step *steps, size_t count, uint64_t by);

#endif
