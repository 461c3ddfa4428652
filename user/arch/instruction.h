/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instruction.h - single instructions, read from the bytes of a file.
 */
#ifndef GASPBPF_ARCH_INSTRUCTION_H
#define GASPBPF_ARCH_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/*
 * What the kernel does with an instruction under a breakpoint, and so what a hit costs. OPTIMIZED: some kernels replace
 * it by a call. EMULATED: they do themselves what it would do. STEPPED: the thread runs a copy of it and traps again.
 */
enum site_class { SITE_OPTIMIZED, SITE_EMULATED, SITE_STEPPED, SITE_CLASSES };

/* For tables: which instruction, or "emulated", "stepped". */
const char *site_class_name(enum site_class class);

struct decoder;
/* 0, -ENOMEM or -ENOTSUP. */
int decoder_new(struct decoder **decoder);
void decoder_free(struct decoder *decoder);

/* Length in bytes; 0: these bytes are no instruction, or not a whole one. */
unsigned instruction_length(struct decoder *decoder, const uint8_t *code, size_t size);
/* The same for what is common, a hundred times quicker (length.c); 0: the disassembler is to be asked. */
unsigned instruction_plain_length(const uint8_t *code, size_t size);
/* As a disassembler prints it; false: no instruction. */
bool instruction_text(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t address, char *text,
		      size_t room);

/* Where an instruction may go on but to the next one. */
enum transfer {
	TRANSFER_NONE,     /* nowhere */
	TRANSFER_BRANCH,   /* also, or only, to a target that stands in it */
	TRANSFER_CALL,     /* to a target that stands in it, and comes back */
	TRANSFER_INDIRECT, /* to an address in a register or in memory */
	TRANSFER_END,      /* not to the next one: a return, a trap */
};
/* *displacement: from the end of the instruction to its target, for BRANCH and CALL; *always: it never falls through.
 */
enum transfer instruction_transfer(const uint8_t *code, unsigned length, int64_t *displacement, bool *always);

/* A near return: what a function ends with. */
bool instruction_is_return(const uint8_t *code, unsigned length);
/* The condition of a conditional branch (0 to 15), as bpf/ looks at it (arch_condition_holds()); -1: it has none. */
int instruction_condition(const uint8_t *code, unsigned length);
/*
 * An entry of a procedure linkage table: a jump to where a word in memory says, and nothing else. *word: where that is,
 * `address` being that of the entry.
 */
bool instruction_is_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *word);
/* The mark that functions begin with where indirect branches may lead to marked places only: its bytes; 0: none. */
unsigned instruction_mark(const uint8_t *code, size_t size);
/* Bytes of the shortest instruction that forms an address relative to itself. */
unsigned instruction_forms_bytes(void);
/* It forms an address that stands in it. *target: which, `address` being that of the instruction. */
bool instruction_forms(const uint8_t *code, unsigned length, uint64_t address, uint64_t *target);

/* It loads a register with a word of memory whose address stands in it. *word: where that is, `address` being that of
 * the instruction. */
bool instruction_load_word(const uint8_t *code, unsigned length, uint64_t address, uint64_t *word);
/* It loads a register with a constant that has no bits beyond the 32nd set. */
bool instruction_constant(const uint8_t *code, unsigned length, uint32_t *constant);
/*
 * It reads memory, or jumps there, by an index into a table of whole addresses whose own address stands in it, as in
 * programs that are loaded at a fixed one.
 */
bool instruction_names_table(const uint8_t *code, unsigned length, uint64_t *table);

/* What a jump to an address that is not in the instruction goes by. */
enum jump_source {
	JUMP_POINTER,  /* a word of memory: what a pointer to a function is, and what a jump table with an index is not
			*/
	JUMP_REGISTER, /* *reg: which one */
	JUMP_COMPUTED, /* something else */
};
enum jump_source instruction_jump_source(const uint8_t *code, unsigned length, unsigned *reg);

/* What an instruction does to a register. */
enum register_load { LOAD_NOTHING, LOAD_POINTER, LOAD_ENTRY, LOAD_OTHER };
/*
 * POINTER: it is loaded with a word of memory, found without an index; ENTRY: from memory with an index, or something
 * is added to it, as where a jump table is read; OTHER: it is changed in any other way.
 */
enum register_load instruction_load(struct decoder *decoder, const uint8_t *code, unsigned length, unsigned reg);

/* What the kernel does with it under a breakpoint. */
enum site_class instruction_class(const uint8_t *code, unsigned length);
/* Shifts right by a number of bits that stands in it; 0: it does not. */
unsigned instruction_shift(struct decoder *decoder, const uint8_t *code, size_t size);
/* It makes room on the stack, or saves a register there, and changes nothing else but flags: by how many bytes; 0: no.
 */
unsigned instruction_lowers_stack(const uint8_t *code, unsigned length);
/* It takes a register's value from the top of the stack. */
bool instruction_raises_stack(const uint8_t *code, unsigned length);
/* It makes the frame pointer what the stack pointer is. */
bool instruction_sets_frame(const uint8_t *code, unsigned length);
/* The operand that lies on the stack, at a fixed distance from one of its two registers, whether it is read, written,
 * or its address is taken. False: there is none. */
enum stack_base { BASE_STACK, BASE_FRAME };
bool instruction_stack_operand(const uint8_t *code, unsigned length, enum stack_base *base, int64_t *distance);
/* True where the kernel takes no breakpoint at all, or would run another instruction in its place. */
bool instruction_refused(const uint8_t *code, size_t size);
/* One that some kernels replace by a call (SITE_OPTIMIZED) begins here. */
bool instruction_is_optimized(const uint8_t *code, size_t size);
/* Code in memory is not that of its file. Breakpoints, ours and others', do not count, nor what the kernel makes of
 * them. */
bool instructions_are_changed(const uint8_t *file, const uint8_t *memory, size_t size);

#define SWITCH_BYTES 8 /* that instruction_find_switch() may look at */
#define SWITCH_LEAST 3 /* bytes of such an instruction */
/*
 * The first bytes from `at` on that load the stack pointer from elsewhere, as code does that goes to another stack;
 * `size`: there are none. There are more of them than instructions: whether one begins there is for the caller to see.
 * `size`: what is there, of which SWITCH_BYTES beyond its end can be read, too.
 */
size_t instruction_find_switch(const uint8_t *code, size_t at, size_t size);

/*
 * What would be lost if the probe on a call came only after this instruction; NULL: nothing. `registers`: bit i: the
 * probe reads the i-th integer argument register.
 */
const char *instruction_harm(struct decoder *decoder, const uint8_t *code, size_t size, uint8_t registers);

#endif
