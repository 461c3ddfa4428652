/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instruction.h - private to user/probe: single x86-64 instructions, read from the bytes of a file.
 */
#ifndef GASPBPF_PROBE_INSTRUCTION_H
#define GASPBPF_PROBE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

#define INSTRUCTION_MOST 15 /* bytes of the longest one */

struct decoder;
/* 0, -ENOMEM or -ENOTSUP. */
int decoder_new(struct decoder **decoder);
void decoder_free(struct decoder *decoder);

/* Length in bytes; 0: these bytes are no instruction, or not a whole one. */
unsigned instruction_length(struct decoder *decoder, const uint8_t *code, size_t size);
/* The same for what is common, a hundred times quicker (length.c); 0: the disassembler is to be asked. */
unsigned instruction_plain_length(const uint8_t *code, size_t size);
/* As a disassembler prints it (AT&T syntax); false: no instruction. */
bool instruction_text(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t address, char *text,
		      size_t room);

/* Where an instruction may go on but to the next one. */
enum transfer {
	TRANSFER_NONE,     /* nowhere */
	TRANSFER_BRANCH,   /* also, or only, to a target that stands in it: jmp, jcc, loop, xbegin */
	TRANSFER_CALL,     /* to a target that stands in it, and comes back */
	TRANSFER_INDIRECT, /* jmp to an address in a register or in memory */
	TRANSFER_END,      /* not to the next one: ret, ud2, hlt */
};
/* *displacement: from the end of the instruction to its target, for BRANCH and CALL; *always: it never falls through.
 */
enum transfer instruction_transfer(const uint8_t *code, unsigned length, int64_t *displacement, bool *always);

/* A near return: what a function ends with. */
bool instruction_is_return(const uint8_t *code, unsigned length);
/* The condition of a jcc, as the kernel and the processor number it (0 to 15); -1: it is none. */
int instruction_condition(const uint8_t *code, unsigned length);
/* An entry of a procedure linkage table: a jump to where a word in memory says, and nothing else. */
bool instruction_is_stub(const uint8_t *code, size_t size);
/* lea of an address that stands in the instruction. *target: where, `address` being that of the instruction. */
bool instruction_lea(const uint8_t *code, unsigned length, uint64_t address, uint64_t *target);

/* mov of a word of memory to a register, the word's address standing in the instruction. *word: where it is, `address`
 * being that of the instruction. */
bool instruction_load_word(const uint8_t *code, unsigned length, uint64_t address, uint64_t *word);
/* mov of a constant to a register, with no bits beyond the 32nd set. */
bool instruction_constant(const uint8_t *code, unsigned length, uint32_t *constant);

/* What a jump to an address that is not in the instruction goes by. */
enum jump_source {
	JUMP_POINTER,  /* a word of memory: what a pointer to a function is, and what a jump table with an index is not
			*/
	JUMP_REGISTER, /* *reg: which one, 0 to 15 */
	JUMP_COMPUTED, /* something else */
};
enum jump_source instruction_jump_source(const uint8_t *code, unsigned length, unsigned *reg);

/* What an instruction does to a register. */
enum load { LOAD_NOTHING, LOAD_POINTER, LOAD_ENTRY, LOAD_OTHER };
/*
 * POINTER: it is loaded with a word of memory, found without an index; ENTRY: from memory with an index, or something
 * is added to it, as where a jump table is read; OTHER: it is changed in any other way.
 */
enum load instruction_load(struct decoder *decoder, const uint8_t *code, unsigned length, unsigned reg);

/* What the kernel does with it under a breakpoint. */
enum site_class instruction_class(const uint8_t *code, unsigned length);
/* Shifts right by a number of bits that stands in it; 0: it does not. */
unsigned instruction_shift(struct decoder *decoder, const uint8_t *code, size_t size);
/* A push of a general register, or a subtraction from the stack pointer, changes nothing but that and flags: by how
 * many bytes; 0: it is neither. */
unsigned instruction_lowers_stack(const uint8_t *code, unsigned length);
/* The operand that lies on the stack, at a fixed distance from rsp or rbp, whether it is read, written, or its address
 * is taken. False: there is none. */
enum stack_base { BASE_RSP, BASE_RBP };
bool instruction_stack_operand(const uint8_t *code, unsigned length, enum stack_base *base, int64_t *distance);
/* True for prefixes with which the kernel takes no breakpoint at all. */
bool instruction_refused(const uint8_t *code, size_t size);

/*
 * What would be lost if the probe on a call came only after this instruction; NULL: nothing. `registers`: what the
 * probe reads, as in struct place_wish.
 */
const char *instruction_harm(struct decoder *decoder, const uint8_t *code, size_t size, uint8_t registers);

#endif
